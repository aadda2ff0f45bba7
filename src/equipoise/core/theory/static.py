"""Static allocation: fixed numbers of units per arm, chosen in advance (Section 2, Prop. 1)."""

from __future__ import annotations

import heapq
import math

import numpy as np
import numpy.typing as npt

from equipoise.core.arithmetic.power import power, powers
from equipoise.core.arithmetic.sums import exact_sum
from equipoise.core.arrays import Vector
from equipoise.core.problem.costs import ROUNDING, covers
from equipoise.core.problem.objective import (
    Objective,
    combine,
    cost_discounts,
    norm_order,
    variance_exponent,
)
from equipoise.core.problem.real import real_array
from equipoise.errors import InvalidArgument

Counts = npt.NDArray[np.int64]

# Units an arm that best_allocation() places one by one.
_UNROUNDED = 8
# Ideal counts this close to a floor, relative to it, are rounding.
_CLOSE = 1e-12


def checked_noise(noise: npt.ArrayLike) -> Vector:
    """Noise variances as an array, or an error that says which one is wrong."""
    try:
        values = np.atleast_1d(real_array(noise))
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
    noise: npt.ArrayLike,
    objective: Objective = "max",
    weights: npt.ArrayLike = 1.0,
    costs: npt.ArrayLike = 1.0,
) -> Vector:
    """Shares of the units beyond d+1 an arm: proportional to (wσ²)^(p/(p+1)), σ² for "max".

    With costs c: proportional to ((wσ²)^p/c)^(1/(p+1)), and per unit of money.

    >>> optimal_shares([1.0, 1.0], "mean", costs=[1.0, 4.0])
    array([0.33333333, 0.16666667])
    """
    variances = checked_noise(noise)
    prices = _checked_costs(costs, len(variances))
    importance = np.asarray(weights, float) * cost_discounts(prices, objective)
    needs = powers(importance * variances, variance_exponent(objective))
    needs = np.broadcast_to(needs, variances.shape)
    if not np.any(needs):
        needs = np.ones(len(variances))
    return np.asarray(needs / exact_sum(prices * needs))


def ideal_allocation(
    *,
    noise: npt.ArrayLike,
    dim: int,
    budget: float,
    objective: Objective = "max",
    weights: npt.ArrayLike = 1.0,
    costs: npt.ArrayLike = 1.0,
    floors: npt.ArrayLike = 0.0,
    caps: npt.ArrayLike = np.inf,
) -> Vector:
    """k* before rounding, eq. (7): k* = share·(n − m(d+1)) + d + 1.

    With costs the budget is money. Arms that would miss their floor or pass their cap are held there,
    and the others share what is left.

    >>> ideal_allocation(noise=[1.0, 1.0, 4.0], dim=1, budget=30, caps=[np.inf, np.inf, 10])
    array([10., 10., 10.])
    """
    shares = optimal_shares(noise, objective, weights, costs)
    prices = _checked_costs(costs, len(shares))
    least = np.maximum(np.broadcast_to(np.asarray(floors, float), shares.shape), dim + 1)
    most = np.broadcast_to(np.asarray(caps, float), shares.shape)
    needed = exact_sum(prices * least)
    if not covers(budget, needed):
        plain = np.all(prices == 1.0) and np.all(least == dim + 1)
        raise InvalidArgument(
            f"a budget of {budget:.10g} is below {'m(d+1) = ' if plain else ''}{needed:.10g}",
            hint="no allocation can estimate every arm",
        )
    held = np.full(len(shares), np.nan)
    while True:
        free = np.isnan(held)
        spare = budget - exact_sum((prices * held)[~free]) - (dim + 1) * exact_sum(prices[free])
        # Where only noiseless arms are left to take units, they take them alike.
        needs = shares if np.any(shares[free]) else np.ones(len(shares))
        taken = 1.0 if free.all() or not free.any() else exact_sum((prices * needs)[free])
        ideal = np.where(free, needs * (spare / taken) + dim + 1, held)
        missing = np.where(free, np.maximum(least - ideal, 0.0), 0.0)
        excess = np.where(free, np.maximum(ideal - most, 0.0), 0.0)
        if not np.any(missing > _CLOSE * least) and not np.any(excess > 0.0):
            return np.asarray(ideal)
        # Holding the side that is further off leaves the other side's answer where it was.
        if exact_sum(prices * missing) >= exact_sum(prices * excess):
            held = np.where(missing > 0.0, least, held)
        else:
            held = np.where(excess > 0.0, most, held)


