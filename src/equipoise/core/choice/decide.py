"""One decision, whole: settle what waits, choose an arm, assign the unit.

It is a single call of compiled code, which no signal can interrupt: afterwards everything has happened, or
nothing has.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from equipoise.core.arms.least_squares import assign, is_settled, settle
from equipoise.core.arms.state import State
from equipoise.core.arrays import Matrix, Vector
from equipoise.core.choice.eligible import restrict
from equipoise.core.choice.highest_score import choose
from equipoise.core.jit.decorators import compiled

CHOOSE = -1
"""The arm is not told from outside."""

NO_ARM, NO_ROOM = -1, -2
"""Why there is no decision: no arm may get the unit, or there is no row for it."""


@compiled
def decide(
    state: State,
    contexts: Matrix,
    columns: npt.NDArray[np.int64],
    context: Vector,
    score: int,
    settings: Vector,
    scores: Vector,
    told: int,
) -> tuple[int, int, int, float]:
    """Assign the next unit: the arm, the arm with the highest score, the row, the share left to chance.

    The arm is the policy's choice, or ``told`` unless that is ``CHOOSE``. Without a decision the arm is one
    of the codes above, and nothing has changed. ``contexts`` hold all features of all units, the state's own
    those of ``columns``; both may be the same. Scores are written to ``scores``.
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
    if not is_settled(state):
        settle(state)
    chosen = choose(state, score, settings, scores)
    arm = told if told >= 0 else chosen
    assign(state, arm)
    return arm, trial.top, row, chance
