"""What answers and counts have in common: arms whose level goes with their noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from equipoise.core.arrays import Matrix, Vector
from equipoise.core.draws.streams import NOISE, Stream, new_stream, start, uniform
from equipoise.core.jit.decorators import compiled
from equipoise.errors import InvalidScenario
from equipoise.lab.pieces.numbers import as_number, as_numbers
from equipoise.lab.pieces.outcomes.links import best_linear_fit
from equipoise.lab.pieces.piece import Block, Outcomes

_MEAN, _NOISE = 0, 2
# Halvings after which two levels have no number between them.
_HALVINGS = 200


@dataclass(frozen=True, kw_only=True)
class LinkedOutcomes(Outcomes):
    """Outcomes whose rate follows from a linear predictor with the standard deviation ``effect``."""

    effect: float = 0.5
    lowest_level: ClassVar[float] = -40.0
    most_effect: ClassVar[float]

    def __post_init__(self) -> None:
        object.__setattr__(self, "effect", as_number("effect", self.effect))
        if not 0.0 <= self.effect <= self.most_effect:
            raise InvalidScenario(
                f"effect={self.effect!r} is not between 0 and {self.most_effect:g}",
                hint="it is the standard deviation of the linear predictor over contexts, e.g. 0.5",
            )

    def highest_level(self) -> float:
        """The level up to which the noise grows with it."""
        raise NotImplementedError

    def noise(self, rates: Sequence[float]) -> tuple[float, ...]:
        """The noise variance of arms with these rates: what the best linear fit leaves."""
        levels = [self._level(rate, _MEAN, "rate") for rate in self._mirrored(as_numbers("rates", rates))]
        return tuple(float(self._fit(level)[_NOISE]) for level in levels)

    def rates(self, noise: Sequence[float]) -> tuple[float, ...]:
        """The rates of arms with these noise variances."""
        levels = [self._level(value, _NOISE, "noise") for value in as_numbers("noise", noise)]
        return tuple(float(self._fit(level)[_MEAN]) for level in levels)

    def curves(self, noise: Sequence[float]) -> Matrix:
        """[arms, 4] level and effect of every arm's predictor, mean and slope of its best linear fit."""
        curves = np.zeros((len(noise), 4))
        for i, value in enumerate(noise):
            level = self._level(value, _NOISE, "noise")
            mean, slope, _ = self._fit(level)
            curves[i] = level, self.effect, mean, slope
        return curves

    def fill(self, shocks: Block, seed: int, trial: int) -> None:
        """Write numbers that are uniform on (0, 1)."""
        _fill(new_stream(), shocks, seed, trial)

    def _mirrored(self, rates: Sequence[float]) -> Sequence[float]:
        """Rates that have a level up to the highest."""
        return rates

    def _fit(self, level: float) -> Vector:
        found = np.zeros(3)
        best_linear_fit(self.code, level, self.effect, found)
        return found

    def _level(self, value: float, place: int, name: str) -> float:
        """The level at which what stands at some place of the fit has a value, by halving."""
        low, high = self.lowest_level, self.highest_level()
        least, most = float(self._fit(low)[place]), float(self._fit(high)[place])
        if value >= most * (1.0 - 1e-12) and value <= most * (1.0 + 1e-12):
            return high
        if not least <= value <= most:
            raise InvalidScenario(
                f"no arm with {self.kind} outcomes has a {name} of {value!r}: with effect={self.effect:g} it "
                f"lies between {least:.3g} and {most:.6g}",
                hint=f"{type(self).__name__}(effect={self.effect:g}).noise([rate, …]) gives it for rates",
            )
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            if float(self._fit(middle)[place]) < value:
                low = middle
            else:
                high = middle
        return 0.5 * (low + high)


@compiled
def _fill(stream: Stream, shocks: Block, seed: int, trial: int) -> None:
    for b in range(shocks.shape[0]):
        for i in range(shocks.shape[1]):
            start(stream, seed, trial + b, NOISE, i, 1)
            for pull in range(shocks.shape[2]):
                shocks[b, i, pull] = uniform(stream)
