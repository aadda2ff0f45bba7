"""Contexts that differ from site to site, one site after the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from equipoise.core.draws.streams import SHAPE, Stream, new_stream, normal, start
from equipoise.core.jit.decorators import compiled
from equipoise.errors import InvalidScenario
from equipoise.lab.pieces.contexts.correlated import CorrelatedContexts
from equipoise.lab.pieces.contexts.gaussian import fill_normal_contexts
from equipoise.lab.pieces.numbers import as_count, as_number
from equipoise.lab.pieces.piece import Block, piece


@piece("contexts")
@dataclass(frozen=True, kw_only=True)
class SiteContexts(CorrelatedContexts):
    """Units come from ``sites``, each with means of its own, one site after the other.

    Sites are drawn anew for every trial. A share ``between`` of the features' variance lies between sites,
    and the rest within them; all is normal. The population that the models serve is that of all sites that
    there could be: Σ is the covariance over sites and units.
    """

    sites: int = 5
    between: float = 0.5
    kind: ClassVar[str] = "sites"
    steady: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "sites", as_count("sites", self.sites, least=1))
        object.__setattr__(self, "between", as_number("between", self.between))
        if not 0.0 <= self.between < 1.0:
            raise InvalidScenario(
                f"between={self.between!r} is not a share of at least 0 and below 1",
                hint="e.g. 0.5: half of the variance lies between sites",
            )

    def fill(self, contexts: Block, first: int, seed: int, trial: int) -> None:
        """Write normal features around the means of the site whose turn it is."""
        fill_normal_contexts(contexts, first, seed, trial)
        _move(new_stream(), contexts, first, seed, trial, self.sites, float(self.between))


@compiled
def _move(
    stream: Stream, contexts: Block, first: int, seed: int, trial: int, sites: int, between: float
) -> None:
    units = contexts.shape[1]
    within, across = np.sqrt(1.0 - between), np.sqrt(between)
    for b in range(contexts.shape[0]):
        for t in range(units):
            start(stream, seed, trial + b, SHAPE, t * sites // units, 0)
            for c in range(first, contexts.shape[2]):
                contexts[b, t, c] = within * contexts[b, t, c] + across * normal(stream)
