"""Skewed noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from equipoise.core.draws.streams import SHAPE, Stream, gamma, new_stream, start
from equipoise.core.jit.decorators import compiled
from equipoise.errors import InvalidScenario
from equipoise.lab.pieces.numbers import as_number
from equipoise.lab.pieces.piece import Block, Noise, piece


@piece("noise_shape")
@dataclass(frozen=True, kw_only=True)
class SkewedNoise(Noise):
    """Skewed noise: a gamma variable with that ``shape``, centred and scaled; skewness 2/√shape."""

    shape: float = 1.0
    kind: ClassVar[str] = "skewed"

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", as_number("shape", self.shape))
        if not 0.0 < self.shape < math.inf:
            raise InvalidScenario(f"shape={self.shape!r} is not a positive number")

    def fill(self, shocks: Block, seed: int, trial: int) -> None:
        """Write gamma variables of mean 0 and variance 1."""
        _fill(new_stream(), shocks, seed, trial, float(self.shape))


@compiled
def _fill(stream: Stream, shocks: Block, seed: int, trial: int, shape: float) -> None:
    for b in range(shocks.shape[0]):
        for i in range(shocks.shape[1]):
            for pull in range(shocks.shape[2]):
                start(stream, seed, trial + b, SHAPE, pull, i + 1)
                shocks[b, i, pull] = (gamma(stream, shape) - shape) / np.sqrt(shape)
