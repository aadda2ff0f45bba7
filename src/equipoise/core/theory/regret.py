"""What the paper proves about Trace-UCB: Theorems 1, 2 and 3, as far as their constants are printed."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from equipoise.core.arms.widths import theory_constant
from equipoise.core.arrays import Vector
from equipoise.core.theory.concentration import trace_constant
from equipoise.core.theory.static import checked_noise, ideal_allocation
from equipoise.errors import InvalidArgument


def smallest_share(noise: npt.ArrayLike) -> float:
    """λ_min = σ²_min/Σσ², the share of the mildest arm."""
    variances = positive_noise(noise)
    return float(variances.min() / variances.sum())


def pulls_lower_bound(*, noise: npt.ArrayLike, dim: int, budget: int, bound: float, delta: float) -> Vector:
    """Theorem 1, eq. (14), without its Ω(n^¼) term, whose constant the paper does not give.

    k ≥ k* − (C_Δ + 8C_Tr)/σ²_min·√(nd/λ_min) with C_Δ = 16R·log(2mn/δ). At experiments of ordinary
    size the bound is far below zero; it says how k − k* grows, not what it is.
    """
    variances = positive_noise(noise)
    if bound < variances.max():
        raise InvalidArgument(f"bound={bound!r} is below the largest noise variance {variances.max()!r}")
    arms = len(variances)
    spread = 2.0 * theory_constant(bound, arms, budget, delta)
    spread += 8.0 * trace_constant(dim=dim, arms=arms, budget=budget, delta=delta)
    gap = spread / variances.min() * math.sqrt(budget * dim / smallest_share(variances))
    return np.asarray(ideal_allocation(noise=variances, dim=dim, budget=budget) - gap)


def regret_rate(*, noise: npt.ArrayLike, dim: int, budget: int) -> float:
    """Theorem 2, eq. (15): the argument of its O(·), (1/σ²_min)·(d/(λ_min·n))^(3/2).

    A rate, not a bound: the constant in front is not given.
    """
    variances = positive_noise(noise)
    return float((dim / (smallest_share(variances) * budget)) ** 1.5 / variances.min())


def high_probability_loss(*, noise: npt.ArrayLike, dim: int, budget: int, delta: float) -> float:
    """Theorem 3, eq. (18): its leading term, (Σσ²/n)·(d + 2·log(3m/δ)).

    The worst arm's error stays below this plus a term of the rate of :func:`regret_rate`, with
    probability 1 − δ.
    """
    variances = checked_noise(noise)
    if not 0.0 < delta < 1.0:
        raise InvalidArgument(f"delta={delta!r} is not between 0 and 1")
    return float(variances.sum() / budget * (dim + 2.0 * math.log(3.0 * len(variances) / delta)))


def positive_noise(noise: npt.ArrayLike) -> Vector:
    """Noise variances, none of them zero."""
    variances = checked_noise(noise)
    if not variances.min() > 0.0:
        raise InvalidArgument("the theorems need every noise variance above zero")
    return variances
