"""Assignment by lot, for protocols that demand it.

With ``chance`` c above 0 a unit goes to the arm with the highest score with probability 1 − c, and else
to any arm that may be chosen, each with the same probability. So of a arms that may be chosen every one
has a probability of at least c/a, known before the draw. The draw is a function of seed, trial and
unit: it repeats itself in the lab, in memory and in the service. A unit with a key is addressed by its key,
so that asking for it again, at whatever place, cannot draw anew; others by their place.
"""

from __future__ import annotations

import hashlib

import numpy as np

from equipoise.core.arms.state import State
from equipoise.core.arrays import Vector
from equipoise.core.draws.streams import LOT, start, uniform
from equipoise.core.jit.decorators import compiled, inlined

# Draws of a unit: 0 is its arm, by its place; 1 is taken by designs; 2 is its arm, by its key.
_BY_PLACE, _BY_KEY = 0, 2


def lot_of(key: str) -> int:
    """What addresses the draws of the unit with that key: 63 bits, never 0."""
    digest = hashlib.blake2b(key.encode(errors="surrogatepass"), digest_size=8, person=b"lot")
    return int.from_bytes(digest.digest(), "little") >> 1 or 1


@inlined
def start_lot(state: State) -> None:
    """Point the stream for lots at the draws of the next unit."""
    trial = state.trial[0]
    lot = state.rows[trial.step].lot
    if lot:
        start(state.lots, trial.seed, trial.number, LOT, lot, _BY_KEY)
    else:
        start(state.lots, trial.seed, trial.number, LOT, trial.step, _BY_PLACE)


@compiled
def draw_arm(state: State, scores: Vector) -> None:
    """Replace the chosen arm of the next unit by one drawn by lot, or leave it; note its probability."""
    trial = state.trial[0]
    start_lot(state)
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
