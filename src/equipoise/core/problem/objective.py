"""What is to be made small: the largest of the arms' errors, their mean, or a p-norm between."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import numpy.typing as npt

from equipoise.core.arithmetic.power import powers
from equipoise.core.arithmetic.sums import exact_sum
from equipoise.core.arrays import Vector
from equipoise.errors import InvalidArgument

Objective = Literal["max", "mean"] | float


def norm_order(objective: Objective) -> float:
    """The p of the p-norm: ∞ for "max", 1 for "mean"."""
    if objective == "max":
        return math.inf
    if objective == "mean":
        return 1.0
    try:
        order = float(objective)
    except (TypeError, ValueError):
        order = math.nan
    if not order >= 1.0:
        raise InvalidArgument(
            f"objective {objective!r} is neither 'max', 'mean' nor a number p of at least 1",
            hint="objective='max' guards the worst arm",
        )
    return order


def variance_exponent(objective: Objective) -> float:
    """e = p/(p+1): the best number of pulls grows as (w σ²)^e, so σ² for "max" and σ for "mean"."""
    order = norm_order(objective)
    return 1.0 if math.isinf(order) else order / (order + 1.0)


def cost_discounts(costs: Vector, objective: Objective) -> Vector:
    """c^(−1/p) with c in units of the cheapest arm: what costs multiply weights by; 1 for "max".

    Minimising Σ(w σ²/k)^p while Σ c·k is fixed gives k ∝ ((w σ²)^p/c)^(1/(p+1)) = (w c^(−1/p) σ²)^e.

    >>> cost_discounts(np.array([2.0, 8.0]), "mean")
    array([1.  , 0.25])
    """
    relative: Vector = costs / np.min(costs)
    order = norm_order(objective)
    return np.ones(len(relative)) if math.isinf(order) else powers(relative, -1.0 / order)


def combine(errors: npt.ArrayLike, weights: npt.ArrayLike, objective: Objective) -> float:
    """The objective's value for given errors per arm; a p-norm is averaged, so "mean" is the mean.

    >>> combine([1.0, 3.0], [1.0, 1.0], "max"), combine([1.0, 3.0], [1.0, 1.0], "mean")
    (3.0, 2.0)
    """
    weighted: Vector = np.asarray(weights, float) * np.asarray(errors, float)
    order = norm_order(objective)
    if math.isinf(order):
        return float(np.max(weighted))
    scale = float(np.max(weighted))
    if scale == 0.0 or not math.isfinite(scale):
        return scale
    mean = exact_sum(powers(weighted / scale, order)) / len(weighted)
    return scale * float(powers(mean, 1.0 / order))
