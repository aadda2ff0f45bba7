"""Least squares on a support that grows one feature at a time, in every arm.

Gram–Schmidt, twice over for accuracy. A feature that no arm can tell from a linear combination of the
earlier ones is refused; one that only some arms can tell costs only those a degree of freedom.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from equipoise.core.arithmetic.lanes import aligned_zeros
from equipoise.core.arrays import Matrix, Vector
from equipoise.core.jit.decorators import compiled
from equipoise.core.jit.handles import handled
from equipoise.core.sparse.standardised import Integers, Standardised, squares_by_arm

Matrices = npt.NDArray[np.float64]  # [m, features, features]

# What is left of a column of length 1 once earlier features explain it; rounding leaves 10⁻¹⁶.
_DEPENDENT = 1e-7


@handled
class Refit(NamedTuple):
    """Fits of the first 0, 1, 2, … features of a support."""

    design: Matrix  # [d, width]
    starts: Integers  # [m + 1]
    counts: Integers  # [m]
    basis: Matrix  # [most + 1, width] orthonormal in every arm, or zero
    triangles: Matrices  # [m, most + 1, most + 1] R of Z = QR; infinite on the diagonal where Q is zero
    loads: Matrix  # [most + 1, m] Qᵀy
    residuals: Matrix  # [most + 2, width] of each number of features
    squares: Matrix  # [most + 2, m] residual sums of squares
    ranks: Integers  # [most + 2, m]
    size: Integers  # [1] features so far
    features: Integers  # [most + 1] which ones


def new_refit(data: Standardised, most: int) -> Refit:
    """No feature yet, and room for ``most``."""
    width, arms = data.design.shape[1], len(data.counts)
    refit = Refit(
        design=data.design,
        starts=data.starts,
        counts=data.counts,
        # A place more than features: one that is refused was written before it was.
        basis=aligned_zeros((most + 1, width)),
        triangles=np.zeros((arms, most + 1, most + 1)),
        loads=np.zeros((most + 1, arms)),
        residuals=np.zeros((most + 2, width)),
        squares=np.zeros((most + 2, arms)),
        ranks=np.zeros((most + 2, arms), dtype=np.int64),
        size=np.zeros(1, dtype=np.int64),
        features=np.zeros(most + 1, dtype=np.int64),
    )
    refit.residuals[0] = data.outcomes
    refit.squares[0] = squares_by_arm(data.outcomes, data.starts)
    return refit


def least_squares(data: Standardised, columns: npt.NDArray[np.intp]) -> Matrix:
    """Coefficients [m, d] on some columns; 0 in an arm that cannot tell a column from those before it."""
    refit = new_refit(data, len(columns))
    for j in columns:
        add_feature(refit, j)
    coefs = np.zeros(data.lengths.shape)
    _solve_triangles(refit, coefs)
    return coefs / data.lengths


def remove_feature(refit: Refit, place: int) -> None:
    """Take out the feature at a place of the support; later ones move up."""
    later = refit.features[place + 1 : refit.size[0]].copy()
    refit.size[0] = place
    for j in later:
        add_feature(refit, j)


@compiled
def add_feature(refit: Refit, j: int) -> bool:
    """Take feature j in if any arm can tell it from the earlier ones; return whether."""
    size = refit.size[0]
    told_apart = False
    for i in range(refit.starts.shape[0] - 1):
        begin, end = refit.starts[i], refit.starts[i + 1]
        column, before, after = refit.basis[size], refit.residuals[size], refit.residuals[size + 1]
        for r in range(begin, end):
            column[r] = refit.design[j, r]
        for again in range(2):
            for k in range(size):
                earlier = refit.basis[k]
                along = product(earlier, column, begin, end)
                refit.triangles[i, k, size] = along + (refit.triangles[i, k, size] if again else 0.0)
                for r in range(begin, end):
                    column[r] -= along * earlier[r]
        length = np.sqrt(product(column, column, begin, end))
        new = length > _DEPENDENT
        told_apart = told_apart or new
        refit.triangles[i, size, size] = length if new else np.inf
        for r in range(begin, end):
            column[r] = column[r] / length if new else 0.0
        along = product(column, before, begin, end)
        refit.loads[size, i] = along
        for r in range(begin, end):
            after[r] = before[r] - along * column[r]
        refit.squares[size + 1, i] = product(after, after, begin, end)
        refit.ranks[size + 1, i] = refit.ranks[size, i] + new
    if told_apart:
        refit.features[size] = j
        refit.size[0] = size + 1
    return told_apart


@compiled
def _solve_triangles(refit: Refit, coefs: Matrix) -> None:
    """Coefficients of the standardised columns, among those of all features."""
    size = refit.size[0]
    for i in range(coefs.shape[0]):
        upper = refit.triangles[i]
        for r in range(size - 1, -1, -1):
            entry = refit.loads[r, i]
            for k in range(r + 1, size):
                entry -= upper[r, k] * coefs[i, refit.features[k]]
            coefs[i, refit.features[r]] = entry / upper[r, r]


@compiled
def product(left: Vector, right: Vector, begin: int, end: int) -> float:
    """Product of two rows between two places."""
    # Arms have room for whole vectors of four, see standardised.py.
    first, second, third, fourth = 0.0, 0.0, 0.0, 0.0
    for r in range(begin, end, 4):
        first += left[r] * right[r]
        second += left[r + 1] * right[r + 1]
        third += left[r + 2] * right[r + 2]
        fourth += left[r + 3] * right[r + 3]
    return (first + second) + (third + fourth)
