"""What it gains to find the features first: largest mean error against the budget, beside lasso fits."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from equipoise.lab.results.words import loss_words
from equipoise.studies.losses import Measured, Point
from equipoise.studies.runner import Runner, scaled
from equipoise.studies.sparse.study import (
    EQUAL,
    FEATURES,
    UNEQUAL,
    UNITS,
    TextTable,
    affordable,
    plain,
    share_of,
    sparse_scenario,
)
from equipoise.studies.verdicts import Check, Finding, number

# Algorithm 2 as printed: arms share their features.
OURS = (
    "sparse-trace-ucb:shared=true",
    "sparse-trace-ucb:shared=true:reuse=true",
    "sparse-trace-ucb:shared=true:reuse=true:look=true",
)
ORACLE = "sparse-oracle"
LASSO = "uniform-lasso"
_FAST = (*OURS, ORACLE)
# A lasso with its cross-validation takes a hundred times as long, so these get fewer trials.
_SLOW = (LASSO, "uniform-lasso:joint=true", "uniform-lasso:joint=true:refit=true", "static-lasso")
POLICIES = (*_FAST, *_SLOW)
LOSSES = ("expected_max", "median_max")
# Seconds a trial at n = 3,000, for the time left.
_FAST_SECONDS, _SLOW_SECONDS = 0.12, 3.8


@dataclass(frozen=True)
class BudgetResult:
    """All policies at all budgets, by noise."""

    dim: int
    features: int
    noise: Mapping[str, tuple[float, ...]]
    points: Mapping[str, tuple[Point, ...]]  # by noise; policies with other numbers of trials apart
    asked_at: int
    trials: dict[str, int]
    name: str = "sparse-budget"
    policies: tuple[str, ...] = POLICIES
    arms: int = len(EQUAL)

    def curve(self, noise: str, policy: str, loss: str = "expected_max") -> list[Measured]:
        """A loss along the budgets that the policy did not refuse."""
        return [
            Measured(point.budget, *point.losses[loss].estimate(policy))
            for point in self.points[noise]
            if policy in point.losses[loss].values
        ]

    def ratio(self, noise: str, policy: str, reference: str) -> Measured:
        """Largest mean errors at the budget that was asked for, over another policy's.

        Paired where both have the same trials; else the correlation is left out of the error.
        """
        for point in self.points[noise]:
            losses = point.losses["expected_max"]
            if point.budget == self.asked_at and policy in losses.values and reference in losses.values:
                return Measured(self.asked_at, *losses.ratio(policy, reference))
        above, below = self._at(noise, policy), self._at(noise, reference)
        ratio = above.value / below.value
        stderr = ratio * math.hypot(above.stderr / above.value, below.stderr / below.value)
        return Measured(self.asked_at, ratio, stderr)

    def findings(self) -> tuple[Finding, ...]:
        """What is asked at one budget, with equal noise."""
        limits = (
            ("n1", LASSO, 0.5, "is below half of that of one lasso an arm"),
            ("n2", ORACLE, 1.5, "is within 1.5 times the sparse oracle's"),
        )
        return tuple(
            Finding(
                name,
                self.name,
                f"Equal noise, n = {self.asked_at:,}: the largest mean error of Sparse-Trace-UCB {words}.",
                tuple(
                    Check(f"{policy} / {other}", "", self.ratio("equal", policy, other), high=limit)
                    for policy in OURS
                ),
                min(point.trials for point in self.points["equal"]),
            )
            for name, other, limit, words in limits
        )

    def explanation(self) -> list[str]:
        """All policies against the oracle, where it was asked for."""
        return [
            f"{noise} noise, n = {self.asked_at:,}, largest mean error over the sparse oracle's: "
            + ", ".join(
                f"{policy} {number(self.ratio(noise, policy, ORACLE))}"
                for policy in self.policies
                if policy != ORACLE
            )
            + "."
            for noise in self.noise
        ]

    def tables(self) -> list[TextTable]:
        """Both losses, and how often the support was found."""
        return [self._table(noise, loss) for noise in self.noise for loss in LOSSES] + [
            self._support_table(noise) for noise in self.noise
        ]

    def record(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "dim": self.dim,
            "features": self.features,
            "noise": {name: list(values) for name, values in self.noise.items()},
            "units": UNITS,
            "trials": {
                policy: point.trials
                for points in self.points.values()
                for point in points
                for policy in point.losses["expected_max"].values
            },
            "curves": {
                noise: {
                    loss: {
                        policy: [{"n": m.at, **plain(m)} for m in self.curve(noise, policy, loss)]
                        for policy in self.policies
                    }
                    for loss in LOSSES
                }
                for noise in self.noise
            },
            "exact": {
                noise: [{"n": point.budget, **point.exact} for point in points if point.exact]
                for noise, points in self.points.items()
            },
        }

    def _at(self, noise: str, policy: str) -> Measured:
        found = [m for m in self.curve(noise, policy) if m.at == self.asked_at]
        return found[0] if found else Measured(self.asked_at, math.nan, math.nan)

    def _table(self, noise: str, loss: str) -> TextTable:
        cells = {
            (policy, m.at): number(m) for policy in self.policies for m in self.curve(noise, policy, loss)
        }
        budgets = sorted({point.budget for point in self.points[noise]})
        return TextTable(
            f"{loss_words(loss).capitalize()}, {noise} noise",
            ("n", *(f"`{policy}`" for policy in self.policies)),
            tuple((f"{n:,}", *(cells.get((policy, n), "–") for policy in self.policies)) for n in budgets),
        )

    def _support_table(self, noise: str) -> TextTable:
        rows = tuple(
            (
                f"{point.budget:,}",
                *(
                    number(share_of(point.exact[policy] * point.trials, point.trials, at=point.budget))
                    if policy in point.exact
                    else "–"
                    for policy in OURS
                ),
            )
            for point in self.points[noise]
            if point.exact
        )
        columns = ("n", *(f"`{policy}`" for policy in OURS))
        return TextTable(
            f"Share of trials in which the support was found exactly, {noise} noise", columns, rows
        )


@dataclass(frozen=True)
class BudgetStudy:
    """Which budgets are tried, and with which noise."""

    dim: int = 500
    features: int = FEATURES
    budgets: tuple[int, ...] = (600, 800, 1_000, 1_500, 2_000, 3_000, 4_000, 5_000)
    asked_at: int = 3_000
    trials: int = 200
    slow_trials: int = 30

    def work(self, scale: float) -> float:
        """Seconds on one core, roughly."""
        return 2.0 * sum(work for n in self.budgets for _, _, work in self._groups(n, scale))

    def measure(self, runner: Runner, scale: float) -> BudgetResult:
        """Run every policy at every budget that it does not refuse."""
        noise = {"equal": EQUAL, "unequal": UNEQUAL}
        points: dict[str, list[Point]] = {name: [] for name in noise}
        for name, values in noise.items():
            for n in self.budgets:
                scenario = sparse_scenario(values, self.dim, n, self.features)
                for group, trials, work in self._groups(n, scale):
                    label = f"sparse-budget, {name} noise"
                    policies = affordable(group, scenario)
                    if policies:
                        points[name].append(runner.point(scenario, policies, trials, name=label, work=work))
                    else:
                        runner.meter.finish(label, work)
        return BudgetResult(
            dim=self.dim,
            features=self.features,
            noise=noise,
            points={name: tuple(found) for name, found in points.items()},
            asked_at=self.asked_at,
            trials={
                "sparse-budget": scaled(self.trials, scale),
                "sparse-budget, lasso": scaled(self.slow_trials, scale),
            },
        )

    def _groups(self, n: int, scale: float) -> list[tuple[tuple[str, ...], int, float]]:
        """Policies with their number of trials, and the work."""
        fast, slow = scaled(self.trials, scale), scaled(self.slow_trials, scale)
        return [
            (_FAST, fast, fast * _FAST_SECONDS * n / 3_000),
            (_SLOW, slow, slow * _SLOW_SECONDS * n / 3_000),
        ]
