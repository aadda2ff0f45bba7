"""Outcomes that are 0 or 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from equipoise.errors import InvalidScenario
from equipoise.lab.pieces.outcomes.linked import LinkedOutcomes
from equipoise.lab.pieces.outcomes.links import YES_NO
from equipoise.lab.pieces.piece import piece


@piece("outcomes")
@dataclass(frozen=True, kw_only=True)
class YesNoOutcomes(LinkedOutcomes):
    """Answers: 1 with the probability 1/(1 + e^−η), else 0.

    η is linear in the context, with the standard deviation ``effect`` over contexts, at a level that gives
    every arm its noise variance around the best linear fit. That is nearly π(1 − π) at an overall rate π, and
    largest at one half; rates above are those below with yes and no exchanged.

    >>> outcomes = YesNoOutcomes(effect=0.5)
    >>> noise = outcomes.noise([0.05, 0.5])
    >>> [round(value, 4) for value in noise]
    [0.047, 0.2361]
    >>> [round(rate, 4) for rate in outcomes.rates(noise)]
    [0.05, 0.5]
    """

    kind: ClassVar[str] = "yes-no"
    code: ClassVar[int] = YES_NO
    most_effect: ClassVar[float] = 5.0

    def highest_level(self) -> float:
        """A rate of one half."""
        return 0.0

    def _mirrored(self, rates: Sequence[float]) -> Sequence[float]:
        if not all(0.0 < rate < 1.0 for rate in rates):
            raise InvalidScenario(f"rates={list(rates)} are not between 0 and 1")
        return [min(rate, 1.0 - rate) for rate in rates]
