"""Arms drawn by weights: randomised designs, in which every arm has a probability that is known.

A design writes a weight for every arm that may be chosen; their shares are the arms' probabilities, and one
draw decides. It is a function of seed, trial and unit, so it repeats itself in the lab, in memory and in
the service. After the unit is assigned, to the arm drawn or to one told from outside, the design remembers
it. What it remembers is a fold of the rows: :func:`recall` computes it anew.
"""

from __future__ import annotations

import numpy as np

from equipoise.core.arms.if_it_looks import if_it_weighs, weighs
from equipoise.core.arms.rebuild import forget_assignments
from equipoise.core.arms.state import REDACTED, State
from equipoise.core.arrays import Vector
from equipoise.core.choice import highest_score
from equipoise.core.choice.eligible import restrict
from equipoise.core.choice.leverage import look
from equipoise.core.choice.lots import start_lot
from equipoise.core.choice.weighing import WEIGH, call_design
from equipoise.core.draws.streams import uniform
from equipoise.core.jit.decorators import compiled, inlined, only_where

MAY_NOT = -1.0
"""The weight of an arm that may not be chosen, before and after a design writes weights."""


@inlined
def choose(state: State, score: int, settings: Vector, scores: Vector) -> int:
    """The arm of the next unit, or −1: by the highest score, or by lot where the policy weighs."""
    return _draw_by_weights(state, score, settings, scores)


@only_where(weighs, otherwise=highest_score.choose)
@compiled
def _draw_by_weights(state: State, score: int, settings: Vector, scores: Vector) -> int:
    """Write every arm's probability, −∞ if it may not be chosen, and return the arm that is drawn."""
    trial, arms, turns = state.trial[0], state.arms, state.plan[1:]
    m = arms.shape[0]
    for i in range(m):
        scores[i] = 0.0
        turns[arms[i].order] = i
    if trial.limited:
        if not restrict(state, scores):
            return -1
    else:
        highest_score.withhold(state, scores)
    if trial.looks:
        look(state)
    for i in range(m):
        scores[i] = 1.0 if scores[i] > -np.inf else MAY_NOT
    call_design(state, trial.step, WEIGH, settings, scores)
    chosen = _drawn(state, scores)
    trial.chosen, trial.propensity = chosen, scores[chosen]
    return chosen


@compiled
def _drawn(state: State, scores: Vector) -> int:
    """Turn weights into probabilities and draw; arms go by the seed's order, however they are listed."""
    trial, turns = state.trial[0], state.plan[1:]
    total, candidates = 0.0, 0
    for t in range(scores.shape[0]):
        weight = scores[turns[t]]
        candidates += weight != MAY_NOT
        total += weight if weight > 0.0 else 0.0
    # Weights that are no weights, or all 0: then the arms are alike.
    sound = 0.0 < total < np.inf
    start_lot(state)
    place, chosen, top, largest, possible = uniform(state.lots), -1, -1, -1.0, 0
    for t in range(scores.shape[0]):
        i = turns[t]
        if scores[i] == MAY_NOT:
            scores[i] = -np.inf
            continue
        share = 1.0 / candidates
        if sound:
            share = scores[i] / total if scores[i] > 0.0 else 0.0
        scores[i] = share
        possible += share > 0.0
        # Rounding may leave a rest of the last place: then the last arm that can be drawn gets it.
        if share > 0.0 and (chosen < 0 or place >= 0.0):
            chosen = i
        place -= share
        if share > largest:
            top, largest = i, share
    trial.top, trial.likeliest, trial.possible = top, largest, possible
    return chosen


@if_it_weighs
@compiled
def remember(state: State, settings: Vector) -> None:
    """Let the design take note of the unit that was assigned last."""
    row = state.trial[0].step - 1
    call_design(state, row, state.rows[row].arm, settings, settings)


@compiled
def recall(state: State, settings: Vector) -> None:
    """Compute what the design remembers anew, from all rows as they were assigned, redacted ones aside."""
    forget_assignments(state, 0.0)
    for row in range(state.trial[0].step):
        if state.rows[row].status != REDACTED:
            call_design(state, row, state.rows[row].meant, settings, settings)
