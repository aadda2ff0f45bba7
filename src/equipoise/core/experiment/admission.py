"""A unit that arrives at an experiment: room for it, its context, its arm.

It is a single call of compiled code, which no signal can interrupt: afterwards everything has happened, or
nothing has.
"""

from __future__ import annotations

from equipoise.core.arms.state import State
from equipoise.core.arrays import Counts, Matrix, Vector
from equipoise.core.choice.decide import NO_ARM, decide
from equipoise.core.choice.eligible import restrict
from equipoise.core.jit.decorators import compiled

NO_ROOM = -2
"""There is no row for the unit."""


@compiled
def admit(
    state: State,
    contexts: Matrix,
    columns: Counts,
    context: Vector,
    score: int,
    settings: Vector,
    scores: Vector,
    told: int,
) -> tuple[int, int, int, float]:
    """Assign the next unit: the arm, the arm with the highest score, the row, the share left to chance.

    Without a decision the arm is ``NO_ARM`` or ``NO_ROOM``, and nothing has changed. ``contexts`` hold all
    features of all units, the state's own those of ``columns``; both may be the same.
    """
    trial = state.trial[0]
    row, chance = trial.step, trial.chance
    if row >= trial.budget or told >= state.arms.shape[0]:
        return NO_ARM, 0, row, chance
    if trial.limited and not restrict(state, scores):
        return NO_ARM, 0, row, chance
    if row >= state.rows.shape[0]:
        return NO_ROOM, 0, row, chance
    for c in range(context.shape[0]):
        contexts[row, c] = context[c]
    for c in range(columns.shape[0]):
        state.contexts[row, c] = context[columns[c]]
    arm = decide(state, score, settings, scores, told)
    return arm, trial.top, row, chance
