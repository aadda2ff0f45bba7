"""Intervals of one number, and of many at once, where variances are sums of estimates.

A difference of two arms has the variance V₁ + V₂, of which Vᵢ rests on νᵢ degrees of freedom. One interval by
itself is Welch's: Student's t with

    ν = (V₁ + V₂)²/(V₁²/ν₁ + V₂²/ν₂)                               (Welch 1947, Satterthwaite 1946)

That is close to its level at 95 % and far from it in the tails that many intervals together need: an arm left
alone with two degrees of freedom can look quiet and not be. So all of K at once are

    ± √(t₁²V₁ + t₂²V₂),   tᵢ Student's quantile with νᵢ at the level 1 − (1 − α)^(1/K)

The root covers with at least that chance whatever the two noises are (Banerjee 1960). All K cover together
with 1 − α or more (Šidák 1967): given the variance estimates the errors are Gaussian, whose boxes are at
least as likely as if they were independent; and each box is the likelier the larger the estimates, so that
averaging over these keeps the bound. Nothing is simulated, and any correlation between the K is allowed.

Adaptive allocation makes variances too small, and the more so the further out one looks. Each interval by
itself has them inflated by f (:mod:`equipoise.core.estimates.intervals`); all at once by f², which
benchmarks/pages/contrasts.py shows to be enough.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from equipoise.core.arrays import Matrix, Vector
from equipoise.core.estimates.intervals import t_quantile

_HALVINGS = 60
_SMALLEST_LOG = math.log(1e-15)


@dataclass(frozen=True, eq=False)
class Spread:
    """Variances of K numbers: each a sum of independent terms with their own degrees of freedom."""

    variances: Matrix
    """[terms, K], inflated."""
    dof: Matrix
    """[terms, K]; 0 where a variance is not known."""
    inflation: Matrix
    """[terms, K] what adaptive allocation had the variances multiplied by."""

    @property
    def known(self) -> npt.NDArray[np.bool_]:
        """Which numbers have an error that is known."""
        return np.asarray(np.all((self.dof > 0.0) & np.isfinite(self.variances), axis=0), bool)

    @property
    def stderr(self) -> Vector:
        """Root of the variance; infinite where it is not known."""
        known = self.known
        return np.where(known, np.sqrt(np.sum(np.where(known, self.variances, 0.0), axis=0)), math.inf)

    @property
    def freedom(self) -> Vector:
        """Degrees of freedom of the sums; 0 where variances are not known."""
        known = self.known
        variances, dof = np.where(known, self.variances, 1.0), np.where(known, self.dof, 1.0)
        total, parts = np.sum(variances, axis=0), np.sum(variances * variances / dof, axis=0)
        some = parts > 0.0
        return np.where(
            known, np.where(some, total * total / np.where(some, parts, 1.0), np.sum(dof, axis=0)), 0.0
        )

    def half(self, confidence: float) -> Vector:
        """Half the width of each interval by itself."""
        known = self.known
        error = np.where(known, self.stderr, 0.0)
        return np.where(known, t_quantile(confidence, np.where(known, self.freedom, 1.0)) * error, math.inf)

    def half_of_all(self, confidence: float) -> Vector:
        """Half the widths of intervals that cover all together with at least that chance."""
        known = self.known
        count = max(int(np.count_nonzero(known)), 1)
        # Never less than each by itself, for whom Welch's may be the wider in families of one.
        wide = self._root(np.full(len(known), 1.0 - confidence ** (1.0 / count)))
        return np.where(known, np.maximum(wide, self.half(confidence)), math.inf)

    def p_values(self, values: Vector) -> Vector:
        """Of every number being 0, by itself; not a number where its error is not known."""
        from scipy.special import stdtr

        known, stderr = self.known, self.stderr
        some = known & (stderr > 0.0)
        ratio = np.abs(np.where(some, values, 0.0)) / np.where(some, stderr, 1.0)
        p = 2.0 * stdtr(np.where(some, self.freedom, 1.0), -ratio)
        # Without noise a number is 0 or it is not.
        return np.where(some, p, np.where(known, (values == 0.0).astype(float), math.nan))

    def p_values_of_all(self, values: Vector) -> Vector:
        """The same, so that below α there is one with no more than that chance if all numbers are 0.

        An adjusted p value is below 1 − confidence where 0 lies outside the interval of all at once.
        """
        known = self.known
        count = max(int(np.count_nonzero(known)), 1)
        sizes = np.abs(np.where(known, values, 0.0))
        low, high = np.full(len(values), _SMALLEST_LOG), np.zeros(len(values))
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            outside = sizes > self._root(np.exp(middle))
            low, high = np.where(outside, low, middle), np.where(outside, middle, high)
        with np.errstate(divide="ignore"):
            adjusted = np.maximum(-np.expm1(count * np.log1p(-np.exp(high))), self.p_values(sizes))
        adjusted = np.where(self.stderr > 0.0, adjusted, (sizes == 0.0).astype(float))
        return np.where(known, adjusted, math.nan)

    def _root(self, levels: Vector) -> Vector:
        """√Σt²V with quantiles that are passed with the chances ``levels``; 0 where errors are not known."""
        from scipy.special import stdtrit

        known = self.known
        quantiles = stdtrit(np.where(known, self.dof, 1.0), 0.5 * levels)
        squares = quantiles * quantiles * np.where(known, self.variances, 0.0) * self.inflation
        return np.asarray(np.sqrt(np.sum(squares, axis=0)))