def optimal_allocation(
    *,
    noise: npt.ArrayLike,
    dim: int,
    budget: float,
    objective: Objective = "max",
    weights: npt.ArrayLike = 1.0,
    costs: npt.ArrayLike = 1.0,
    floors: npt.ArrayLike = 0.0,
    caps: npt.ArrayLike = np.inf,
    tie_break: npt.ArrayLike | None = None,
) -> Counts:
    """k* of Prop. 1 in whole units by largest remainder; sums to n, never below d+1.

    Equal remainders go to the arms listed first, or to those with the lowest ``tie_break``. With costs
    units are bought until what is left pays for none.

    >>> optimal_allocation(noise=[1.0, 3.0], dim=2, budget=30).tolist()
    [9, 21]
    >>> optimal_allocation(noise=[1.0, 1.0], dim=2, budget=60, objective="mean", costs=[1.0, 4.0]).tolist()
    [20, 10]
    """
    ideal = ideal_allocation(
        noise=noise,
        dim=dim,
        budget=budget,
        objective=objective,
        weights=weights,
        costs=costs,
        floors=floors,
        caps=caps,
    )
    counts: Counts = np.floor(ideal + 1e-9).astype(np.int64)
    prices = _checked_costs(costs, len(counts))
    priority = np.arange(len(counts)) if tie_break is None else np.asarray(tie_break)
    while True:
        left = budget - exact_sum(prices * counts)
        open_arms = np.flatnonzero((prices * (1.0 - ROUNDING) <= left) & (counts < np.asarray(caps, float)))
        if len(open_arms) == 0:
            return counts
        counts[open_arms[np.lexsort((priority[open_arms], (counts - ideal)[open_arms]))[0]]] += 1


def best_allocation(
    *,
    noise: npt.ArrayLike,
    dim: int,
    budget: float,
    objective: Objective = "max",
    weights: npt.ArrayLike = 1.0,
    costs: npt.ArrayLike = 1.0,
    floors: npt.ArrayLike = 0.0,
    caps: npt.ArrayLike = np.inf,
    tie_break: npt.ArrayLike | None = None,
) -> Counts:
    """The split into whole units with the smallest static loss; limits and ties as above.

    Largest remainders can leave a mild arm at d+1 units, where its expected error is infinite; here
    all that have noise get one more, if the budget pays for it, and the last units go, one by one, where the
    loss falls most for its cost.

    >>> best_allocation(noise=[0.01, 3.0], dim=2, budget=30).tolist()
    [4, 26]
    """
    needs = dim * checked_noise(noise) * np.asarray(weights, float)
    prices = _checked_costs(costs, len(needs))
    most = np.broadcast_to(np.asarray(caps, float), needs.shape)
    least = np.maximum(np.broadcast_to(np.asarray(floors, float), needs.shape), dim + 1)
    finite = np.minimum(np.maximum(least, np.where(needs > 0.0, dim + 2, dim + 1)), most)
    if covers(budget, exact_sum(prices * finite)):
        least = finite
    ideal = ideal_allocation(
        noise=noise,
        dim=dim,
        budget=budget,
        objective=objective,
        weights=weights,
        costs=costs,
        floors=least,
        caps=caps,
    )
    counts: Counts = np.maximum(np.floor(ideal) - _UNROUNDED, least).astype(np.int64)
    priority = np.arange(len(counts)) if tie_break is None else np.asarray(tie_break)
    discounts = cost_discounts(prices, objective)
    order = norm_order(objective)

    def urgency(i: int) -> float:
        """How much the next unit of arm i matters, largest first."""
        spare = float(counts[i] - dim - 1)
        if needs[i] == 0.0:
            return 0.0
        if spare == 0.0:
            return math.inf
        now = float(needs[i]) / spare
        # (now^p − next^p)/c, as its p-th root so that large p do not underflow
        fall = 1.0 if math.isinf(order) else power(1.0 - power(spare / (spare + 1.0), order), 1.0 / order)
        return now * fall * float(discounts[i])

    queue = [(-urgency(i), int(priority[i]), i) for i in range(len(counts))]
    heapq.heapify(queue)
    left = budget - exact_sum(prices * counts)
    while queue:
        i = queue[0][2]
        if left < prices[i] * (1.0 - ROUNDING) or counts[i] >= most[i]:
            heapq.heappop(queue)
            continue
        counts[i] += 1
        left -= float(prices[i])
        heapq.heapreplace(queue, (-urgency(i), int(priority[i]), i))
    return counts


