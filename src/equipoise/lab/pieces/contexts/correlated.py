"""Covariances of features, and contexts that have one."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from equipoise.core.arithmetic.linear import scaled_cholesky
from equipoise.core.arrays import Matrix
from equipoise.core.problem.moment import PIVOT_TOLERANCE
from equipoise.errors import InvalidScenario
from equipoise.lab.pieces.numbers import Rows, as_rows
from equipoise.lab.pieces.piece import Contexts

Covariance = str | Rows


@dataclass(frozen=True, kw_only=True)
class CorrelatedContexts(Contexts):
    """Features with mean zero and a covariance.

    ``covariance`` is ``"identity"``, ``"ar1:RHO"`` (entries RHO^|i−j|) or rows of numbers.
    """

    covariance: Covariance = "identity"

    def __post_init__(self) -> None:
        if not isinstance(self.covariance, str):
            object.__setattr__(self, "covariance", as_rows("covariance", self.covariance))

    def covariance_matrix(self, dim: int) -> Matrix:
        """The covariance of ``dim`` features."""
        return covariance_matrix(self.covariance, dim)


def covariance_matrix(covariance: Covariance, dim: int) -> Matrix:
    """The matrix that ``"identity"``, ``"ar1:RHO"`` or rows of numbers stand for."""
    if isinstance(covariance, str):
        name, _, number = covariance.partition(":")
        if covariance == "identity":
            return np.eye(dim)
        try:
            rho = float(number) if name == "ar1" else math.nan
        except ValueError:
            rho = math.nan
        if not -1.0 < rho < 1.0:
            raise InvalidScenario(
                f"covariance {covariance!r} is unknown",
                hint="use identity, ar1:RHO with RHO between -1 and 1, or a matrix",
            )
        places = np.arange(dim)
        powers = np.array(list(accumulate([1.0, *[rho] * (dim - 1)], operator.mul)))
        return powers[np.abs(places[:, None] - places[None, :])]
    matrix = np.array(covariance)
    if matrix.shape != (dim, dim):
        raise InvalidScenario(f"the covariance has shape {matrix.shape}, expected {(dim, dim)}")
    if np.max(np.abs(matrix - matrix.T)) > 1e-10 * np.max(np.abs(matrix)):
        raise InvalidScenario("the covariance is not symmetric")
    if scaled_cholesky(matrix, dim * PIVOT_TOLERANCE) is None:
        raise InvalidScenario(
            "the covariance is not positive definite", hint="its eigenvalues must be positive"
        )
    return matrix
