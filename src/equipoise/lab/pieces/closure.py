"""Arms that take no units for a while, or from some moment on."""

from __future__ import annotations

import math
from dataclasses import dataclass

from equipoise.errors import InvalidScenario
from equipoise.lab.pieces.numbers import as_number

_BY = ("units", "time")


@dataclass(frozen=True)
class Closure:
    """An arm is closed ``after`` so many units of the trial, and opens again ``until`` so many, if at all.

    With ``by="time"`` both are moments of the accrual's calendar. ``Closure("high", until=100)`` is an arm
    that joins late: its first unit is the trial's 101st at the earliest.

    >>> Closure("high", after=120)
    Closure(arm='high', after=120.0, until=None, by='units')
    """

    arm: str
    after: float = 0.0
    until: float | None = None
    by: str = "units"

    def __post_init__(self) -> None:
        if not isinstance(self.arm, str):
            raise InvalidScenario(f"a closure of arm={self.arm!r} does not name an arm")
        if not isinstance(self.by, str) or self.by not in _BY:
            raise InvalidScenario(f"a closure of {self.arm!r} by={self.by!r}", hint="use 'units' or 'time'")
        object.__setattr__(self, "after", as_number("after", self.after))
        end = math.inf if self.until is None else as_number("until", self.until)
        object.__setattr__(self, "until", end if end < math.inf else None)
        if not 0.0 <= self.after < end:
            raise InvalidScenario(
                f"arm {self.arm!r} cannot be closed after {self.after:g} and until {end:g}",
                hint="until is later than after, and both are at least 0",
            )
        if self.by == "units" and any(part % 1.0 for part in (self.after, end) if part < math.inf):
            raise InvalidScenario(
                f"a closure of {self.arm!r} counts whole units", hint="round it, or say by='time'"
            )
