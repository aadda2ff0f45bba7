"""Which arm gets the next unit: forced starts first, then the highest score."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from equipoise.core.arms.if_it_looks import if_it_looks
from equipoise.core.arms.state import State
from equipoise.core.arrays import Vector
from equipoise.core.choice.eligible import restrict
from equipoise.core.choice.gain import look
from equipoise.core.choice.lots import draw_arm
from equipoise.core.choice.scoring import call_score
from equipoise.core.jit.decorators import compiled, inlined


@inlined
def choose(state: State, score: int, settings: Vector, scores: Vector) -> int:
    """Write every arm's score and return the arm to pull; the state must be settled.

    ``score`` is the address of a compiled score. The context stands in the next free row. Ties go to
    the arm with fewer pulls, then to the one that comes first in the seed's order. Where the policy
    asks for a forced start, an arm without an invertible S scores infinity; if the policy looks, arms
    short of d + 1 units are compared by their scores, and all others score minus infinity. So do arms
    that may not be chosen; if none may, the answer is −1. Where the policy leaves something to chance,
    the arm may be another one, drawn by lot.
    """
    _look(state, scores)
    call_score(score, state.arms, state.trial[0], settings, scores)
    if state.trial[0].limited:
        if not restrict(state, scores):
            return -1
    else:
        withhold(state, scores)
    # Selections instead of branches: where the maximum sits cannot be predicted.
    top = -np.inf
    for i in range(scores.shape[0]):
        top = scores[i] if scores[i] > top else top
    best, ties = 0, 0
    for i in range(scores.shape[0]):
        best = i if scores[i] == top else best
        ties += scores[i] == top
    state.trial[0].top = best if ties == 1 else _first_of_ties(state.arms, scores)
    state.trial[0].chosen = state.trial[0].top
    _draw(state, scores)
    return state.trial[0].chosen


@if_it_looks
@compiled
def _look(state: State, scores: Vector) -> None:
    look(state)


@if_it_looks
@compiled
def withhold(state: State, scores: Vector) -> None:
    """While arms are short of d + 1 units, the others get none."""
    starting = False
    for i in range(scores.shape[0]):
        starting = starting or state.arms[i].count <= state.trial[0].dim
    if starting and state.trial[0].forced_start:
        for i in range(scores.shape[0]):
            if state.arms[i].count > state.trial[0].dim:
                scores[i] = -np.inf


@if_it_looks
@compiled
def _draw(state: State, scores: Vector) -> None:
    if state.trial[0].chance > 0.0:
        draw_arm(state, scores)


@compiled
def _first_of_ties(arms: npt.NDArray[Any], scores: Vector) -> int:
    best = 0
    for i in range(1, arms.shape[0]):
        if _goes_first(arms, scores, i, best):
            best = i
    return best


@inlined
def _goes_first(arms: npt.NDArray[Any], scores: Vector, i: int, j: int) -> bool:
    # A score that is not a number never wins against one that is.
    if scores[i] > scores[j] or (scores[j] != scores[j] and scores[i] == scores[i]):
        return True
    if scores[i] < scores[j] or scores[i] != scores[i]:
        return False
    if arms[i].count != arms[j].count:
        return arms[i].count < arms[j].count
    return arms[i].order < arms[j].order
