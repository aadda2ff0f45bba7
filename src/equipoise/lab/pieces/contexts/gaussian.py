"""Normal contexts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from equipoise.core.draws.streams import CONTEXT, Address, fill_words, turn_into_normals
from equipoise.core.jit.decorators import compiled, inlined
from equipoise.lab.pieces.contexts.correlated import CorrelatedContexts
from equipoise.lab.pieces.piece import Block, piece


@piece("contexts")
@dataclass(frozen=True, kw_only=True)
class GaussianContexts(CorrelatedContexts):
    """Normal features with mean zero.

    ``covariance`` is ``"identity"``, ``"ar1:RHO"`` (entries RHO^|i−j|) or rows of numbers.
    """

    kind: ClassVar[str] = "gaussian"

    def fill(self, contexts: Block, first: int, seed: int, trial: int) -> None:
        """Write normal features."""
        fill_normal_contexts(contexts, first, seed, trial)


@inlined
def address_of(seed: int, trial: int, t: int) -> Address:
    """Where the normals of unit t's context begin."""
    return seed, trial, CONTEXT, t, 0


@compiled
def fill_normal_contexts(contexts: Block, first: int, seed: int, trial: int) -> None:
    """Normal features from ``first`` on, of all units."""
    units, dim = contexts.shape[1:]
    for b in range(contexts.shape[0]):
        rows = contexts[b]
        for t in range(units):
            fill_words(address_of(seed, trial + b, t), 0, rows, t, first)
        if first == 0:
            turn_into_normals(rows, 0, units * dim)
        else:
            for t in range(units):
                turn_into_normals(rows, t * dim + first, dim - first)
