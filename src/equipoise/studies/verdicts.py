"""Verdicts: measured numbers against the limits that a claim sets them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby, pairwise
from typing import Any

from equipoise.studies.losses import Measured

FEWEST_TRIALS = 30
"""Below it not even the standard errors can be trusted, and nothing is judged."""


class Verdict(StrEnum):
    """What became of a claim."""

    HOLDS = "holds"
    PARTLY = "holds partly"
    FAILS = "does not hold"
    UNKNOWN = "too few trials to say"


@dataclass(frozen=True)
class Check:
    """One measured number and the range that the claim puts it in."""

    what: str
    axis: str
    measured: Measured
    low: float = -math.inf
    high: float = math.inf

    @property
    def met(self) -> bool:
        """Whether the number is in the range; one that is not a number never is."""
        return self.low <= self.measured.value <= self.high

    @property
    def clear(self) -> bool:
        """Whether the nearest limit is at least two standard errors away."""
        value = self.measured.value
        return min(abs(value - self.low), abs(value - self.high)) >= 2.0 * self.measured.stderr

    @property
    def asked(self) -> str:
        """The range in words."""
        if self.low == -math.inf:
            return f"at most {self.high:g}".replace("-", "−")
        if self.high == math.inf:
            return f"at least {self.low:g}"
        return f"{self.low:g} to {self.high:g}"

    def record(self) -> dict[str, Any]:
        """Plain values; JSON has neither infinity nor not-a-number."""
        at, value, stderr = self.measured.at, self.measured.value, self.measured.stderr
        numbers = {"at": at, "value": value, "stderr": stderr, "low": self.low, "high": self.high}
        finite = {name: number if math.isfinite(number) else None for name, number in numbers.items()}
        return {"what": self.what, "axis": self.axis, **finite, "met": self.met, "clear": self.clear}


@dataclass(frozen=True)
class Finding:
    """A claim, what was measured and the verdict."""

    id: str
    panel: str
    says: str
    checks: tuple[Check, ...]
    trials: int
    """Of the point that has the fewest."""

    @property
    def verdict(self) -> Verdict:
        """All checks met, some, or none; or that so few trials cannot tell."""
        if self.trials < FEWEST_TRIALS:
            return Verdict.UNKNOWN
        met = sum(check.met for check in self.checks)
        if met == len(self.checks):
            return Verdict.HOLDS
        return Verdict.PARTLY if met else Verdict.FAILS

    @property
    def lines(self) -> list[str]:
        """What was measured, a line a quantity."""
        groups = groupby(self.checks, key=lambda check: (check.what, check.asked))
        return [_describe(list(group)) for _, group in groups]

    def record(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "id": self.id,
            "panel": self.panel,
            "says": self.says,
            "trials": self.trials,
            "verdict": str(self.verdict),
            "checks": [check.record() for check in self.checks],
        }


def within(
    what: str, axis: str, measured: Iterable[Measured], *, low: float = -math.inf, high: float = math.inf
) -> list[Check]:
    """A check of the same range at every place."""
    return [Check(what, axis, number, low, high) for number in measured]


def crossover(ratios: Sequence[Measured]) -> Measured:
    """Where a ratio first crosses 1, log-linear between neighbours; not a number if it never does.

    The error is that of the two neighbours' ratios; that of interpolating is not in it.
    """
    for left, right in pairwise(ratios):
        one, other = math.log(left.value), math.log(right.value)
        if one * other <= 0.0 and one != other:
            step = right.at - left.at
            spread = (
                math.hypot(other * left.stderr / left.value, one * right.stderr / right.value)
                / (one - other) ** 2
            )
            place = left.at + step * one / (one - other)
            return Measured(place, place, step * spread)
    return Measured(math.nan, math.nan, math.nan)


def _describe(checks: list[Check]) -> str:
    first = checks[0]
    unclear = sum(not check.clear for check in checks)
    doubt = "" if not unclear else ", within 2 s.e. of the limit"
    if len(checks) == 1:
        place = "" if first.axis == "" else f" at {first.axis} = {first.measured.at:g}"
        return f"{first.what}{place}: {number(first.measured)}; claimed {first.asked}{doubt}"
    least = min(checks, key=lambda check: check.measured.value)
    most = max(checks, key=lambda check: check.measured.value)
    met = sum(check.met for check in checks)
    doubt = "" if not unclear else f" ({unclear} within 2 s.e. of the limit)"
    return (
        f"{first.what}: from {number(least.measured)} ({first.axis} = {least.measured.at:g}) to "
        f"{number(most.measured)} ({first.axis} = {most.measured.at:g}); "
        f"claimed {first.asked}, met at {met} of {len(checks)}{doubt}"
    )


def number(measured: Measured) -> str:
    """A number with its standard error, both to the error's second digit."""
    if not math.isfinite(measured.value):
        return "none"
    if not (math.isfinite(measured.stderr) and measured.stderr > 0.0):
        return f"{measured.value:.4g}"
    digits = max(0, 1 - math.floor(math.log10(measured.stderr)))
    # A minus sign, not a hyphen.
    return f"{measured.value:.{digits}f} ± {measured.stderr:.{digits}f}".replace("-", "−")
