"""Static allocation: fixed numbers of units per arm, chosen in advance (Section 2, Prop. 1)."""

from __future__ import annotations

import heapq
import math

import numpy as np
import numpy.typing as npt

from equipoise.core.layout import Vector
from equipoise.core.objective import Objective, combine, norm_order, variance_exponent
from equipoise.errors import InvalidArgument

Counts = npt.NDArray[np.int64]

# Units an arm that best_allocation() places one by one.
_UNROUNDED = 8


def checked_noise(noise: npt.ArrayLike) -> Vector:
    """Noise variances as an array, or an error that says which one is wrong."""
    try:
        values = np.atleast_1d(np.asarray(noise, dtype=float))
    except (TypeError, ValueError, OverflowError):
        values = np.array([np.nan])
    if values.ndim != 1 or values.size == 0 or not np.all(np.isfinite(values) & (values >= 0)):
        raise InvalidArgument(
            f"noise {noise!r} is not a list of variances", hint="give one number of at least 0 an arm"
        )
    return values


def static_losses(noise: npt.ArrayLike, counts: npt.ArrayLike, dim: int) -> Vector:
    """Expected error of every arm after k pulls, dσ²/(k−d−1), eq. (6); ∞ where k ≤ d+1.

    Exact for OLS and Gaussian contexts, whatever their covariance.

    >>> static_losses([1.0, 2.0], [21, 21], dim=10)
    array([1., 2.])
    """
    variances = checked_noise(noise)
    spare = np.asarray(counts, float) - dim - 1
    with np.errstate(divide="ignore", invalid="ignore"):
        losses: Vector = np.where(spare > 0, dim * variances / spare, np.inf)
    losses[variances == 0] = 0.0
    return losses


def optimal_shares(
    noise: npt.ArrayLike, objective: Objective = "max", weights: npt.ArrayLike = 1.0
) -> Vector:
    """Shares of the units beyond d+1 an arm: proportional to (wσ²)^(p/(p+1)), σ² for "max"."""
    variances = checked_noise(noise)
    needs = (np.asarray(weights, float) * variances) ** variance_exponent(objective)
    needs = np.broadcast_to(needs, variances.shape)
    total = float(np.sum(needs))
    return np.full(len(variances), 1.0 / len(variances)) if total == 0.0 else needs / total


def ideal_allocation(
    *,
    noise: npt.ArrayLike,
    dim: int,
    budget: int,
    objective: Objective = "max",
    weights: npt.ArrayLike = 1.0,
) -> Vector:
    """k* before rounding, eq. (7): k* = share·(n − m(d+1)) + d + 1."""
    shares = optimal_shares(noise, objective, weights)
    spare = budget - len(shares) * (dim + 1)
    if spare < 0:
        raise InvalidArgument(
            f"a budget of {budget} is below m(d+1) = {len(shares) * (dim + 1)}",
            hint="no allocation can estimate every arm",
        )
    return np.asarray(shares * spare + dim + 1)


def optimal_allocation(
    *,
    noise: npt.ArrayLike,
    dim: int,
    budget: int,
    objective: Objective = "max",
    weights: npt.ArrayLike = 1.0,
    tie_break: npt.ArrayLike | None = None,
) -> Counts:
    """k* of Prop. 1 in whole units by largest remainder; sums to n, never below d+1.

    Equal remainders go to the arms listed first, or to those with the lowest ``tie_break``.

    >>> optimal_allocation(noise=[1.0, 3.0], dim=2, budget=30).tolist()
    [9, 21]
    """
    ideal = ideal_allocation(noise=noise, dim=dim, budget=budget, objective=objective, weights=weights)
    counts: Counts = np.floor(ideal + 1e-9).astype(np.int64)
    missing = budget - int(counts.sum())
    priority = np.arange(len(counts)) if tie_break is None else np.asarray(tie_break)
    counts[np.lexsort((priority, counts - ideal))[:missing]] += 1
    return counts


def best_allocation(
    *,
    noise: npt.ArrayLike,
    dim: int,
    budget: int,
    objective: Objective = "max",
    weights: npt.ArrayLike = 1.0,
) -> Counts:
    """The split into whole units with the smallest static loss.

    Largest remainders can leave a mild arm at d+1 units, where its expected error is infinite; here
    the last units go, one by one, where the loss falls most.

    >>> best_allocation(noise=[0.01, 3.0], dim=2, budget=30).tolist()
    [4, 26]
    """
    ideal = ideal_allocation(noise=noise, dim=dim, budget=budget, objective=objective, weights=weights)
    counts: Counts = np.maximum(np.floor(ideal) - _UNROUNDED, dim + 1).astype(np.int64)
    needs = dim * checked_noise(noise) * np.asarray(weights, float)
    order = norm_order(objective)

    def urgency(i: int) -> float:
        """How much the next unit of arm i matters, largest first."""
        spare = float(counts[i] - dim - 1)
        if needs[i] == 0.0:
            return 0.0
        if spare == 0.0:
            return math.inf
        now = float(needs[i]) / spare
        # now^p − next^p, as its p-th root so that large p do not underflow
        return now if math.isinf(order) else now * (1.0 - (spare / (spare + 1.0)) ** order) ** (1.0 / order)

    queue = [(-urgency(i), i) for i in range(len(counts))]
    heapq.heapify(queue)
    for _ in range(budget - int(counts.sum())):
        _, i = queue[0]
        counts[i] += 1
        heapq.heapreplace(queue, (-urgency(i), i))
    return counts


def uniform_allocation(arms: int, budget: int) -> Counts:
    """n/m units an arm; the remainder goes to the arms listed first."""
    counts = np.full(arms, budget // arms, dtype=np.int64)
    counts[: budget % arms] += 1
    return counts


def static_loss(
    noise: npt.ArrayLike,
    counts: npt.ArrayLike,
    dim: int,
    objective: Objective = "max",
    weights: npt.ArrayLike = 1.0,
) -> float:
    """The objective's value of a static allocation; L_n of eq. (6) for "max"."""
    losses = static_losses(noise, counts, dim)
    return combine(losses, np.broadcast_to(np.asarray(weights, float), losses.shape), objective)


def optimal_loss(noise: npt.ArrayLike, dim: int, budget: int) -> float:
    """L*_n = d·Σσ²/(n − m(d+1)), the loss of the ideal allocation for "max"; ∞ at n = m(d+1).

    >>> round(optimal_loss([0.01, 0.02, 0.75, 1, 2, 2, 3], dim=10, budget=350), 4)
    0.3216
    """
    variances = checked_noise(noise)
    spare = budget - len(variances) * (dim + 1)
    if spare <= 0:
        return math.inf
    return dim * float(variances.sum()) / spare


def optimal_loss_bounds(noise: npt.ArrayLike, dim: int, budget: int) -> tuple[float, float]:
    """md·σ̄²/n ≤ L*_n ≤ 2md·σ̄²/n, valid for n ≥ 2m(d+1) (end of the proof of Prop. 1)."""
    variances = checked_noise(noise)
    needed = 2 * len(variances) * (dim + 1)
    if budget < needed:
        raise InvalidArgument(
            f"the bounds of Prop. 1 hold from n = 2m(d+1) = {needed} on, not at n = {budget}",
            hint="optimal_loss() is exact at any n",
        )
    lower = dim * float(variances.sum()) / budget
    return lower, 2.0 * lower


def wild_arms(noise: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """Which arms are wild, σ² ≥ σ̄²; the others are mild."""
    variances = checked_noise(noise)
    return np.asarray(variances >= variances.mean())
