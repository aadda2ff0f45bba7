"""What has been learned: every arm's model, its intervals and its expected error."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from equipoise.core.arithmetic.sums import exact_sum
from equipoise.core.arms.baseline import kept_outcomes
from equipoise.core.arms.state import TOLD
from equipoise.core.arrays import Matrix, Vector
from equipoise.core.estimates.alike import alike_arms
from equipoise.core.estimates.arm_estimate import ArmEstimate
from equipoise.core.estimates.by_arm import ByArm
from equipoise.core.estimates.defaults import CLASSICAL
from equipoise.core.estimates.estimators import ESTIMATORS, RIDGE, check_estimator, new_workspace
from equipoise.core.estimates.inference.arm_table import arm_table
from equipoise.core.estimates.inference.families import (
    COLUMNS,
    coefficient_family,
    contrast_family,
    mean_family,
)
from equipoise.core.estimates.inference.places import AVERAGE
from equipoise.core.estimates.inference.quantities import Inference
from equipoise.core.estimates.intervals import check_confidence
from equipoise.core.estimates.ridge_fit import RidgeFit
from equipoise.core.estimates.robust import ROBUST, check_intervals, sandwich_of
from equipoise.core.estimates.selection import measure_selection, moment_optimism
from equipoise.core.problem.objective import combine
from equipoise.core.problem.problem import Problem
from equipoise.core.tables.tidy import TidyTable
from equipoise.core.theory.static import ideal_allocation, static_loss
from equipoise.errors import InvalidArgument

if TYPE_CHECKING:
    from equipoise.core.estimates.support import Support
    from equipoise.core.stages.stage import Stage


_REDACTED = "Redacted units: {}; models keep what they gave, balance and tests of fit are of the others."


class Estimates(ByArm[ArmEstimate]):
    """The arms' estimates: a sequence in the order of the problem, also indexed by name."""

    def __init__(
        self,
        problem: Problem,
        arms: Sequence[ArmEstimate],
        support: Support | None = None,
        complaint: str | None = None,
        imbalance: str | None = None,
        *,
        average: Vector | None = None,
        redacted: int = 0,
    ) -> None:
        super().__init__(arms)
        self.problem = problem
        self.average = average
        """Mean of the contexts of all units seen, withdrawn ones aside; None before the first."""
        self.redacted = redacted
        """Units whose data were removed: they count in the models, and not in tests of fit."""
        self.complaint = complaint
        """What speaks against the models: contexts out of balance where outcomes are not linear, outcomes
        that were all alike; or None."""
        self.imbalance = imbalance
        """Arms that got contexts unlike those of all units, in words; or None."""
        self.support = support
        """The features that were chosen, and what speaks for and against them; None if all are used."""

    @property
    def objective(self) -> float:
        """The problem's objective at the expected errors: the largest of them for "max".

        Each expected error is right on average over experiments, and so are "mean" and sums. The largest of
        several estimates is not: "max" lies above the largest of the arms' mean errors, up to about twice as
        high where arms are alike and units few, and hardly where one arm stands out or units are many (table
        on the page "Expected errors"). For one arm's error ask that arm; where no arm of this very experiment
        may be above a target, ask for the arms' ``error_bound``.
        """
        return combine([arm.expected_error for arm in self], self.problem.weights, self.problem.objective)

    @property
    def oracle_objective(self) -> float:
        """What least squares would expect after the best static allocation, at the estimated noise.

        With costs: of units that cost as much. Floors and caps do not bind it.
        Gaussian contexts are assumed, as in Prop. 1. Not a number while a noise variance is unknown.
        """
        noise = [arm.noise_variance for arm in self]
        problem = self.problem
        costs = problem.costs
        money = exact_sum(costs * [arm.count for arm in self])
        dim = problem.dim if self.support is None else max(map(len, self.support.own))
        if not np.all(np.isfinite(noise)) or money < exact_sum(costs) * (dim + 1):
            return math.nan
        ideal = ideal_allocation(
            noise=noise,
            dim=dim,
            budget=money,
            objective=problem.objective,
            weights=problem.weights,
            costs=costs,
        )
        return static_loss(noise, ideal, dim, problem.objective, problem.weights)

    @property
    def regret(self) -> float:
        """``objective`` minus ``oracle_objective``, eq. (9).

        Below zero when contexts fell well, or shrinking helped more than the allocation cost.
        """
        return self.objective - self.oracle_objective

    # What is written up

    def table(self) -> TidyTable:
        """Units, outcomes, noise and errors of every arm, one a row."""
        return arm_table(self, self._remarks())

    def coefficients(self, *arms: str, units: str = COLUMNS) -> Inference:
        """Coefficients of all arms, or of some: the estimate, and least squares with its intervals.

        Parameters
        ----------
        arms
            Names of arms; none: all of them. ``simultaneous`` intervals are of these arms together.
        units
            ``"columns"``, as the models see the features; ``"fields"``: with centre and scale undone.
        """
        return coefficient_family([self[arm] for arm in arms] or list(self), units)

    def means(self, at: Any = AVERAGE) -> Inference:
        """The expected outcome in every arm at contexts: those given, or the average of all units seen.

        Parameters
        ----------
        at
            ``"average"``; a record or vector; several, as a list, a matrix or a data frame; or
            contexts by name, ``{"young": {"age": 20}, "old": {"age": 80}}``.
        """
        return mean_family(list(self), at, self.average)

    def contrast(self, arm: str, other: str, *, at: Any = None, units: str = COLUMNS) -> Inference:
        """``arm`` less ``other``: every coefficient, or the expected outcome at contexts.

        Parameters
        ----------
        arm, other
            Names of two arms.
        at
            None: coefficients. Else contexts, as :meth:`means` takes them.
        units
            Of coefficients, as :meth:`coefficients` takes them.
        """
        return self._contrasts([(arm, other)], at, units)

    def contrasts(self, control: str | None = None, *, at: Any = None, units: str = COLUMNS) -> Inference:
        """Every arm less the ``control``; without one all pairs, the later arm less the earlier one.

        ``at`` and ``units`` are as in :meth:`contrast`. ``simultaneous`` intervals are of all rows together.
        """
        names = [arm.arm for arm in self]
        if control is not None and not isinstance(control, str):
            raise InvalidArgument(f"control={control!r} is not an arm's name", hint="name one arm")
        if control is None:
            pairs = [(later, earlier) for earlier, later in combinations(names, 2)]
        else:
            pairs = [(name, self[control].arm) for name in names if name != control]
        if not pairs:
            raise InvalidArgument("one arm has no other to be compared with", hint="ask for coefficients()")
        return self._contrasts(pairs, at, units)

    def _contrasts(self, pairs: Sequence[tuple[str, str]], at: Any, units: str) -> Inference:
        both = [(self[arm], self[other]) for arm, other in pairs]
        for arm, other in both:
            if arm is other:
                raise InvalidArgument(f"{arm.arm!r} is compared with itself", hint="name two arms")
        return contrast_family(both, at, self.average, units)

    # Showing it

    def records(self) -> list[dict[str, Any]]:
        """One plain dictionary an arm; ``table().to_pandas()`` makes a data frame.

        The complaint is that of all arms together.
        """
        return [{**record, "complaint": self.complaint} for record in super().records()]

    def __str__(self) -> str:
        return str(self.table())

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()

    def _remarks(self) -> list[str]:
        """What is said below the table."""
        said = [_REDACTED.format(self.redacted)] if self.redacted else []
        if self.complaint is not None:
            return [f"Warning: {self.complaint}.", *said]
        balance = [] if self.imbalance is None else [f"Balance: {self.imbalance}; harmless where lines fit."]
        return balance + said


