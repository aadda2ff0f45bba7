"""How many outcomes an arm it takes to find the support: the first stage of Algorithm 2 alone.

Theory says that outcomes an arm matter as L over a multiple of log d: shares of exact recovery at several d
would fall on one curve when they are drawn against θ = L/(s·log d).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from equipoise.studies.losses import Measured
from equipoise.studies.runner import Runner, scaled
from equipoise.studies.sparse.exact_recovery import CURVES, count_exact
from equipoise.studies.sparse.study import EQUAL, FEATURES, TextTable, plain, share_of, sparse_scenario
from equipoise.studies.verdicts import Check, Finding, number

# "On one curve" means what "close" means in the paper's claims.
_CLOSE = 0.1


@dataclass(frozen=True)
class SupportPoint:
    """Trials in which the support was found exactly, by curve."""

    dim: int
    pulls: int
    trials: int
    exact: dict[str, int]


@dataclass(frozen=True)
class SupportResult:
    """Shares of exact recovery by d, L and what is known."""

    features: int
    arms: int
    points: tuple[SupportPoint, ...]
    name: str = "support"
    policies: tuple[str, ...] = ()

    @property
    def trials(self) -> dict[str, int]:
        """Trials a point."""
        return {self.name: self.points[0].trials}

    @property
    def dims(self) -> list[int]:
        """Every d."""
        return list(dict.fromkeys(point.dim for point in self.points))

    def theta(self, point: SupportPoint) -> float:
        """θ = L/(s·log d)."""
        return point.pulls / (self.features * math.log(point.dim))

    def shares(self, curve: str, dim: int) -> list[Measured]:
        """Share of exact recovery along θ."""
        return [
            share_of(point.exact[curve], point.trials, at=self.theta(point))
            for point in self.points
            if point.dim == dim
        ]

    def crossing(self, curve: str, dim: int) -> Measured:
        """θ at which the share crosses one half."""
        return crossing_of_half(self.shares(curve, dim))

    def line(self, curve: str) -> tuple[Measured, Measured]:
        """Offset and slope of L at one half against log d, by weighted least squares."""
        scales = [self.features * math.log(dim) for dim in self.dims]
        found = [self.crossing(curve, dim) for dim in self.dims]
        half = np.array([theta.value * scale for theta, scale in zip(found, scales, strict=True)])
        stderr = np.array([theta.stderr * scale for theta, scale in zip(found, scales, strict=True)])
        if len(half) < 2 or not np.all(np.isfinite(half) & (stderr > 0.0)):
            return (Measured(math.nan, math.nan, math.nan),) * 2
        design = np.stack([np.ones(len(half)), np.log(self.dims)], axis=1)
        covariance = np.linalg.inv(design.T @ (design / stderr[:, None] ** 2))
        offset, slope = covariance @ design.T @ (half / stderr**2)
        errors = np.sqrt(np.diag(covariance))
        return Measured(0.0, float(offset), float(errors[0])), Measured(0.0, float(slope), float(errors[1]))

    def findings(self) -> tuple[Finding, ...]:
        """One curve for every d, or not."""
        return tuple(
            Finding(
                f"s{place}",
                self.name,
                f"Support, {words}: shares of exact recovery at all d fall on one curve in θ = L/(s·log d).",
                tuple(self._checks(curve)),
                min(point.trials for point in self.points),
            )
            for place, (curve, words) in enumerate(CURVES.items(), start=1)
        )

    def explanation(self) -> list[str]:
        """Where the curves cross one half, and what L follows instead."""
        lines = []
        for curve, words in CURVES.items():
            places = ", ".join(f"{number(self.crossing(curve, dim))} (d = {dim})" for dim in self.dims)
            offset, slope = self.line(curve)
            lines.append(
                f"{words}: the share crosses ½ at θ = {places}. In L that is about {number(offset)} + "
                f"({number(slope)})·log d."
            )
        theory = 2.0 * self.features / self.arms
        lines.append(
            "Wang et al.'s theorem asks for L > 2ψ·log(d − s), at best with ψ = s/m: a slope of "
            f"{theory:g} and no offset. Least squares of s features needs s + 2 outcomes of every arm, "
            "whatever d is, and an offset makes θ at one half fall as d grows."
        )
        return lines

    def tables(self) -> list[TextTable]:
        """Crossings, and all shares."""
        pulls = sorted({point.pulls for point in self.points})
        kinds = [(curve, dim) for curve in CURVES for dim in self.dims]
        at = {(point.dim, point.pulls): point for point in self.points}
        crossings = tuple(
            (words, *(number(self.crossing(curve, dim)) for dim in self.dims))
            for curve, words in CURVES.items()
        )
        shares = tuple(
            (f"{p}", *(f"{at[dim, p].exact[curve] / at[dim, p].trials:.3g}" for curve, dim in kinds))
            for p in pulls
        )
        return [
            TextTable(
                "θ = L/(s·log d) at which the support is found exactly in half of the trials",
                ("", *(f"d = {dim}" for dim in self.dims)),
                crossings,
            ),
            TextTable(
                f"Share of {self.points[0].trials:,} trials in which the support was found exactly, by L",
                ("L", *(f"{CURVES[curve]}, d = {dim}" for curve, dim in kinds)),
                shares,
            ),
        ]

    def record(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "features": self.features,
            "arms": self.arms,
            "units": "share of trials; L in outcomes an arm; θ = L/(s·log d)",
            "curves": dict(CURVES),
            "points": [{**asdict(point), "theta": self.theta(point)} for point in self.points],
            "crossings": {
                curve: {str(dim): plain(self.crossing(curve, dim)) for dim in self.dims} for curve in CURVES
            },
            "lines": {
                curve: dict(zip(("offset", "slope"), map(plain, self.line(curve)), strict=True))
                for curve in CURVES
            },
        }

    def _checks(self, curve: str) -> list[Check]:
        first, *others = self.dims
        base = self.crossing(curve, first)
        checks = []
        for dim in others:
            found = self.crossing(curve, dim)
            ratio = found.value / base.value
            stderr = ratio * math.hypot(found.stderr / found.value, base.stderr / base.value)
            what = f"θ at one half over that at d = {first}"
            checks.append(Check(what, "d", Measured(dim, ratio, stderr), 1.0 - _CLOSE, 1.0 + _CLOSE))
        return checks


@dataclass(frozen=True)
class SupportStudy:
    """Which d and L are tried."""

    dims: tuple[int, ...] = (100, 300, 1_000)
    pulls: tuple[int, ...] = (10, 11, 12, 13, 14, 15, 16, 18, 20, 22, 25, 28, 32, 36, 40, 45)
    noise: tuple[float, ...] = EQUAL
    features: int = FEATURES
    trials: int = 200

    def work(self, scale: float) -> float:
        """Seconds on one core, roughly."""
        return sum(self._point_work(dim, pulls, scale) for dim in self.dims for pulls in self.pulls)

    def measure(self, runner: Runner, scale: float) -> SupportResult:
        """Recover supports at every d and L."""
        points = [self._point(runner, dim, pulls, scale) for dim in self.dims for pulls in self.pulls]
        return SupportResult(self.features, len(self.noise), tuple(points))

    def _point_work(self, dim: int, pulls: int, scale: float) -> float:
        return scaled(self.trials, scale) * 3.0 * (1e-3 + 1e-5 * dim**0.5 * pulls**1.3)

    def _point(self, runner: Runner, dim: int, pulls: int, scale: float) -> SupportPoint:
        trials = scaled(self.trials, scale)
        scenario = sparse_scenario(self.noise, dim, len(self.noise) * pulls, self.features)
        identity = {**runner.identity("support", scenario, [], trials), "curves": list(CURVES)}

        def measure() -> dict[str, Any]:
            return asdict(SupportPoint(dim, pulls, trials, count_exact(scenario, trials, runner)))

        work = self._point_work(dim, pulls, scale)
        record = runner.kept(identity, measure, label=f"support: d = {dim}, L = {pulls}", work=work)
        return SupportPoint(**record)


def crossing_of_half(shares: Sequence[Measured]) -> Measured:
    """Where a share first rises to one half, linear between neighbours; not a number if it never does.

    The error is that of the two neighbours' shares; that of interpolating is not in it.
    """
    for left, right in pairwise(shares):
        if left.value < 0.5 <= right.value:
            step, rise = right.at - left.at, right.value - left.value
            place = left.at + step * (0.5 - left.value) / rise
            spread = math.hypot((right.value - 0.5) * left.stderr, (0.5 - left.value) * right.stderr)
            return Measured(place, place, step * spread / rise**2)
    return Measured(math.nan, math.nan, math.nan)