def uniform_allocation(arms: int, budget: float, costs: npt.ArrayLike = 1.0) -> Counts:
    """n/m units an arm; the remainder goes to the arms listed first, if it pays for them."""
    prices = _checked_costs(costs, arms)
    counts = np.full(arms, int(budget / exact_sum(prices) + ROUNDING), dtype=np.int64)
    left = budget - exact_sum(prices * counts)
    for i in range(arms):
        if left >= prices[i] * (1.0 - ROUNDING):
            counts[i] += 1
            left -= float(prices[i])
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


def optimal_loss(noise: npt.ArrayLike, dim: int, budget: float, costs: npt.ArrayLike = 1.0) -> float:
    """L*_n = d·Σσ²/(n − m(d+1)), the loss of the ideal allocation for "max"; ∞ at n = m(d+1).

    With costs c and money C it is d·Σcσ²/(C − Σc(d+1)).

    >>> round(optimal_loss([0.01, 0.02, 0.75, 1, 2, 2, 3], dim=10, budget=350), 4)
    0.3216
    """
    variances = checked_noise(noise)
    prices = _checked_costs(costs, len(variances))
    spare = budget - exact_sum(prices) * (dim + 1)
    if spare <= 0:
        return math.inf
    return dim * exact_sum(prices * variances) / spare


def optimal_loss_bounds(noise: npt.ArrayLike, dim: int, budget: int) -> tuple[float, float]:
    """md·σ̄²/n ≤ L*_n ≤ 2md·σ̄²/n, valid for n ≥ 2m(d+1) (end of the proof of Prop. 1)."""
    variances = checked_noise(noise)
    needed = 2 * len(variances) * (dim + 1)
    if budget < needed:
        raise InvalidArgument(
            f"the bounds of Prop. 1 hold from n = 2m(d+1) = {needed} on, not at n = {budget}",
            hint="optimal_loss() is exact at any n",
        )
    lower = dim * exact_sum(variances) / budget
    return lower, 2.0 * lower


def wild_arms(noise: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """Which arms are wild, σ² ≥ σ̄²; the others are mild."""
    variances = checked_noise(noise)
    return np.asarray(variances >= exact_sum(variances) / len(variances))


def _checked_costs(costs: npt.ArrayLike, arms: int) -> Vector:
    """One positive cost an arm."""
    try:
        prices: Vector = np.broadcast_to(real_array(costs), (arms,))
    except (TypeError, ValueError, OverflowError):
        prices = np.array([np.nan])
    if not np.all((prices > 0.0) & np.isfinite(prices)):
        raise InvalidArgument(
            f"costs {costs!r} are not positive numbers", hint="give one an arm, or one for all"
        )
    return prices
