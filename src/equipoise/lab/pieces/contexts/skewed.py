"""Contexts with one long tail."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from equipoise.core.draws.streams import SHAPE, Stream, gamma, new_stream, start
from equipoise.core.jit.decorators import compiled
from equipoise.errors import InvalidScenario
from equipoise.lab.pieces.contexts.correlated import CorrelatedContexts
from equipoise.lab.pieces.numbers import as_number
from equipoise.lab.pieces.piece import Block, piece


@piece("contexts")
@dataclass(frozen=True, kw_only=True)
class SkewedContexts(CorrelatedContexts):
    """Skewed features: independent gamma variables with that ``shape``, centred and scaled, then mixed.

    The skewness is 2/√shape; ``shape=1`` are exponential variables.
    """

    shape: float = 1.0
    kind: ClassVar[str] = "skewed"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "shape", as_number("shape", self.shape))
        if not 0.0 < self.shape < math.inf:
            raise InvalidScenario(f"shape={self.shape!r} is not a positive number")

    @property
    def skewness(self) -> float:
        """2/√shape."""
        return float(2.0 / np.sqrt(self.shape))

    def fill(self, contexts: Block, first: int, seed: int, trial: int) -> None:
        """Write gamma variables of mean 0 and variance 1."""
        _fill(new_stream(), contexts, first, seed, trial, float(self.shape))


@compiled
def _fill(stream: Stream, contexts: Block, first: int, seed: int, trial: int, shape: float) -> None:
    for b in range(contexts.shape[0]):
        for t in range(contexts.shape[1]):
            start(stream, seed, trial + b, SHAPE, t, 0)
            for c in range(first, contexts.shape[2]):
                contexts[b, t, c] = (gamma(stream, shape) - shape) / np.sqrt(shape)
