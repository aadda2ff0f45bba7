"""A unit that arrives at an experiment: room for it, its context, its arm; or many that arrive together.

It is a single call of compiled code, which no signal can interrupt: afterwards everything has happened, or
nothing has. Many are admitted on arrays of their own, which whoever gets no arm leaves half-changed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equipoise.core.arms.least_squares import is_settled, settle
from equipoise.core.arms.state import State
from equipoise.core.arrays import Counts, Matrix, Vector
from equipoise.core.choice.batch import most_decided, score_arm, score_contexts
from equipoise.core.choice.decide import CHOOSE, NO_ARM, decide
from equipoise.core.choice.eligible import restrict
from equipoise.core.jit.decorators import compiled
from equipoise.core.jit.handles import handled

NO_ROOM = -2
"""There is no row for the unit."""

ALL_ARMS: Counts = np.zeros(0, np.int64)
"""The unit may go to any arm."""

NOT_RECORDED: Vector = np.zeros(0)
"""Nothing is known of the choice: it is made now."""


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
    lot: int,
    eligible: Counts,
    recorded: Vector,
) -> tuple[int, int, int]:
    """Assign the next unit: the arm, what the rule chose, the arm with the highest score.

    Without a decision the arm is ``NO_ARM`` or ``NO_ROOM``, and nothing has changed. ``contexts`` hold all
    features of all units, the state's own those of ``columns``; both may be the same. ``lot`` addresses the
    draws of a unit with a key, ``eligible`` has 1 for every arm that may get it, and ``recorded`` is what a
    log knows of the choice: its probability, the highest one, arms with any, the arm with the highest score.
    """
    trial = state.trial[0]
    row, limited, m = trial.step, trial.limited, state.arms.shape[0]
    if row >= trial.budget or told >= m:
        return NO_ARM, 0, 0
    if eligible.shape[0] > 0:
        trial.limited = 1
        for i in range(m):
            state.arms[i].eligible = eligible[i]
    arm = NO_ARM
    # What is recorded has happened, also where data that were erased since are missing from what is left.
    if recorded.shape[0] > 0 or not trial.limited or restrict(state, scores):
        arm = NO_ROOM
        if row < state.rows.shape[0]:
            for c in range(context.shape[0]):
                contexts[row, c] = context[c]
            for c in range(columns.shape[0]):
                state.contexts[row, c] = context[columns[c]]
            state.rows[row].lot = lot
            arm = decide(state, score, settings, scores, told)
    if eligible.shape[0] > 0:
        trial.limited = limited
        for i in range(m):
            state.arms[i].eligible = 1
    if arm >= 0:
        state.rows[row].top = trial.top
        state.rows[row].meant = arm
        if recorded.shape[0] > 0:
            state.rows[row].propensity = recorded[0]
            state.rows[row].likeliest = recorded[1]
            state.rows[row].possible = int(recorded[2])
            state.rows[row].top = int(recorded[3])
    return arm, trial.chosen, trial.top


@handled
class Batch(NamedTuple):
    """n units that arrive together, and what becomes of them."""

    contexts: Matrix  # [n, d] all features
    seen: Matrix  # [n, s] those that the stage sees
    lots: Counts  # [n], see :func:`admit`
    eligible: Counts  # of all of them
    recorded: Vector  # nothing
    waiting: Counts  # [n] 1 until the unit is assigned
    table: Matrix  # [n, m] scratch: scores of those that wait
    barred: Vector  # [m] scratch
    scores: Matrix  # [n, m] in the order of assignment
    choices: Counts  # [n, 4] in that order: place in the batch, arm, what the rule chose, highest score


@compiled
def admit_together(
    state: State, contexts: Matrix, columns: Counts, score: int, settings: Vector, batch: Batch
) -> int:
    """Assign many units, first those whose arm is clear, see choice/batch.py; how many found an arm."""
    n: int = batch.waiting.shape[0]
    if not is_settled(state):
        settle(state)
    score_contexts(state, score, settings, batch.seen, batch.waiting, batch.table)
    for i in range(batch.eligible.shape[0]):
        if not batch.eligible[i]:
            for j in range(n):
                batch.table[j, i] = 0.0
    for turn in range(n):
        j = most_decided(state, batch.waiting, batch.table, batch.barred)
        batch.waiting[j] = 0
        arm, chosen, top = admit(
            state,
            contexts,
            columns,
            batch.contexts[j],
            score,
            settings,
            batch.scores[turn],
            CHOOSE,
            batch.lots[j],
            batch.eligible,
            batch.recorded,
        )
        if arm < 0:
            return turn
        batch.choices[turn, 0] = j
        batch.choices[turn, 1] = arm
        batch.choices[turn, 2] = chosen
        batch.choices[turn, 3] = top
        if turn + 1 < n:
            score_arm(state, score, settings, batch.seen, batch.waiting, batch.table, arm)
    return n
