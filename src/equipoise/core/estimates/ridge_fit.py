"""One arm's ridge fit with a λ that is given, and the matrices behind it."""

from __future__ import annotations

import math

import numpy as np

from equipoise.core.arithmetic.lanes import aligned_zeros, padded
from equipoise.core.arms.state import State
from equipoise.core.arrays import Matrix
from equipoise.core.estimates.ridge import fit_ridge, gram_of_inverse, gram_of_triangle, weighted_trace


class RidgeFit:
    """β̂^λ of an arm in the user's coordinates, with the roots that it came from.

    A ``moment_root`` is an upper triangular R with Σ = RᵀR.
    """

    def __init__(self, state: State, i: int, ridge: float) -> None:
        dim = state.coefs.shape[1]
        self.ready = bool(state.arms["data_ready"][i])
        """Whether S is invertible."""
        self.root, self._system = np.zeros((dim, dim)), np.zeros((dim, dim))
        """V with S⁻¹ = VVᵀ; R with S = RᵀR while S is singular."""
        self.least_squares, self.coef, self._along = np.zeros(dim), np.zeros(dim), np.zeros(dim)
        fit_ridge(state, i, ridge, self.root, self.least_squares, self._system, self.coef, self._along)

    def least_squares_trace(self, moment_root: Matrix) -> float:
        """Tr(ΣS⁻¹); infinite while S is singular."""
        return weighted_trace(moment_root, self.root, self._along) if self.ready else math.inf

    def gram(self) -> Matrix:
        """S = XᵀX; not a number where rounding leaves nothing of it."""
        dim = len(self.coef)
        gram = np.zeros((dim, dim))
        if not self.ready:
            gram_of_triangle(self.root, gram)
            return gram
        upper, inverse = (aligned_zeros((1, 1, dim, padded(dim))) for _ in range(2))
        found = gram_of_inverse(self.root, upper, inverse, np.zeros(dim), np.zeros(dim), gram)
        return gram if found else np.full((dim, dim), math.nan)
