"""Normal contexts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from equipoise.core.draws.streams import CONTEXT, Stream, fill_normals, new_stream, start
from equipoise.core.jit.decorators import compiled
from equipoise.lab.pieces.covariance import CorrelatedContexts
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
        _fill(new_stream(), contexts, first, seed, trial)


@compiled
def _fill(stream: Stream, contexts: Block, first: int, seed: int, trial: int) -> None:
    for b in range(contexts.shape[0]):
        for t in range(contexts.shape[1]):
            start(stream, seed, trial + b, CONTEXT, t, 0)
            fill_normals(stream, contexts[b], t, first)
