"""One arm's fitted model, usable as a scikit-learn style regressor."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from equipoise.core.arrays import Matrix, Vector
from equipoise.core.estimates.ellipsoid import Ellipsoid, self_normalised_ellipsoid
from equipoise.core.estimates.estimators import RIDGE
from equipoise.core.estimates.intervals import f_quantile, t_quantile, variance_interval, variance_upper_bound
from equipoise.core.estimates.robust import Sandwich
from equipoise.core.text_tables import Shown, coefficient_table
from equipoise.errors import InvalidArgument, InvalidContext

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

    # Intervals

    @property
    def robust(self) -> bool:
        """Whether intervals allow for noise that depends on the context."""
        return self.sandwich is not None

    @property
    def intervals(self) -> Matrix:
        """(low, high) of every coefficient; infinite where the data do not determine it, or its error."""
        if self.least_squares is None or self.inverse_root is None or self._noise_unknown:
            return np.column_stack([np.full(len(self.coef), -math.inf), np.full(len(self.coef), math.inf)])
        half = self._half(self.inverse_root)
        if self.columns is not None:
            left_out = np.ones(len(half), bool)
            left_out[self.columns] = False
            half[left_out] = math.inf
        return np.column_stack([self.least_squares - half, self.least_squares + half])

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
        if self._noise_unknown or not math.isfinite(self.expected_error):
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

    def predict(self, X: npt.ArrayLike) -> Vector:
        """Expected outcomes for the rows of ``X``, or for one context."""
        predictions: Vector = self._contexts(X) @ self.coef
        return predictions

    def predict_interval(self, X: npt.ArrayLike, *, of: str = "outcome") -> Matrix:
        """(low, high) for every row: of a new ``"outcome"``, or of the ``"mean"`` outcome.

        Where features were chosen, given that the others have no effect. That of an outcome assumes constant
        noise, also if intervals are robust: nobody knows the noise at one context.
        """
        if of not in ("outcome", "mean"):
            raise InvalidArgument(f"no interval of {of!r}", hint="use 'outcome' or 'mean'")
        contexts = np.atleast_2d(self._contexts(X))
        if self.least_squares is None or self.inverse_root is None or self._noise_unknown:
            return np.column_stack([np.full(len(contexts), -math.inf), np.full(len(contexts), math.inf)])
        along = contexts @ self.inverse_root
        half = self._half(along) if of == "mean" else self._reach() * np.sqrt(np.sum(along**2, axis=1) + 1.0)
        center = contexts @ self.least_squares
        return np.column_stack([center - half, center + half])

    # Showing it

    def record(self) -> dict[str, Any]:
        """Plain values, lists instead of arrays."""
        return {
            "arm": self.arm,
            "count": self.count,
            "observed": self.observed,
            "dof": self.dof,
            "noise_variance": self.noise_variance,
            "residual_variance": self.residual_variance,
            "noise_interval": list(self.noise_interval),
            "expected_error": self.expected_error,
            "error_bound": self.error_bound,
            "error_factor": self.error_factor,
            "estimator": self.estimator,
            "ridge": self.ridge,
            "center": self.center.tolist(),
            "confidence": self.confidence,
            "robust": self.robust,
            "alike": self.alike,
            "coef": self.coef.tolist(),
            "intervals": self.intervals.tolist(),
            "columns": None if self.columns is None else self.columns.tolist(),
        }

    def __str__(self) -> str:
        outcomes = "outcome" if self.observed == 1 else "outcomes"
        title = f"{self.arm}: {self.observed} {outcomes}, noise variance {self.noise_variance:.4g}"
        text = f"{title}, expected error {self.expected_error:.4g}\n{super().__str__()}"
        further = 0 if self.columns is None else np.count_nonzero(np.delete(self.coef, self.columns))
        return f"{text}\nand {further} further features by the lasso" if further else text

    def _table(self) -> tuple[list[str], list[list[str]]]:
        return coefficient_table(self.coef, self.intervals, self.confidence, self.columns)

    def _half(self, combinations: Matrix) -> Vector:
        """Half the widths of intervals of cᵀβ, by the rows Vᵀc."""
        if self.sandwich is None:
            return np.asarray(self._reach() * np.sqrt(np.sum(combinations**2, axis=1)))
        variances, freedom = self.sandwich.variances(combinations)
        return np.asarray(t_quantile(self.confidence, freedom) * np.sqrt(variances * self.inflation))

    @property
    def _noise_unknown(self) -> bool:
        return self.dof < 1 or self.alike

    def _noise_dof(self) -> float:
        return self.dof if self.sandwich is None else self.sandwich.noise_dof

    def _reach(self) -> float:
        return float(t_quantile(self.confidence, self.dof)) * math.sqrt(
            self.residual_variance * self.inflation
        )

    def _contexts(self, X: npt.ArrayLike) -> Matrix:
        contexts = np.asarray(X, dtype=float)
        if contexts.ndim not in (1, 2) or contexts.shape[-1] != len(self.coef):
            raise InvalidContext(f"contexts have shape {contexts.shape}, expected (rows, {len(self.coef)})")
        return contexts
