"""How much error the features that were left out may cause, found or not, in one arm.

Let r be outcomes and Z features, both freed of the arm's own features, with ν degrees of freedom left and the
columns of Z of mean square 1. If the coefficients of the d′ features left out have variance τ²/d′ each, then
E[rrᵀ] = σ²P + τ²K with K = ZZᵀ/d′, and the two moments rᵀr and rᵀKr give

    τ̂² = (rᵀKr − rᵀr)/D,    D = tr K² − ν,

whose standard deviation without any omitted feature is (rᵀr/ν)·√(2/D), about σ²·√(2d′)/ν: it says how
much can hide in so many features from so few outcomes. It takes no feature to be strong, so those that are
missed because they are weak are counted.
"""

from __future__ import annotations

import math

import numpy as np

from equipoise.core.arithmetic.linear import column_squares, cross_product, dot, matvec
from equipoise.core.arithmetic.sums import exact_sum
from equipoise.core.arrays import Matrix, Vector
from equipoise.core.estimates.intervals import variance_upper_bound

# Columns of which no more than this share is left are combinations of the arm's own features.
_DEPENDENT = 1e-12
# The share of what confidence leaves that this part takes: half is the model's, and residuals of features
# that the same outcomes have chosen look emptier than they are, so that it is an eighth; what that achieves,
# benchmarks/pages/sparse_worlds.py prints.
_SHARES = 8.0


def most_omitted(others: Matrix, left: Vector, dof: int, confidence: float) -> float:
    """Upper bound of ‖γ‖²_Σ, γ the coefficients of features left out; never more than the residuals allow."""
    from scipy.special import ndtri

    square = dot(left, left)
    if dof < 1 or not square > 0.0:
        return 0.0
    variance: float = square / dof
    most = variance_upper_bound(variance, dof, confidence)
    squares = column_squares(others)
    usable = squares > _DEPENDENT * max(exact_sum(squares), 1e-300)
    if not np.any(usable):
        return 0.0
    columns = others[:, usable] * np.sqrt(dof / squares[usable])
    count = columns.shape[1]
    gram = cross_product(columns if count <= len(left) else columns.T)
    spread = exact_sum((gram * gram).ravel()) / (1.0 * count * count) - dof
    if not spread > 0.0:
        return most
    along = matvec(columns.T, left)
    found: float = (dot(along, along) / count - square) / spread
    reach = float(ndtri(1.0 - (1.0 - confidence) / _SHARES))
    return min(max(found, 0.0) + reach * variance * math.sqrt(2.0 / spread), most)
