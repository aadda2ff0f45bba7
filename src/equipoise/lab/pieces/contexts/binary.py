"""Features that a share of the units have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from equipoise.core.draws.streams import CONTEXT, Stream, new_stream, start, uniform
from equipoise.core.jit.decorators import compiled
from equipoise.errors import InvalidScenario
from equipoise.lab.pieces.contexts.correlated import CorrelatedContexts
from equipoise.lab.pieces.numbers import as_number
from equipoise.lab.pieces.piece import Block, piece


@piece("contexts")
@dataclass(frozen=True, kw_only=True)
class BinaryContexts(CorrelatedContexts):
    """Yes/no features: each unit has each of them with probability ``share``, independently.

    Yes and no are written as √((1−share)/share) and −√(share/(1−share)), so that every feature has mean 0
    and variance 1. Beside an intercept that is the same problem as 1 and 0. A covariance mixes them.
    """

    share: float = 0.5
    kind: ClassVar[str] = "binary"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "share", as_number("share", self.share))
        if not 0.0 < self.share < 1.0:
            raise InvalidScenario(
                f"share={self.share!r} is not between 0 and 1", hint="e.g. 0.05: one unit in twenty has it"
            )

    @property
    def skewness(self) -> float:
        """(1 − 2·share)/√(share·(1 − share))."""
        return float((1.0 - 2.0 * self.share) / np.sqrt(self.share * (1.0 - self.share)))

    def fill(self, contexts: Block, first: int, seed: int, trial: int) -> None:
        """Write one of two values of mean 0 and variance 1."""
        _fill(new_stream(), contexts, first, seed, trial, float(self.share))


@compiled
def _fill(stream: Stream, contexts: Block, first: int, seed: int, trial: int, share: float) -> None:
    yes, no = np.sqrt((1.0 - share) / share), -np.sqrt(share / (1.0 - share))
    for b in range(contexts.shape[0]):
        for t in range(contexts.shape[1]):
            start(stream, seed, trial + b, CONTEXT, t, 0)
            for c in range(first, contexts.shape[2]):
                contexts[b, t, c] = yes if uniform(stream) < share else no
