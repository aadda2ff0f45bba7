"""Outcomes of arms that are pulled in turns, as the first stage of a policy that chooses features does."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from equipoise.core.arrays import Matrix, Vector
from equipoise.core.draws.streams import Stream
from equipoise.core.jit.decorators import compiled
from equipoise.lab.world import World, draw_outcome


@compiled
def draw_outcomes_in_turns(
    world: World,
    stream: Stream,
    trial: int,
    arms: npt.NDArray[np.int64],
    contexts: Matrix,
    outcomes: Vector,
) -> None:
    """The outcomes of one trial, ``arms[t]`` being the arm of unit t, a turn of all arms after another."""
    for t in range(outcomes.shape[0]):
        pull = t // world.coefs.shape[0]
        outcomes[t] = draw_outcome(world, stream, trial, t, arms[t], pull, contexts)
