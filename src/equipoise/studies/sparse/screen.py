"""The price of L, the outcomes an arm that features are chosen from: too few miss some, too many cost."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from equipoise.core.policies.sparse_trace_ucb import SparseTraceUCB
from equipoise.studies.losses import Measured, Point
from equipoise.studies.runner import Runner, scaled
from equipoise.studies.sparse.study import (
    EQUAL,
    FEATURES,
    UNITS,
    TextTable,
    affordable,
    plain,
    share_of,
    sparse_scenario,
)
from equipoise.studies.verdicts import Check, Finding, number

ORACLE = "sparse-oracle"
REUSE = {False: "reuse=false", True: "reuse=true"}
# "Close" in the paper's claims.
_CLOSE = 1.10
# Seconds a trial and a policy at n = 3,000, for the time left.
_SECONDS = 0.05

Powers = list[tuple[str, float]]


@dataclass(frozen=True)
class ScreenResult:
    """Every L at every budget, beside the sparse oracle on the same trials."""

    dim: int
    features: int
    points: Mapping[int, Point]  # by budget
    screens: Mapping[int, tuple[int, ...]]
    default: Mapping[int, int]  # L where nobody says
    name: str = "sparse-screen"
    arms: int = len(EQUAL)

    @property
    def policies(self) -> tuple[str, ...]:
        """Policies that were run."""
        names = [p for point in self.points.values() for p in point.losses["expected_max"].values]
        return tuple(dict.fromkeys(names))

    @property
    def trials(self) -> dict[str, int]:
        """Trials a point."""
        return {self.name: next(iter(self.points.values())).trials}

    def prices(self, budget: int, reuse: bool) -> list[Measured]:
        """Largest mean error over the sparse oracle's, along L."""
        losses = self.points[budget].losses["expected_max"]
        return [
            Measured(screen, *losses.ratio(_policy(screen, reuse), ORACLE)) for screen in self.screens[budget]
        ]

    def shares(self, budget: int, reuse: bool) -> list[Measured]:
        """Share of trials in which the support was found exactly, along L."""
        point = self.points[budget]
        return [
            share_of(point.exact[_policy(screen, reuse)] * point.trials, point.trials, at=screen)
            for screen in self.screens[budget]
        ]

    def best(self, budget: int, reuse: bool) -> int:
        """The L with the smallest price."""
        return int(min(self.prices(budget, reuse), key=lambda price: price.value).at)

    def relative(self, budget: int, reuse: bool, screen: float) -> Measured:
        """Price of some L over that of the best, log-linear between neighbours; no number beyond them."""
        powers = self._powers(budget, reuse, screen)
        if powers is None:
            return Measured(screen, math.nan, math.nan)
        best = _policy(self.best(budget, reuse), reuse)
        return Measured(screen, *self.points[budget].losses["expected_max"].product([*powers, (best, -1.0)]))

    def findings(self) -> tuple[Finding, ...]:
        """Whether the default can be left alone."""
        checks = [
            Check(f"default L over the best, n = {n:,}, {words}", "", self._default(n, reuse), high=_CLOSE)
            for n in self.points
            for reuse, words in REUSE.items()
        ]
        says = "The default L costs at most 10 % more than the best one."
        return (
            Finding(
                "l1", self.name, says, tuple(checks), min(point.trials for point in self.points.values())
            ),
        )

    def explanation(self) -> list[str]:
        """The best L, and what others cost."""
        lines = []
        for n in self.points:
            for reuse, words in REUSE.items():
                best = self.best(n, reuse)
                price = next(price for price in self.prices(n, reuse) if price.at == best)
                half, twice = (self.relative(n, reuse, factor * best) for factor in (0.5, 2.0))
                lines.append(
                    f"n = {n:,}, {words}: the best L is {best}, {number(price)} times the sparse oracle's "
                    f"largest mean error. Half of it ({half.at:g}) costs {number(half)} times as much, twice "
                    f"of it ({twice.at:g}) {number(twice)}, the default ({self.default[n]}) "
                    f"{number(self._default(n, reuse))}."
                )
        return [*lines, "The best is picked from the same trials, so prices over it are a little too high."]

    def tables(self) -> list[TextTable]:
        """Prices and shares."""
        columns = [(n, reuse) for n in self.points for reuse in REUSE]
        rows = []
        for screen in sorted({screen for screens in self.screens.values() for screen in screens}):
            cells = []
            for n, reuse in columns:
                found = zip(self.prices(n, reuse), self.shares(n, reuse), strict=True)
                here = [
                    f"{number(price)} ({share.value:.2g})" for price, share in found if price.at == screen
                ]
                cells.append(here[0] if here else "–")
            rows.append((f"{screen}", *cells))
        return [
            TextTable(
                "Largest mean error over the sparse oracle's, and in brackets the share of trials in which "
                "the support was found exactly, by L",
                ("L", *(f"n = {n:,}, {REUSE[reuse]}" for n, reuse in columns)),
                tuple(rows),
            )
        ]

    def record(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "dim": self.dim,
            "features": self.features,
            "noise": list(EQUAL),
            "units": f"ratio of errors in {UNITS}; L in outcomes an arm",
            "budgets": {
                str(n): {
                    "default": self.default[n],
                    "oracle": plain(Measured(n, *self.points[n].losses["expected_max"].estimate(ORACLE))),
                    **{words: self._record_of(n, reuse) for reuse, words in REUSE.items()},
                }
                for n in self.points
            },
        }

    def _record_of(self, budget: int, reuse: bool) -> dict[str, Any]:
        best = self.best(budget, reuse)
        return {
            "prices": [{"L": price.at, **plain(price)} for price in self.prices(budget, reuse)],
            "exact": [{"L": share.at, **plain(share)} for share in self.shares(budget, reuse)],
            "best": best,
            "half of it": plain(self.relative(budget, reuse, best / 2)),
            "twice of it": plain(self.relative(budget, reuse, best * 2)),
            "default": plain(self._default(budget, reuse)),
        }

    def _default(self, budget: int, reuse: bool) -> Measured:
        return self.relative(budget, reuse, self.default[budget])

    def _powers(self, budget: int, reuse: bool, screen: float) -> Powers | None:
        """The policy of an L; between two of the grid, both."""
        screens = self.screens[budget]
        if screen in screens:
            return [(_policy(int(screen), reuse), 1.0)]
        for low, high in pairwise(screens):
            if low < screen < high:
                share = math.log(screen / low) / math.log(high / low)
                return [(_policy(low, reuse), 1.0 - share), (_policy(high, reuse), share)]
        return None


