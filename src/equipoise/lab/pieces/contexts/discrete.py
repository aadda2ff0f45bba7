"""Contexts on a few values, as ratings are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from equipoise.core.draws.streams import CONTEXT, Stream, new_stream, start, uniform
from equipoise.core.jit.decorators import compiled
from equipoise.lab.pieces.contexts.correlated import CorrelatedContexts
from equipoise.lab.pieces.numbers import as_count
from equipoise.lab.pieces.piece import Block, piece


@piece("contexts")
@dataclass(frozen=True, kw_only=True)
class DiscreteContexts(CorrelatedContexts):
    """Ratings: independent features on ``levels`` equally spaced values, then mixed by the covariance."""

    levels: int = 5
    kind: ClassVar[str] = "discrete"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "levels", as_count("levels", self.levels, least=2))

    def fill(self, contexts: Block, first: int, seed: int, trial: int) -> None:
        """Write values of mean 0 and variance 1."""
        _fill(new_stream(), contexts, first, seed, trial, float(self.levels))


@compiled
def _fill(stream: Stream, contexts: Block, first: int, seed: int, trial: int, levels: float) -> None:
    width = np.sqrt((levels * levels - 1.0) / 3.0)
    for b in range(contexts.shape[0]):
        for t in range(contexts.shape[1]):
            start(stream, seed, trial + b, CONTEXT, t, 0)
            for c in range(first, contexts.shape[2]):
                step = np.floor(uniform(stream) * levels)
                contexts[b, t, c] = (2.0 * step - (levels - 1.0)) / width
