"""Naive results beside adjusted ones: what plain means and t intervals would have said."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from equipoise.core.arrays import Vector
from equipoise.core.diagnosis.weighted import WeightedEstimates
from equipoise.core.estimates.arm_estimate import ArmEstimate
from equipoise.core.estimates.estimates import Estimates
from equipoise.core.estimates.inference.combinations import combined, less
from equipoise.core.estimates.intervals import t_quantile
from equipoise.report.document import Block, Table, Text
from equipoise.report.experiment_models import MOST_ARMS, further
from equipoise.report.numbers import with_interval


@dataclass(frozen=True)
class Normal:
    """A value, the variance of its error, and the degrees of freedom of that."""

    value: float
    variance: float
    dof: float

    def less(self, other: Normal) -> Normal:
        """The difference, with Welch's degrees of freedom (1947)."""
        variance = self.variance + other.variance
        if self.dof <= 0.0 or other.dof <= 0.0:
            return Normal(self.value - other.value, variance, 0.0)
        if not variance > 0.0:
            return Normal(self.value - other.value, variance, min(self.dof, other.dof))
        spread = self.variance**2 / self.dof + other.variance**2 / other.dof
        return Normal(self.value - other.value, variance, variance**2 / spread)

    def written(self, confidence: float) -> str:
        """The value above its interval."""
        if not math.isfinite(self.value):
            return "–"
        half = float(t_quantile(confidence, self.dof)) * math.sqrt(self.variance)
        return "\n".join(with_interval(self.value, self.value - half, self.value + half))


Outcomes = Callable[[str], Vector]


def naive_blocks(
    estimates: Estimates,
    outcomes: Outcomes,
    fits: WeightedEstimates | None,
    *,
    drawn: bool = False,
    corrected: bool = True,
) -> list[Block]:
    """Expected outcomes of the average unit, and how much arms differ from the first, by four methods.

    ``drawn`` tells whether lots were drawn, ``corrected`` whether the policy is at hand to correct intervals.
    """
    average = estimates.average
    if average is None or not any(arm.observed for arm in estimates):
        return [Text("There are no outcomes yet.")]
    confidence = estimates[0].confidence
    arms = estimates[:MOST_ARMS]
    raw = [_mean(outcomes(arm.arm)) for arm in arms]
    plain = [_plain(arm, average) for arm in arms]
    weighted = None if fits is None else [_weighted(fits, arm.arm, average) for arm in arms]
    columns = ["arm", "plain mean", "least squares, plain t", "corrected"]
    columns += [] if weighted is None else ["by propensities"]
    rows, gaps = [], []
    for k, arm in enumerate(arms):
        own = combined(arm, average[None])
        half = float(own.spread.half(confidence)[0])
        value = float(own.values[0])
        row = [arm.arm, raw[k].written(confidence), plain[k].written(confidence), _corrected(value, half)]
        row += [] if weighted is None else [weighted[k].written(confidence)]
        rows.append(row)
        if k:
            gap = less(own, combined(arms[0], average[None]))
            half = float(gap.spread.half(confidence)[0])
            row = [
                f"{arm.arm} − {arms[0].arm}",
                raw[k].less(raw[0]).written(confidence),
                plain[k].less(plain[0]).written(confidence),
                _corrected(float(gap.values[0]), half),
            ]
            row += (
                []
                if fits is None
                else [_weighted_gap(fits, arm.arm, arms[0].arm, average).written(confidence)]
            )
            gaps.append(row)
    widest = max((arm.inflation for arm in arms), default=1.0)
    text = (
        "The plain mean is that of an arm's outcomes, whoever it got. Least squares and the rest are for the "
        "average of all units: once with the usual t interval, which takes the allocation as fixed; once "
        "corrected for what adaptive allocation does to the noise estimate"
    )
    text += (
        f" (σ̂² is multiplied by up to {widest:.3g} here)."
        if corrected
        else ", which could not be done here, since the policy is not at hand."
    )
    if estimates.redacted:
        missing = "plain means" if fits is None else "plain means and in those by propensities"
        text += f" Redacted outcomes are missing in {missing}."
    if fits is None:
        why = (
            "Lots were drawn, but no unit with an outcome could have gone to every arm"
            if drawn
            else "Nothing was drawn by lot"
        )
        text += f" {why}, so nothing can be weighted: all but plain means rest on the model."
    else:
        text += (
            " Those by propensities are right whatever the truth, for units at which every arm was possible."
        )
    blocks: list[Block] = [
        Text(text + further(len(estimates) - len(arms), "arm")),
        Table(
            columns,
            rows,
            caption=f"Expected outcome of the average unit, with {100 * confidence:g} % intervals.",
        ),
    ]
    if gaps:
        blocks.append(Table(["difference", *columns[1:]], gaps, caption=f"Differences from {arms[0].arm}."))
    return blocks


def _corrected(value: float, half: float) -> str:
    if not math.isfinite(value):
        return "–"
    return "\n".join(with_interval(value, value - half, value + half))


def _mean(outcomes: Vector) -> Normal:
    count = len(outcomes)
    if count < 2:
        return Normal(float(outcomes.mean()) if count else math.nan, 0.0, 0.0)
    return Normal(float(outcomes.mean()), float(outcomes.var(ddof=1)) / count, count - 1.0)


def _plain(arm: ArmEstimate, at: Vector) -> Normal:
    if arm.least_squares is None or arm.inverse_root is None or not arm.noise_known:
        return Normal(math.nan, 0.0, 0.0)
    along = at @ arm.inverse_root
    return Normal(float(at @ arm.least_squares), arm.residual_variance * float(along @ along), float(arm.dof))


def _weighted(fits: WeightedEstimates, arm: str, at: Vector) -> Normal:
    fit = fits[arm]
    variance, used = float(at @ fit.covariance @ at), at != 0.0
    if not math.isfinite(variance) or not np.all(np.isfinite(fit.coef)):
        return Normal(math.nan, 0.0, 0.0)
    # Of the coefficients that enter, the one whose error is known least: on the safe side.
    return Normal(float(at @ fit.coef), max(variance, 0.0), float(np.min(fit.dof[used], initial=np.inf)))


def _weighted_gap(fits: WeightedEstimates, arm: str, other: str, at: Vector) -> Normal:
    one, two = _weighted(fits, arm, at), _weighted(fits, other, at)
    found = one.less(two)
    if not math.isfinite(found.value):
        return found
    # Both arms' averages run over the same units, so their errors go together.
    gap = (fits[arm].influence - fits[other].influence) @ at
    return Normal(found.value, float(gap @ gap), found.dof)
