"""Contexts whose means move during the trial."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from equipoise.core.draws.streams import SHAPE, Stream, new_stream, start, uniform
from equipoise.core.jit.decorators import compiled
from equipoise.errors import InvalidScenario
from equipoise.lab.pieces.contexts.correlated import CorrelatedContexts
from equipoise.lab.pieces.contexts.gaussian import fill_normal_contexts
from equipoise.lab.pieces.numbers import as_number
from equipoise.lab.pieces.piece import Block, piece

# The means of units that come evenly spread over a way of length s have the variance s²/12.
_VARIANCE = 1.0 / 12.0


@piece("contexts")
@dataclass(frozen=True, kw_only=True)
class DriftingContexts(CorrelatedContexts):
    """Normal features whose means move by ``shift`` standard deviations during the trial, up or down.

    The direction is drawn for every feature and trial. The population that the models serve is that of all
    units of all trials: Σ is the covariance over both. Half-way the means are 0.
    """

    shift: float = 1.0
    kind: ClassVar[str] = "drifting"
    steady: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "shift", as_number("shift", self.shift))
        if not (self.shift >= 0.0 and self.shift * self.shift * _VARIANCE < 1.0):
            raise InvalidScenario(
                f"shift={self.shift!r} is not a number of at least 0 and below √12",
                hint="at √12 = 3.46 standard deviations all variance would be drift",
            )

    def fill(self, contexts: Block, first: int, seed: int, trial: int) -> None:
        """Write normal features around means that move."""
        fill_normal_contexts(contexts, first, seed, trial)
        _move(new_stream(), contexts, first, seed, trial, float(self.shift))


@compiled
def _move(stream: Stream, contexts: Block, first: int, seed: int, trial: int, shift: float) -> None:
    units = contexts.shape[1]
    # n evenly spaced places have a variance of (1 − 1/n²)/12.
    within = np.sqrt(1.0 - shift * shift * _VARIANCE * (1.0 - 1.0 / (units * units)))
    for b in range(contexts.shape[0]):
        for t in range(units):
            place = shift * ((t + 0.5) / units - 0.5)
            start(stream, seed, trial + b, SHAPE, 0, 0)
            for c in range(first, contexts.shape[2]):
                contexts[b, t, c] = within * contexts[b, t, c] + (place if uniform(stream) < 0.5 else -place)
