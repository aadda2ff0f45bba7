"""Units saved: the budget with which uniform sampling reaches what a policy reached.

Uniform sampling is replayed at larger budgets (or smaller ones, if the policy was worse) until its loss
passes the policy's; in between, the logarithm of the loss is a straight line in that of the budget.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from equipoise.lab.results.estimate import Estimate, finite

# Neighbouring budgets of uniform's curve; a straight line bends little over so short a step.
_STEP = 1.2
# At least this share of the table is left to measure errors on.
_LEAST_LEFT = 0.1


@dataclass(frozen=True)
class UnitsSaved:
    """What a policy saved against uniform sampling, at one budget.

    ``uniform_budget`` is where uniform sampling reaches the policy's loss. If the table does not
    reach that far, its value is not a number and ``limit`` says how far it reached: at least
    (or, for a policy that was worse, at most) that many units.
    """

    loss: str
    budget: int
    uniform_budget: Estimate
    limit: int | None = None
    worse: bool = False
    """Whether uniform sampling was better at the same budget."""

    @property
    def saved(self) -> Estimate:
        """Units saved; below zero if the policy needed more than uniform sampling."""
        found = self.uniform_budget
        return Estimate(found.value - self.budget, found.stderr, found.trials)

    @property
    def interval(self) -> tuple[float, float]:
        """Two standard errors to each side of the units saved."""
        value, stderr = self.saved.value, self.saved.stderr
        return value - 2.0 * stderr, value + 2.0 * stderr

    def __str__(self) -> str:
        if self.limit is None:
            value, stderr = self.saved.value, self.saved.stderr
            error = f" ± {stderr:.0f}" if math.isfinite(stderr) else ""
            return f"{value:.0f}{error}".replace("-", "−")
        if self.worse:
            return f"none: uniform needs fewer than {self.limit}"
        return f"more than {self.limit - self.budget}: the table is too small to tell"

    def record(self) -> dict[str, Any]:
        """Plain values."""
        low, high = self.interval
        return {
            "value": finite(self.saved.value),
            "stderr": finite(self.saved.stderr),
            "interval": [finite(low), finite(high)],
            "uniform_budget": finite(self.uniform_budget.value),
            "limit": self.limit,
            "loss": self.loss,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> UnitsSaved:
        """What ``dataclasses.asdict`` made plain."""
        return cls(**{**values, "uniform_budget": Estimate(**values["uniform_budget"])})


@dataclass
class UniformCurve:
    """Uniform sampling's loss by budget, replayed where it is needed and remembered."""

    replay: Callable[[int], Estimate]
    loss: str
    rows: int
    least: int  # m(d+2): with fewer units an arm the loss does not fall with the budget
    most: int | None = None  # the largest budget that can be replayed, if that is no matter of rows
    points: dict[int, Estimate] = field(default_factory=dict)

    def at(self, budget: int) -> Estimate:
        """Loss at a budget."""
        if budget not in self.points:
            self.points[budget] = self.replay(budget)
        return self.points[budget]

    def saved(self, budget: int, reached: Estimate) -> UnitsSaved:
        """What a policy saved that reached a loss with ``budget`` units."""
        most = math.floor((1.0 - _LEAST_LEFT) * self.rows)
        most = max(budget, most if self.most is None else min(most, self.most))
        if reached.value == self.at(budget).value:
            return UnitsSaved(self.loss, budget, Estimate(budget, 0.0, reached.trials))
        here, worse = budget, reached.value > self.at(budget).value
        while True:
            further = math.floor(here / _STEP) if worse else math.ceil(here * _STEP)
            there = min(max(further, self.least), most)
            if there == here:
                unknown = Estimate(math.nan, math.nan, reached.trials)
                return UnitsSaved(self.loss, budget, unknown, here, worse)
            value = self.at(there).value
            if value >= reached.value if worse else value <= reached.value:
                return UnitsSaved(self.loss, budget, self._between(here, there, reached), None, worse)
            here = there

    def _between(self, one: int, other: int, reached: Estimate) -> Estimate:
        a, b = self.at(one), self.at(other)
        if min(a.value, b.value, reached.value) <= 0.0:  # targets that contexts predict exactly
            return Estimate(other, math.nan, reached.trials)
        fall = math.log(a.value / b.value)  # never 0: the policy's loss lies between the two
        share = math.log(a.value / reached.value) / fall
        reach = math.log(other / one)
        # Losses of the three are taken as independent. They share rows, so that is on the safe side.
        spread = math.sqrt(
            ((1.0 - share) * a.stderr / a.value) ** 2
            + (share * b.stderr / b.value) ** 2
            + (reached.stderr / reached.value) ** 2
        )
        value = one * math.exp(share * reach)
        return Estimate(value, value * spread * abs(reach / fall), reached.trials)
