"""One decision, whole: settle what waits, choose an arm, assign the unit.

Experiments, simulated trials and replays all come through here.
"""

from __future__ import annotations

import numpy as np

from equipoise.core.arms.least_squares import assign, is_settled, settle
from equipoise.core.arms.state import State
from equipoise.core.arrays import Vector
from equipoise.core.choice.by_weights import choose, remember
from equipoise.core.jit.decorators import inlined

CHOOSE = -1
"""The arm is not told from outside."""

NO_ARM = -1
"""No arm may get the unit."""


@inlined
def decide(state: State, score: int, settings: Vector, scores: Vector, told: int) -> int:
    """Assign the unit whose context stands in the next free row; return its arm, or ``NO_ARM``.

    The arm is the policy's choice, or ``told`` unless that is ``CHOOSE``: a log that is replayed, a person
    who decides. Scores are written to ``scores`` either way. ``score`` is the address of a compiled score.
    Whoever tells an arm has seen to it that it may be told, also if the rule finds none.
    """
    chosen = next_arm(state, score, settings, scores)
    if chosen < 0:
        if told < 0:
            return NO_ARM
        state.trial[0].chosen = NO_ARM
    arm = told if told >= 0 else chosen
    assign_next(state, settings, arm, told)
    return arm


@inlined
def next_arm(state: State, score: int, settings: Vector, scores: Vector) -> int:
    """The first half of :func:`decide`: the arm that the rule chooses, or ``NO_ARM``."""
    if not is_settled(state):
        settle(state)
    return choose(state, score, settings, scores)


@inlined
def assign_next(state: State, settings: Vector, arm: int, told: int) -> None:
    """The second half of :func:`decide`.

    The row keeps the probability of the choice. It is not a number where the arm was told, also if the rule
    agrees: nobody knows what a person would have done otherwise. Whoever tells what a log has recorded
    writes the probability from there.
    """
    row = assign(state, arm)
    state.rows[row].propensity = state.trial[0].propensity if told < 0 else np.nan
    state.rows[row].likeliest = state.trial[0].likeliest
    state.rows[row].possible = state.trial[0].possible
    remember(state, settings)
