"""Contexts that are categories."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import ClassVar

import numpy as np

from equipoise.core.arithmetic.sums import exact_sum
from equipoise.core.arrays import Matrix, Vector
from equipoise.core.draws.streams import CONTEXT, Stream, new_stream, start, uniform
from equipoise.core.jit.decorators import compiled
from equipoise.errors import InvalidScenario
from equipoise.lab.pieces.numbers import as_numbers
from equipoise.lab.pieces.piece import Block, Contexts, piece


@piece("contexts")
@dataclass(frozen=True, kw_only=True)
class OneHotContexts(Contexts):
    """Categories: exactly one feature is 1. Equally likely unless ``probabilities`` are given."""

    probabilities: tuple[float, ...] | None = None
    kind: ClassVar[str] = "one-hot"

    def __post_init__(self) -> None:
        if self.probabilities is not None:
            values = as_numbers("probabilities", self.probabilities)
            if not all(value > 0 for value in values) or abs(exact_sum(values) - 1.0) > 1e-9:
                raise InvalidScenario("probabilities of categories must be positive and sum to 1")
            object.__setattr__(self, "probabilities", values)

    @property
    def mixes(self) -> bool:
        """Categories stay as they are."""
        return False

    def shares(self, dim: int) -> Vector:
        """Probability of every category."""
        if self.probabilities is None:
            return np.full(dim, 1.0 / dim)
        if len(self.probabilities) != dim:
            raise InvalidScenario(f"{len(self.probabilities)} probabilities for {dim} categories")
        return np.array(self.probabilities)

    def covariance_matrix(self, dim: int) -> Matrix:
        """E[xxᵀ], a diagonal of probabilities."""
        return np.diag(self.shares(dim))

    def fill(self, contexts: Block, first: int, seed: int, trial: int) -> None:
        """Write one 1 a unit."""
        below = np.array(list(accumulate(self.shares(contexts.shape[2] - first).tolist())))
        _fill(new_stream(), contexts, first, seed, trial, below)


@compiled
def _fill(stream: Stream, contexts: Block, first: int, seed: int, trial: int, below: Vector) -> None:
    dim = contexts.shape[2]
    for b in range(contexts.shape[0]):
        for t in range(contexts.shape[1]):
            start(stream, seed, trial + b, CONTEXT, t, 0)
            level = uniform(stream)
            chosen = dim - 1
            for c in range(dim - 1, first - 1, -1):
                contexts[b, t, c] = 0.0
                if level < below[c - first]:
                    chosen = c
            contexts[b, t, chosen] = 1.0
