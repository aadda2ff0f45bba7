"""Assignment by lot, for protocols that demand it.

With ``chance`` c above 0 a unit goes to the arm with the highest score with probability 1 − c, and else
to any arm that may be chosen, each with the same probability. So of a arms that may be chosen every one
has a probability of at least c/a, known before the draw. The draw is a function of seed, trial and
unit: it repeats itself in the lab, in memory and in the service.
"""

from __future__ import annotations

import numpy as np

from equipoise.core.arms.state import State
from equipoise.core.arrays import Vector
from equipoise.core.draws.streams import LOT, start, uniform
from equipoise.core.jit.decorators import compiled


@compiled
def draw_arm(state: State, scores: Vector) -> None:
    """Replace the chosen arm of the next unit by one drawn by lot, or leave it; note its probability."""
    trial = state.trial[0]
    start(state.lots, trial.seed, trial.number, LOT, trial.step, 0)
    place = uniform(state.lots) / trial.chance
    candidates = 0
    for i in range(scores.shape[0]):
        candidates += scores[i] > -np.inf
    if candidates == 0:
        return
    by_lot = trial.chance / candidates
    trial.propensity = trial.likeliest = by_lot + (1.0 - trial.chance)
    trial.possible = candidates
    if place >= 1.0:
        return
    rank = int(place * candidates)
    for i in range(scores.shape[0]):
        if scores[i] > -np.inf:
            # By the seed's order, so that it does not matter how arms are listed.
            before = 0
            for j in range(scores.shape[0]):
                before += scores[j] > -np.inf and state.arms[j].order < state.arms[i].order
            if before == rank:
                trial.chosen = i
    if trial.chosen != trial.top:
        trial.propensity = by_lot
