"""Outcomes that arrive late."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from equipoise.core.arithmetic.logarithm import log
from equipoise.core.arrays import Counts
from equipoise.core.draws.streams import DELAY, Stream, new_stream, start, uniform
from equipoise.core.jit.decorators import compiled
from equipoise.errors import InvalidScenario
from equipoise.lab.pieces.numbers import as_number
from equipoise.lab.pieces.piece import Block, Delays, piece

# Long past any budget; beyond it a geometric delay is no longer told apart from one that never ends.
_LONGEST_DELAY = 1e9
_FIXED, _GEOMETRIC, _UNIFORM = range(3)


@piece("delay")
@dataclass(frozen=True, kw_only=True)
class Delay(Delays):
    """Outcomes arrive late, counted in units asked for in between, or with an accrual in its time.

    ``shape`` is ``"fixed"``, ``"geometric"`` (in calendar time its limit, exponential) or ``"uniform"`` (up
    to twice the mean). No outcome comes before ``least``; the shape is that of what lies beyond it:
    ``Delay(mean=14, least=12)`` is a visit after 12 weeks whose result comes about 2 weeks later.
    """

    mean: float = 10.0
    shape: str = "geometric"
    least: float = 0.0
    kind: ClassVar[str] = "delay"

    _SHAPES: ClassVar[tuple[str, ...]] = ("fixed", "geometric", "uniform")

    def __post_init__(self) -> None:
        if not isinstance(self.shape, str) or self.shape not in self._SHAPES:
            raise InvalidScenario(f"no delay of shape {self.shape!r}", hint=f"use {', '.join(self._SHAPES)}")
        object.__setattr__(self, "mean", as_number("mean", self.mean))
        object.__setattr__(self, "least", as_number("least", self.least))
        if not 0.0 < self.mean < _LONGEST_DELAY:
            raise InvalidScenario(
                f"a delay with mean={self.mean!r} is not between 0 and {_LONGEST_DELAY:g} units",
                hint="leave delay out for outcomes that arrive at once",
            )
        if not 0.0 <= self.least <= self.mean or (self.least == self.mean and self.shape == "geometric"):
            raise InvalidScenario(
                f"a delay of at least {self.least!r} does not have the mean {self.mean!r}",
                hint="give a larger mean, or shape='fixed'",
            )

    def discount(self, rate: float, *, in_time: bool) -> float:
        """E[exp(−rate·delay)]: the share that is still there when outcomes arrive."""
        beyond, at_least = self.mean - self.least, math.exp(-rate * self.least)
        if rate == 0.0 or beyond == 0.0:
            return at_least
        if self.shape == "fixed":
            return math.exp(-rate * self.mean)
        if self.shape == "geometric":
            return at_least / (1.0 + beyond * (rate if in_time else -math.expm1(-rate)))
        ends = 2.0 * beyond if in_time else 2.0 * beyond + 1.0
        return at_least * -math.expm1(-rate * ends) / (ends * (rate if in_time else -math.expm1(-rate)))

    def check_units(self) -> None:
        """Refuse means that no delay in whole units has, but on average."""
        beyond = self.mean - self.least
        whole = {"fixed": beyond, "uniform": 2.0 * beyond}.get(self.shape, 0.0)
        if whole != round(whole) or self.least != round(self.least):
            raise InvalidScenario(
                f"no {self.shape} delay in whole units has the mean {self.mean!r}"
                + (f" and is at least {self.least!r}" if self.least else ""),
                hint="round it, use shape='geometric', or count in calendar time with an accrual",
            )

    def fill(self, delays: Counts, seed: int, trial: int) -> None:
        """Write delays in units."""
        beyond, least = float(self.mean - self.least), round(self.least)
        _fill(new_stream(), delays, seed, trial, self._SHAPES.index(self.shape), beyond)
        delays += least

    def fill_times(self, waits: Block, seed: int, trial: int) -> None:
        """Write delays in calendar time."""
        beyond = float(self.mean - self.least)
        _fill_times(new_stream(), waits, seed, trial, self._SHAPES.index(self.shape), beyond)
        waits += self.least


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


@compiled
def _fill_times(stream: Stream, waits: Block, seed: int, trial: int, shape: int, mean: float) -> None:
    for b in range(waits.shape[0]):
        for t in range(waits.shape[1]):
            start(stream, seed, trial + b, DELAY, t, 0)
            if shape == _FIXED:
                waits[b, t] = mean
            elif shape == _GEOMETRIC:
                waits[b, t] = -mean * log(uniform(stream))
            else:
                waits[b, t] = 2.0 * mean * uniform(stream)