@dataclass(frozen=True)
class ScreenStudy:
    """Which L are tried, as far as a budget allows."""

    dim: int = 500
    features: int = FEATURES
    budgets: tuple[int, ...] = (3_000, 1_500)
    screens: tuple[int, ...] = (10, 12, 15, 20, 30, 40, 60, 90, 120, 160, 200)
    trials: int = 200

    def work(self, scale: float) -> float:
        """Seconds on one core, roughly."""
        return sum(self._point_work(n, scale) for n in self.budgets)

    def measure(self, runner: Runner, scale: float) -> ScreenResult:
        """Run every L at every budget."""
        points, screens, default = {}, {}, {}
        for n in self.budgets:
            scenario = sparse_scenario(EQUAL, self.dim, n, self.features)
            every = [_policy(screen, reuse) for screen in self.screens for reuse in REUSE]
            paid = affordable(every, scenario)
            screens[n] = tuple(s for s in self.screens if all(_policy(s, reuse) in paid for reuse in REUSE))
            default[n] = SparseTraceUCB(shared=True).screening(scenario.problem())
            points[n] = runner.point(
                scenario,
                [ORACLE, *(_policy(screen, reuse) for screen in screens[n] for reuse in REUSE)],
                scaled(self.trials, scale),
                name="sparse-screen",
                work=self._point_work(n, scale),
            )
        return ScreenResult(self.dim, self.features, points, screens, default)

    def _point_work(self, budget: int, scale: float) -> float:
        return scaled(self.trials, scale) * 2.0 * len(self.screens) * _SECONDS * budget / 3_000


def _policy(screen: int, reuse: bool) -> str:
    return f"sparse-trace-ucb:screen={screen}:shared=true" + (":reuse=true" if reuse else "")
