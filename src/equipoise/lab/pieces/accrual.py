"""Units that arrive in calendar time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from equipoise.core.arithmetic.logarithm import log
from equipoise.core.draws.streams import ARRIVAL, Stream, new_stream, start, uniform
from equipoise.core.jit.decorators import compiled
from equipoise.errors import InvalidScenario
from equipoise.lab.pieces.numbers import as_count, as_number
from equipoise.lab.pieces.piece import Accruals, Block, piece


@piece("accrual")
@dataclass(frozen=True, kw_only=True)
class Accrual(Accruals):
    """So many units arrive in a unit of time, from time 0 on.

    ``pattern`` is ``"poisson"`` (independent of each other) or ``"steady"`` (evenly, the first at once).
    ``batch`` units come together; they are asked for one by one, in their order. ``ramp`` is the time in
    which the rate grows from 0 to its full height, as sites open. ``time`` is what the unit of time is
    called.

    >>> trial = Accrual(rate=4, ramp=12, time="weeks")
    >>> trial.expected_time(100)
    31.0
    """

    rate: float
    pattern: str = "poisson"
    batch: int = 1
    ramp: float = 0.0
    time: str = "weeks"
    kind: ClassVar[str] = "accrual"

    _PATTERNS: ClassVar[tuple[str, ...]] = ("poisson", "steady")

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", as_number("rate", self.rate))
        object.__setattr__(self, "ramp", as_number("ramp", self.ramp))
        object.__setattr__(self, "batch", as_count("batch", self.batch, least=1))
        if not 0.0 < self.rate < math.inf:
            raise InvalidScenario(
                f"rate={self.rate!r} is not a positive number", hint="units in a unit of time, e.g. 4"
            )
        if not 0.0 <= self.ramp < math.inf:
            raise InvalidScenario(
                f"ramp={self.ramp!r} is not a number of at least 0", hint="a time, e.g. 12, or leave it out"
            )
        if not isinstance(self.pattern, str) or self.pattern not in self._PATTERNS:
            raise InvalidScenario(
                f"no accrual of pattern {self.pattern!r}", hint=f"use {', '.join(self._PATTERNS)}"
            )
        if not isinstance(self.time, str) or not self.time.strip():
            raise InvalidScenario(f"time={self.time!r} is not a word", hint="e.g. 'weeks'")

    def fill(self, times: Block, seed: int, trial: int) -> None:
        """Write times of arrival."""
        poisson = self.pattern == "poisson"
        _fill(new_stream(), times, seed, trial, poisson, float(self.batch))
        times *= self.batch
        self._to_calendar(times)

    def expected_time(self, units: float) -> float:
        """About the time at which so many units have arrived."""
        times = np.array([float(units)])
        self._to_calendar(times)
        return float(times[0])

    def _to_calendar(self, times: Block) -> None:
        """Numbers of units at full rate 1 into times: the rate grows as t/ramp, so units as rate·t²/2ramp."""
        times /= self.rate
        if self.ramp > 0.0:
            late = times > 0.5 * self.ramp
            times[:] = np.where(late, times + 0.5 * self.ramp, np.sqrt(2.0 * self.ramp * times))


@compiled
def _fill(stream: Stream, times: Block, seed: int, trial: int, poisson: bool, batch: float) -> None:
    """Write the number of every unit's batch, or for Poisson arrivals a sum of exponential gaps."""
    for b in range(times.shape[0]):
        now, last = 0.0, -1
        for t in range(times.shape[1]):
            number = int(np.floor(t / batch))
            if number != last:
                last = number
                if poisson:
                    start(stream, seed, trial + b, ARRIVAL, number, 0)
                    now -= log(uniform(stream))
                else:
                    now = float(number)
            times[b, t] = now
