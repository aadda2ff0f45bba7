"""Outcomes that are counted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from equipoise.core.arithmetic.logarithm import log
from equipoise.lab.pieces.outcomes.linked import LinkedOutcomes
from equipoise.lab.pieces.outcomes.links import COUNTS, HIGHEST_COUNT_RATE
from equipoise.lab.pieces.piece import piece


@piece("outcomes")
@dataclass(frozen=True, kw_only=True)
class CountOutcomes(LinkedOutcomes):
    """Counts: Poisson variables with the mean e^η.

    η is linear in the context, with the standard deviation ``effect`` over contexts, at a level that gives
    every arm its noise variance around the best linear fit: for small effects, its mean count.

    >>> outcomes = CountOutcomes(effect=0.5)
    >>> noise = outcomes.noise([0.5, 4.0])
    >>> [round(value, 4) for value in noise]
    [0.5085, 4.5444]
    >>> [round(rate, 4) for rate in outcomes.rates(noise)]
    [0.5, 4.0]
    """

    kind: ClassVar[str] = "counts"
    code: ClassVar[int] = COUNTS
    most_effect: ClassVar[float] = 1.0

    def highest_level(self) -> float:
        """Four standard deviations above it, rates reach their end."""
        return float(log(HIGHEST_COUNT_RATE)) - 4.0 * self.effect