def estimate_arms(
    stage: Stage, *, estimator: str, ridge: float | None, confidence: float, intervals: str = CLASSICAL
) -> list[ArmEstimate]:
    """Fit every arm of a settled stage, in the coordinates of its columns."""
    check_confidence(confidence)
    check_estimator(estimator, ridge)
    check_intervals(intervals)
    fitted = Fitted(stage, estimator, ridge)
    arms = [
        _arm_estimate(fitted, i, estimator=estimator, confidence=confidence)
        for i in range(len(stage.problem.arms))
    ]
    return (
        [_with_sandwich(stage, i, arm, fitted.root) for i, arm in enumerate(arms)]
        if intervals == ROBUST
        else arms
    )


class Fitted:
    """All arms of a settled stage as an estimator leaves them, with what is to be expected of them."""

    def __init__(self, stage: Stage, estimator: str, ridge: float | None) -> None:
        state, chosen = stage.state, ESTIMATORS[estimator]
        self.stage, self.root = stage, moment_root(stage)
        self.work = new_workspace(state, 1.0 / stage.problem.units if ridge is None else float(ridge))
        chosen.fit(state, self.work)
        if chosen.expect is not None:
            chosen.expect(state, self.work, self.root)
        self.selection = measure_selection(state, stage.score, stage.settings)
        self.optimism = moment_optimism(state)
        self.alike = alike_arms(state)
        """Arms whose outcomes say nothing about the noise."""
        self.biases: Vector = self.work.biases
        """Part of the expected errors that shrinking causes."""
        if estimator != RIDGE:
            # How far the data shrink an arm goes with its σ̂².
            self.biases = self.selection.error * self.biases

    def expected_errors(self) -> Vector:
        """E‖β̂ − β‖²_Σ of every arm, corrected for the selection; infinite where the noise is unknown."""
        noise: Vector = self.selection.error * self.optimism * self.work.noise_errors
        return np.where(self.alike, math.inf, noise + self.biases)


