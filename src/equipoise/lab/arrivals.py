"""When outcomes arrive: at once, late or never."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from equipoise.core.arms import least_squares as kernel
from equipoise.core.arms.state import State
from equipoise.core.draws.streams import Stream
from equipoise.core.jit.decorators import compiled
from equipoise.lab.world import World, is_lost

Counts = npt.NDArray[np.int64]


@compiled
def deliver(
    state: State, world: World, stream: Stream, due: Counts, trial: int, t: int, oldest: int, asked: int
) -> int:
    """Let the outcomes that are due at t arrive, or be lost; return the oldest row that is still open.

    Every row before ``oldest`` is closed, and no unit from ``asked`` on exists.
    """
    open_from = min(t + 1, asked)
    for row in range(min(t, asked - 1), oldest - 1, -1):
        if due[row] > t:
            open_from = row
    for row in range(oldest, min(t + 1, asked)):
        if due[row] == t:
            if is_lost(world, stream, trial, row):
                kernel.lose(state, row)
            else:
                kernel.observe(state, row, state.outcomes[row])
    return open_from


@compiled
def next_arrival(due: Counts, t: int, oldest: int, last: int, asked: int) -> int:
    """The time of the next outcome from t on, when there are no more decisions; ``last`` if there is none."""
    soonest = last
    for row in range(oldest, asked):
        if due[row] >= t:
            soonest = min(soonest, due[row])
    return soonest
