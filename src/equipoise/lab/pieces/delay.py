"""Outcomes that arrive late."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from equipoise.core.arithmetic.logarithm import log
from equipoise.core.arrays import Counts
from equipoise.core.draws.streams import DELAY, Stream, new_stream, start, uniform
from equipoise.core.jit.decorators import compiled
from equipoise.errors import InvalidScenario
from equipoise.lab.pieces.numbers import as_number
from equipoise.lab.pieces.piece import Delays, piece

# Long past any budget; beyond it a geometric delay is no longer told apart from one that never ends.
_LONGEST_DELAY = 1e9
_FIXED, _GEOMETRIC, _UNIFORM = range(3)


@piece("delay")
@dataclass(frozen=True, kw_only=True)
class Delay(Delays):
    """Outcomes arrive late, counted in units asked for in between.

    ``shape`` is ``"fixed"``, ``"geometric"`` or ``"uniform"`` (0, 1, … up to twice the mean).
    """

    mean: float = 10.0
    shape: str = "geometric"
    kind: ClassVar[str] = "delay"

    _SHAPES: ClassVar[tuple[str, ...]] = ("fixed", "geometric", "uniform")

    def __post_init__(self) -> None:
        if not isinstance(self.shape, str) or self.shape not in self._SHAPES:
            raise InvalidScenario(f"no delay of shape {self.shape!r}", hint=f"use {', '.join(self._SHAPES)}")
        object.__setattr__(self, "mean", as_number("mean", self.mean))
        if not 0.0 < self.mean < _LONGEST_DELAY:
            raise InvalidScenario(
                f"a delay with mean={self.mean!r} is not between 0 and {_LONGEST_DELAY:g} units",
                hint="leave delay out for outcomes that arrive at once",
            )
        # Other means would need unequal chances, and be met on average only.
        whole = {"fixed": self.mean, "uniform": 2.0 * self.mean}.get(self.shape, 0.0)
        if whole != round(whole):
            raise InvalidScenario(
                f"no {self.shape} delay in whole units has the mean {self.mean!r}",
                hint="round it, or use shape='geometric'",
            )

    def fill(self, delays: Counts, seed: int, trial: int) -> None:
        """Write delays of that shape and mean."""
        _fill(new_stream(), delays, seed, trial, self._SHAPES.index(self.shape), float(self.mean))


@compiled
def _fill(stream: Stream, delays: Counts, seed: int, trial: int, shape: int, mean: float) -> None:
    for b in range(delays.shape[0]):
        for t in range(delays.shape[1]):
            start(stream, seed, trial + b, DELAY, t, 0)
            if shape == _FIXED:
                delays[b, t] = int(np.rint(mean))
            elif shape == _GEOMETRIC:
                delays[b, t] = int(np.floor(log(uniform(stream)) / log(mean / (1.0 + mean))))
            else:
                delays[b, t] = int(np.floor(uniform(stream) * (2.0 * mean + 1.0)))
