"""Terms beside the features: what the outcomes say of functions of the contexts that a line leaves out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from equipoise.core.arrays import Matrix, Vector
from equipoise.core.diagnosis.evidence import Evidence
from equipoise.core.estimates.intervals import t_quantile

SPANNED = 1e-8
"""Share of a term's sum of squares below which the features are taken to span it."""
# Degrees of freedom that the full model must leave for its own noise variance.
_LEFT = 3
# Noise variances below cannot be divided by.
_SMALLEST = 1e-290


class Tested(NamedTuple):
    """What added terms say of one arm, in units of its noise."""

    information: Matrix
    """ZᵀZ/σ̂², Z made orthogonal to the features."""
    pull: Vector
    """Zᵀe/σ̂²."""
    rank: int
    dof: int
    """Of σ̂²."""
    p_value: float


def try_terms(evidence: Evidence, terms: Matrix, inflation: Vector) -> list[Tested | None]:
    """F tests of terms, a column each for all units, in every arm; None where they cannot be tested.

    ``inflation`` is what adaptive allocation asks σ̂² to be multiplied by, see intervals.py.
    """
    scaled, found = evidence.scaled(), []
    for i in range(len(evidence.names)):
        mine = evidence.of_arm(i)
        base, outcomes = basis(scaled[mine]), evidence.outcomes[mine]
        residuals = outcomes - base @ (base.T @ outcomes)
        # Of the size of rounding: an exact fit has no noise to compare with.
        exact = float(residuals @ residuals) <= 1e-20 * float(outcomes @ outcomes)
        found.append(None if exact else _tested(base, terms[mine], residuals, float(inflation[i])))
    return found


def basis(features: Matrix) -> Matrix:
    """Orthonormal columns that span those of ``features``."""
    if not features.size:
        return np.zeros((len(features), 0))
    left, values, _ = np.linalg.svd(features, full_matrices=False)
    columns: Matrix = left[:, values > 1e-10 * values[0]]
    return columns


def beside(base: Matrix, terms: Matrix) -> Matrix:
    """What is left of terms when orthonormal columns are taken out; 0 where these span them."""
    rest = terms - base @ (base.T @ terms)
    left: Matrix = np.where(np.sum(rest**2, axis=0) > SPANNED * np.sum(terms**2, axis=0), rest, 0.0)
    return left


def _tested(base: Matrix, terms: Matrix, residuals: Vector, inflation: float) -> Tested | None:
    """The F test of terms beside the features; None if the features span them or too little is left."""
    from scipy.special import fdtrc

    rest = beside(base, terms)
    own = basis(rest)
    rank = own.shape[1]
    dof = len(residuals) - base.shape[1] - rank
    if rank == 0 or dof < _LEFT:
        return None
    explained = own.T @ residuals
    left = float(residuals @ residuals - explained @ explained)
    variance = left / dof * inflation
    if not variance > _SMALLEST:
        return None
    p_value = float(fdtrc(rank, dof, float(explained @ explained) / rank / variance))
    return Tested(rest.T @ rest / variance, rest.T @ residuals / variance, rank, dof, p_value)


class Shared:
    """Coefficients of the terms that all arms share, each arm weighted by what it knows of them."""

    def __init__(self, tests: Sequence[Tested | None], terms: int) -> None:
        known = [test for test in tests if test is not None]
        self._pull = np.sum([test.pull for test in known], axis=0) if known else np.zeros(terms)
        information = (
            np.sum([test.information for test in known], axis=0) if known else np.zeros((terms,) * 2)
        )
        self._covariance: Matrix = np.linalg.pinv(information, rcond=SPANNED, hermitian=True)
        self._rank = round(float(np.trace(self._covariance @ information))) if known else 0
        # Satterthwaite: variances of arms that know little add little.
        parts = [float(np.trace(self._covariance @ test.information)) / max(self._rank, 1) for test in known]
        spread = math.fsum(part**2 / test.dof for part, test in zip(parts, known, strict=True))
        self._dof = 1.0 / spread if spread > 0.0 else math.inf

    @property
    def known(self) -> bool:
        """Whether any arm could tell."""
        return self._rank > 0

    @property
    def coef(self) -> Vector:
        """The coefficients; 0 where nothing is known."""
        coef: Vector = self._covariance @ self._pull
        return coef

    @property
    def p_value(self) -> float:
        """Of all coefficients being 0."""
        from scipy.special import fdtrc

        if not self.known:
            return 1.0
        return float(fdtrc(self._rank, self._dof, float(self._pull @ self.coef) / self._rank))

    def half_width(self, confidence: float) -> float:
        """Half of the interval of the first coefficient; infinite where nothing is known."""
        variance = float(self._covariance[0, 0])
        if not variance > 0.0:
            return math.inf
        return float(t_quantile(confidence, min(self._dof, 1e9))) * math.sqrt(variance)

    @property
    def p_values(self) -> Vector:
        """Of every coefficient being 0 beside the others, each for itself; 1 where nothing is known."""
        from scipy.special import stdtr

        variance = np.diag(self._covariance)
        some = variance > 0.0
        sizes = np.abs(self.coef) / np.sqrt(np.where(some, variance, 1.0))
        return np.where(some, 2.0 * stdtr(self._dof, -sizes), 1.0)


def holm(values: Sequence[float]) -> list[float]:
    """p values corrected for their number, step by step."""
    adjusted, highest = list(values), 0.0
    for turn, i in enumerate(np.argsort(values)):
        highest = max(highest, min(1.0, (len(values) - turn) * values[i]))
        adjusted[i] = highest
    return adjusted
