"""Balance over time: the units of every period against all units, and arms against each other within it.

Periods hold equally many units, in the order of assignment. If the people who come change over time, and arms
get their units at different times, arms see different people; if arms are in balance within every period,
they do not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from equipoise.core.diagnosis.balance import ArmBalance, Balance, balance_of
from equipoise.core.diagnosis.evidence import Evidence
from equipoise.errors import InvalidArgument


@dataclass(frozen=True, eq=False)
class Period:
    """The contexts of one period."""

    first: int
    """Number of its first unit, counted from 1."""
    last: int
    """Number of its last unit."""
    contexts: ArmBalance
    """Its contexts against those of all units."""
    arms: Balance
    """The contexts of every arm against all of this period."""

    def record(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "first": self.first,
            "last": self.last,
            "contexts": self.contexts.record(),
            "arms": self.arms.records(),
        }


def balance_by_period(evidence: Evidence, periods: int) -> list[Period]:
    """Cut the units into periods of equal size; fewer of them where units are few."""
    if isinstance(periods, bool) or not isinstance(periods, int) or periods < 1:
        raise InvalidArgument(f"periods={periods!r} is not a positive whole number", hint="e.g. 4")
    count = len(evidence.arms)
    pieces = min(periods, count)
    if pieces == 0:
        return []
    place = np.arange(count) * pieces // count
    whole = balance_of(
        replace(
            evidence,
            names=tuple(f"period {k + 1}" for k in range(pieces)),
            arms=place,
            counts=np.ones(count, bool),
        )
    )
    found = []
    for k in range(pieces):
        mine = place == k
        part = replace(
            evidence,
            **{
                name: getattr(evidence, name)[mine]
                for name in ("contexts", "outcomes", "arms", "counts", "known", "fitted", "rows", "ids")
            },
        )
        found.append(Period(int(part.ids[0]), int(part.ids[-1]), whole[k], balance_of(part)))
    return found