def _arm_estimate(fitted: Fitted, i: int, *, estimator: str, confidence: float) -> ArmEstimate:
    """One arm, from what its estimator has left in the workspace."""
    stage, work, selection = fitted.stage, fitted.work, fitted.selection
    arm, penalty = stage.state.arms[i], float(work.usual_ridge[0])
    fit = RidgeFit(stage.state, i, penalty)
    variance = float(arm["noise_variance"]) if arm["dof"] > 0 else math.nan
    factor = float(selection.error[i])
    trace = fitted.optimism * fit.least_squares_trace(fitted.root)
    alike = bool(fitted.alike[i])
    return ArmEstimate(
        arm=stage.problem.arms[i],
        coef=work.coefs[i].copy(),
        count=int(arm["count"]),
        observed=int(arm["observed"]),
        dof=int(arm["dof"]),
        noise_variance=math.nan if alike else float(selection.noise[i]) * variance,
        residual_variance=variance,
        inflation=float(selection.inflation[i]),
        confidence=confidence,
        expected_error=float(fitted.expected_errors()[i]),
        error_factor=factor,
        bias=float(fitted.biases[i]),
        least_squares_error=factor * variance * trace if fit.ready and not alike else math.inf,
        estimator=estimator,
        ridge=float(work.ridges[i]),
        center=work.centers[i].copy(),
        least_squares=fit.least_squares if fit.ready else None,
        inverse_root=fit.root if fit.ready else None,
        gram=fit.gram(),
        fixed_coef=fit.coef,
        fixed_ridge=penalty,
        features=stage.problem.features,
        outcome_variance=_outcome_variance(stage, i),
        unit=None if stage.problem.outcome is None else stage.problem.outcome.unit,
        alike=alike,
    )


def sample_variance(outcomes: Vector) -> float:
    """Mean square around the mean, by n − 1; not a number with less than two outcomes."""
    count = len(outcomes)
    if count < 2:
        return math.nan
    gaps = outcomes - exact_sum(outcomes) / count
    return exact_sum(gaps * gaps) / (count - 1)


def _outcome_variance(stage: Stage, i: int) -> float:
    """Variance of the outcomes that arm i's estimate uses, redacted ones among them."""
    state, step = stage.state, int(stage.state.trial["step"][0])
    mine = (state.rows["arm"][:step] == i) & (state.rows["status"][:step] == TOLD)
    outcomes: Vector = state.outcomes[:step][mine]
    kept, mean, squares = kept_outcomes(state, i)
    here = len(outcomes)
    if not kept:
        return sample_variance(outcomes)
    if kept + here < 2:
        return math.nan
    if here:
        gap = exact_sum(outcomes) / here - mean
        squares += gap * gap * kept * here / (kept + here)
    if here > 1:
        squares += (here - 1) * sample_variance(outcomes)
    return squares / (kept + here - 1)


def _with_sandwich(stage: Stage, i: int, arm: ArmEstimate, root: Matrix) -> ArmEstimate:
    """The same arm with intervals that allow for noise that depends on the context."""
    if arm.least_squares is None or arm.inverse_root is None:
        return arm
    sandwich = sandwich_of(stage.state, i, arm.least_squares, arm.inverse_root)
    if sandwich is None:
        return arm
    ratio = sandwich.error_ratio(root, arm.inverse_root)
    return dataclasses.replace(arm, sandwich=sandwich, spread_ratio=ratio)


def moment_root(stage: Stage) -> Matrix:
    """Upper triangular R with Σ = RᵀR of the stage's columns: given, or what has been learned of it."""
    if stage.problem.moment is None:
        seen = max(int(stage.state.trial["seen"][0]), 1)
        learned: Matrix = stage.state.seen_factor / math.sqrt(seen)
        return learned
    lower = stage.problem.whitener()
    return np.eye(stage.problem.dim) if lower is None else np.ascontiguousarray(lower.T)
