"""When a trial ends before its budget does."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from equipoise.errors import InvalidScenario
from equipoise.lab.pieces.numbers import as_count, as_number
from equipoise.lab.pieces.piece import Stops, piece


@piece("stop")
@dataclass(frozen=True, kw_only=True)
class StopRule(Stops):
    """No further units once the estimates pass a target.

    Every so many units the estimates are looked at, as ``Experiment.estimates`` would give them then:
    ``by="objective"`` compares their ``objective`` with the target, ``by="bound"`` the same of the arms'
    ``error_bound``, at 95 %. The first look comes ``every`` units after all arms can have their d + 1.
    Outcomes that are awaited at the stop are waited for.
    """

    target: float
    every: int = 10
    by: str = "objective"
    kind: ClassVar[str] = "target"

    def __post_init__(self) -> None:
        object.__setattr__(self, "target", as_number("target", self.target))
        object.__setattr__(self, "every", as_count("every", self.every, least=1))
        if not 0.0 < self.target < math.inf:
            raise InvalidScenario(
                f"target={self.target!r} is not a positive number", hint="a squared error, e.g. 0.1"
            )
        if not isinstance(self.by, str) or self.by not in ("objective", "bound"):
            raise InvalidScenario(f"a stop by={self.by!r}", hint="use 'objective' or 'bound'")

    def looks(self, arms: int, dim: int, units: int) -> range:
        """Numbers of units at which is looked; the end of the budget needs no look."""
        return range(arms * (dim + 1) + self.every, units, self.every)
