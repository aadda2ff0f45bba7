"""Which arm gets the next unit: forced starts first, then the highest score."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from equipoise.core.arms.if_it_looks import if_it_looks
from equipoise.core.arms.state import State
from equipoise.core.arrays import Vector
from equipoise.core.choice.eligible import restrict
from equipoise.core.choice.leverage import look
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
    top, best, ties = -np.inf, 0, 0
    for i in range(scores.shape[0]):
        higher = scores[i] > top
        ties = 1 if higher else ties + (scores[i] == top)
        best = i if higher else best
        top = scores[i] if higher else top
    state.trial[0].top = best if ties == 1 else _first_of_ties(state.arms, scores, top)
    state.trial[0].chosen = state.trial[0].top
    state.trial[0].propensity = state.trial[0].likeliest = 1.0
    state.trial[0].possible = 1
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
def _first_of_ties(arms: npt.NDArray[Any], scores: Vector, top: float) -> int:
    """The arm with the fewest pulls among those with the highest score, or among all if none has a number."""
    best, tied = 0, False
    for i in range(arms.shape[0]):
        ties = scores[i] == top
        fewer = arms[i].count < arms[best].count
        earlier = (arms[i].count == arms[best].count) & (arms[i].order < arms[best].order)
        # The first one that ties goes before all that do not.
        first = (ties & (not tied)) | ((ties == tied) & (fewer | earlier))
        tied = tied | ties
        best = i if first else best
    return best
