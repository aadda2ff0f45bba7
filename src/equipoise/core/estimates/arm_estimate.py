"""One arm's fitted model, usable as a scikit-learn style regressor."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from html import escape
from textwrap import fill
from typing import Any

import numpy as np
import numpy.typing as npt

from equipoise.core.arrays import Matrix, Vector
from equipoise.core.estimates.ellipsoid import Ellipsoid, self_normalised_ellipsoid
from equipoise.core.estimates.estimators import RIDGE
from equipoise.core.estimates.inference.arm_table import heading, shrinkage
from equipoise.core.estimates.inference.combinations import Combined, combined, combined_coefficients
from equipoise.core.estimates.inference.places import encoded
from equipoise.core.estimates.intervals import f_quantile, t_quantile, variance_interval, variance_upper_bound
from equipoise.core.estimates.robust import Sandwich
from equipoise.core.problem.features.contexts import Contexts
from equipoise.core.tables.digits import between, by_error
from equipoise.core.text_tables import Shown
from equipoise.errors import InvalidArgument

LASSO = "lasso"
"""The estimator of policies that bring lasso fits, which tell little of their errors."""


@dataclass(frozen=True, eq=False)
class ArmEstimate(Shown):
    """What is known about one arm. Coefficients are shrunk; intervals surround OLS.

    Centring intervals on OLS keeps them exact. Shrunk estimates have the smaller error, but they are
    biased, by an amount that the data cannot tell.
    """

    arm: str
    coef: Vector
    """The estimate: ridge coefficients, or what another ``estimator`` makes of the data."""
    count: int
    """Units assigned and not lost, pending ones included, without those that only chose features."""
    observed: int
    """Outcomes the estimate uses."""
    dof: int
    """Degrees of freedom k − d of the noise variance."""
    noise_variance: float
    """σ² as far as is known: ``residual_variance``, corrected for what adaptive allocation does to it on
    average, see :mod:`equipoise.core.estimates.selection`. Not a number without a degree of freedom, or where
    outcomes were all ``alike``."""
    residual_variance: float
    """σ̂² = RSS/(k − d), which the policy saw: too low on average after adaptive allocation."""
    inflation: float
    """What ``residual_variance`` is multiplied by in intervals, see
    :mod:`equipoise.core.estimates.intervals`."""
    confidence: float
    """Level of all intervals."""
    expected_error: float
    """E‖β̂^λ − β‖²_Σ at the estimated noise, corrected for adaptive allocation; infinite while S is
    singular, or nothing is known of the noise."""
    error_factor: float
    """What that correction multiplies the noise in expected errors by. It is more than
    ``noise_variance``/``residual_variance``: an arm whose σ̂² came out low also kept a large Tr(ΣS⁻¹)."""
    bias: float
    """The part of the expected error that λ causes; the rest is noise."""
    least_squares_error: float
    """σ²Tr(ΣS⁻¹), the expected error of least squares, likewise corrected; infinite where that one is."""
    estimator: str
    """The word that ``estimates(estimator=…)`` was given; ``"lasso"`` where the policy brings its own."""
    ridge: float
    """λ: of the penalty λ‖β‖² with ``"ridge"`` and ``"leave-one-out"``, else of λ‖β − center‖²_Σ.
    Infinite where the estimate is the center itself."""
    center: Vector = field(repr=False)
    """What the coefficients are shrunk towards: 0, or with ``"pooled"`` what other arms say."""
    least_squares: Vector | None = field(repr=False)
    """β̂ of ordinary least squares; None while S is singular."""
    inverse_root: Matrix | None = field(repr=False)
    """V with S⁻¹ = VVᵀ; None while S is singular."""
    gram: Matrix = field(repr=False)
    """S = XᵀX."""
    fixed_coef: Vector = field(repr=False)
    """Ridge coefficients with ``fixed_ridge``; ellipsoids surround them."""
    fixed_ridge: float = field(repr=False)
    """The λ that was given, or 1/n: one that does not depend on outcomes."""
    features: Contexts = field(repr=False)
    """What a context is: names of the features, and how records become vectors."""
    outcome_variance: float = field(repr=False)
    """Sample variance of the outcomes that the estimate uses; not a number with less than two."""
    unit: str | None = field(default=None, repr=False)
    """What outcomes are measured in, if the problem says."""
    columns: npt.NDArray[np.int64] | None = field(default=None, repr=False)
    """Features that least squares has, where they were chosen; ``gram`` is theirs. Others have coefficient 0,
    unless the estimator is ``"lasso"``."""
    omitted: float = 0.0
    """The part of the expected error that features outside the model seem to cause."""
    sandwich: Sandwich | None = field(default=None, repr=False)
    """What robust intervals are made of; None where intervals assume that noise does not depend on x."""
    spread_ratio: float = 1.0
    """Tr(ΣS⁻¹MS⁻¹)/(σ̂²Tr(ΣS⁻¹)): what noise that depends on x does to the expected error of least squares.
    Measured only with robust intervals; no other field takes it in."""
    most_omitted: float = 0.0
    """Upper bound of the error that features outside the model cause."""
    chosen: bool = False
    """Whether the outcomes have chosen the features: then ``error_bound`` is one of the error itself."""
    alike: bool = False
    """Whether all outcomes were the same number: then they say nothing of the noise, and no interval is
    bounded, see :mod:`equipoise.core.estimates.alike`."""

    # In the outcome's unit, and as a share

    @property
    def pending(self) -> int:
        """Units whose outcome is awaited."""
        return self.count - self.observed

    @property
    def noise_deviation(self) -> float:
        """σ, in the outcome's unit; not a number where σ² is none."""
        return math.sqrt(self.noise_variance)

    @property
    def root_error(self) -> float:
        """Root of the expected error: how far predictions are from the truth, in the outcome's unit."""
        return math.sqrt(self.expected_error)

    @property
    def r_squared(self) -> float:
        """R² of least squares: the share of the outcomes' variance that it fits, noise included."""
        if not self.noise_known or not self.outcome_variance > 0.0:
            return math.nan
        return 1.0 - self.residual_variance * self.dof / (self.outcome_variance * (self.observed - 1))

    @property
    def adjusted_r_squared(self) -> float:
        """1 − σ²/variance of the outcomes: what is explained of it beyond chance. May be below 0."""
        if not self.noise_known or not self.outcome_variance > 0.0:
            return math.nan
        return 1.0 - self.noise_variance / self.outcome_variance

    # Intervals

    @property
    def robust(self) -> bool:
        """Whether intervals allow for noise that depends on the context."""
        return self.sandwich is not None

    @property
    def noise_known(self) -> bool:
        """Whether outcomes say anything of the noise, and so of errors."""
        return self.dof >= 1 and not self.alike

    @property
    def intervals(self) -> Matrix:
        """(low, high) of every coefficient; infinite where the data do not determine it, or its error."""
        return self._around(combined_coefficients(self, np.eye(len(self.coef))))

    @property
    def stderr(self) -> Vector:
        """Standard errors of least squares, corrected for adaptive allocation; infinite where not known."""
        return combined_coefficients(self, np.eye(len(self.coef))).spread.stderr

    @property
    def noise_interval(self) -> tuple[float, float]:
        """(low, high) of σ²; assumes Gaussian noise.

        A robust one allows for heavy tails by the residuals' kurtosis. It covers more often then than one
        that does not, and less often than it says: few residuals hide the tail they come from. Only the
        upper end is inflated: an arm whose σ̂² came out high gets more pulls, which mend it.
        """
        if self.alike:
            return 0.0, math.inf
        low, high = variance_interval(self.residual_variance, self._noise_dof(), self.confidence)
        return low, high * self.inflation

    @property
    def error_bound(self) -> float:
        """Upper bound of the expected error, from the upper bound of σ².

        With a λ that the data chose, that of least squares: how far shrinking went wrong is not known.
        Where outcomes have chosen the features it is a bound of the error itself, of which the model has its
        part by an F quantile, and features left out as much as they may hide.
        """
        if not self.noise_known or not math.isfinite(self.expected_error):
            return math.inf
        if self.residual_variance == 0.0:
            return self.expected_error
        if self.chosen:
            features = 0 if self.columns is None else len(self.columns)
            level = 0.5 * (1.0 + self.confidence)
            reach = f_quantile(level, features, self.dof) * self.inflation if features else 0.0
            noise = self.least_squares_error / self.error_factor
            return max(noise * reach + self.most_omitted, self.expected_error)
        variance = self.residual_variance * self.inflation
        bound = variance_upper_bound(variance, self._noise_dof(), self.confidence)
        # A bound has its own correction, in ``inflation``.
        ratio = bound / self.residual_variance / self.error_factor
        fixed = self.omitted + (self.bias if self.estimator == RIDGE else 0.0)
        noise = self.expected_error - fixed if self.estimator == RIDGE else self.least_squares_error
        return max(noise * ratio + fixed, self.expected_error)

    def ellipsoid(self, *, deviation: float, norm: float, delta: float | None = None) -> Ellipsoid:
        """Self-normalised confidence ellipsoid: valid at all times at once, for sub-Gaussian noise.

        Where features were chosen, it surrounds their coefficients.
        ``deviation`` bounds the noise's standard deviation, ``norm`` bounds ‖β‖; ``delta`` is one
        minus the confidence unless given.
        """
        if self.estimator == LASSO:
            raise InvalidArgument("a lasso fit has no ellipsoid", hint="use a policy with least squares")
        return self_normalised_ellipsoid(
            self.gram,
            self.fixed_coef if self.columns is None else self.fixed_coef[self.columns],
            ridge=self.fixed_ridge,
            deviation=deviation,
            norm=norm,
            delta=1.0 - self.confidence if delta is None else delta,
        )

    # A regressor

    @property
    def coef_(self) -> Vector:
        """Coefficients, under scikit-learn's name."""
        return self.coef

    @property
    def intercept_(self) -> float:
        """Always 0: an intercept is a constant feature of the context."""
        return 0.0

    @property
    def n_features_in_(self) -> int:
        """d."""
        return len(self.coef)

    def predict(self, X: Any) -> Vector:
        """Expected outcomes for the rows of ``X``, or for one context.

        Rows are records or vectors, or a data frame of the problem's fields.
        """
        predictions: Vector = encoded(self.features, X) @ self.coef
        return predictions

    def predict_interval(self, X: Any, *, of: str = "outcome") -> Matrix:
        """(low, high) for every row: of a new ``"outcome"``, or of the ``"mean"`` outcome.

        Where features were chosen, given that the others have no effect. That of an outcome assumes constant
        noise, also if intervals are robust: nobody knows the noise at one context.
        """
        if of not in ("outcome", "mean"):
            raise InvalidArgument(f"no interval of {of!r}", hint="use 'outcome' or 'mean'")
        contexts = np.atleast_2d(encoded(self.features, X))
        found = combined(self, contexts)
        if of == "mean" or self.inverse_root is None or not self.noise_known:
            return self._around(found)
        variance = self.residual_variance * self.inflation
        along = contexts @ self.inverse_root
        half = t_quantile(self.confidence, self.dof) * np.sqrt(
            variance * (np.sum(along * along, axis=1) + 1.0)
        )
        return np.column_stack([found.values - half, found.values + half])

    # Showing it

    def record(self) -> dict[str, Any]:
        """Plain values, lists instead of arrays."""
        return {
            "arm": self.arm,
            "count": self.count,
            "observed": self.observed,
            "pending": self.pending,
            "dof": self.dof,
            "noise_variance": self.noise_variance,
            "residual_variance": self.residual_variance,
            "noise_interval": list(self.noise_interval),
            "expected_error": self.expected_error,
            "error_bound": self.error_bound,
            "error_factor": self.error_factor,
            "noise_deviation": self.noise_deviation,
            "root_error": self.root_error,
            "r_squared": self.r_squared,
            "adjusted_r_squared": self.adjusted_r_squared,
            "estimator": self.estimator,
            "ridge": self.ridge,
            "center": self.center.tolist(),
            "confidence": self.confidence,
            "robust": self.robust,
            "alike": self.alike,
            "features": list(self.features.names),
            "coef": self.coef.tolist(),
            "least_squares": None if self.least_squares is None else self.least_squares.tolist(),
            "stderr": self.stderr.tolist(),
            "intervals": self.intervals.tolist(),
            "columns": None if self.columns is None else self.columns.tolist(),
        }

    def __str__(self) -> str:
        text = f"{fill(heading(self), 100)}\n{super().__str__()}\n{fill(shrinkage(self), 100)}"
        further = 0 if self.columns is None else np.count_nonzero(np.delete(self.coef, self.columns))
        return f"{text}\nand {further} further features by the lasso" if further else text

    def _repr_html_(self) -> str:
        return f"<p>{escape(heading(self))}</p>{super()._repr_html_()}<p>{escape(shrinkage(self))}</p>"

    def _table(self) -> tuple[list[str], list[list[str]]]:
        header = ["feature", "estimate", "least squares", "s.e.", f"{100 * self.confidence:g} % interval"]
        errors, ends = self.stderr, self.intervals
        unshrunk = np.full(len(self.coef), math.nan) if self.least_squares is None else self.least_squares
        shown = range(len(self.coef)) if self.columns is None else self.columns.tolist()
        rows = [
            [
                self.features.names[j],
                by_error(self.coef[j], errors[j]),
                by_error(unshrunk[j], errors[j]),
                by_error(errors[j], errors[j]),
                between(ends[j].tolist(), errors[j]),
            ]
            for j in shown
        ]
        return header, rows

    def _around(self, found: Combined) -> Matrix:
        """Intervals of combinations, each by itself."""
        half = found.spread.half(self.confidence)
        center = np.where(np.isfinite(half), found.values, 0.0)
        return np.column_stack([center - half, center + half])

    def _noise_dof(self) -> float:
        return self.dof if self.sandwich is None else self.sandwich.noise_dof
