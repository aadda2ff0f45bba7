"""What the calibrated width alone does to the allocation, without randomness.

Trace-UCB keeps the scores (σ² + Δ)·d/(k − d − 1) equal. With the true variances in place of their
estimates, Δ = c·σ̄²/√(k − d), that fixes every k.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.optimize import brentq

from equipoise.core.arrays import Vector
from equipoise.core.theory.static import optimal_loss, static_loss

_NEWTON_STEPS = 60  # a dozen suffice; steps past the root cost nothing
# Logarithms of a score above and below all that occur.
_HIGHEST, _LOWEST = 60.0, -60.0


def balanced_pulls(noise: Sequence[float], dim: int, budget: float, width: float = 1.0) -> Vector:
    """Pulls at which all scores are equal; real numbers that sum to the budget."""
    variances = np.asarray(noise, float)
    bonus = width * float(variances.mean())

    def excess(log_level: float) -> float:
        return float(np.sum(_pulls(variances, bonus, dim, math.exp(log_level)))) - budget

    return _pulls(variances, bonus, dim, math.exp(brentq(excess, _LOWEST, _HIGHEST, xtol=1e-14)))


def _pulls(variances: Vector, bonus: float, dim: int, level: float) -> Vector:
    """Where the scores are at ``level``: the root u = √(k − d) of u³ − pu − q, with p, q > 0."""
    p = 1.0 + dim * variances / level
    q = dim * bonus / level
    # From above the one positive root of a convex function, Newton's steps never pass it.
    u = np.sqrt(p) + np.cbrt(q)
    for _ in range(_NEWTON_STEPS):
        u = u - (u**3 - p * u - q) / (3.0 * u**2 - p)
    return np.asarray(u**2 + dim)


def balanced_regret(noise: Sequence[float], dim: int, budget: float, width: float = 1.0) -> float:
    """Regret of those pulls: the part of Trace-UCB's regret that is the width's doing."""
    pulls = balanced_pulls(noise, dim, budget, width)
    return static_loss(noise, pulls, dim) - optimal_loss(noise, dim, int(budget))


def balanced_slope(noise: Sequence[float], dim: int, budget: float, width: float = 1.0) -> float:
    """Slope of log regret against log n, between 0.8 and 1.25 of the budget."""
    budgets = (0.8 * budget, 1.25 * budget)
    low, high = (math.log(balanced_regret(noise, dim, round(n), width)) for n in budgets)
    return (high - low) / math.log(round(budgets[1]) / round(budgets[0]))
