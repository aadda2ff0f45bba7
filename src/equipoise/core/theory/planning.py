"""Planning: how many units a target error needs, which error a budget gives, and what is saved."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from equipoise.core.arithmetic.sums import exact_sum
from equipoise.core.arrays import Counts, Vector
from equipoise.core.problem.costs import ROUNDING
from equipoise.core.problem.objective import Objective
from equipoise.core.problem.real import real_array
from equipoise.core.theory.plan import Plan, PlannedBudget
from equipoise.core.theory.static import (
    best_allocation,
    checked_noise,
    static_loss,
    static_losses,
    uniform_allocation,
)
from equipoise.errors import InvalidArgument

Guess = float | tuple[float, float]

_LARGEST_BUDGET = 10**12
_ROUNDING_REACH = 64


def static_plan(
    *,
    noise: Sequence[Guess] | npt.NDArray[np.float64],
    dim: int,
    target: float | None = None,
    budget: float | None = None,
    objective: Objective = "max",
    weights: npt.ArrayLike = 1.0,
    costs: npt.ArrayLike = 1.0,
    outcomes: npt.ArrayLike = 1.0,
    arms: Sequence[str] | None = None,
) -> Plan:
    """The optimal and the uniform allocation by closed form: budgets for a target, or errors of a budget.

    ``outcomes`` are the shares of every arm's outcomes that come. Errors are then taken at the number that
    is expected, which flatters them a little where it is small.
    """
    lows, middles, highs = _guesses(noise)
    if not isinstance(dim, int | np.integer) or isinstance(dim, bool) or dim < 1:
        raise InvalidArgument(f"dim={dim!r} is not a positive whole number")
    names = tuple(f"arm-{i + 1}" for i in range(len(middles))) if arms is None else tuple(arms)
    prices = _one_an_arm("cost", costs, len(middles))
    _check_question(target, budget, prices)
    terms = _Terms(
        dim=int(dim),
        objective=objective,
        weights=_one_an_arm("weight", weights, len(middles)),
        costs=prices,
        outcomes=_one_an_arm("share of outcome", outcomes, len(middles)),
    )
    planned = [
        terms.for_target(policy, (lows, middles, highs), float(target))
        if target is not None
        else terms.for_budget(policy, (lows, middles, highs), _plain(budget))
        for policy in ("oracle", "uniform")
    ]
    best, even = planned
    if target is not None:
        saving = even.budget - best.budget
    elif math.isfinite(best.expected_error):
        saving = terms.smallest("uniform", middles, best.expected_error) - best.budget
    else:
        saving = math.nan
    return Plan(
        target=None if target is None else float(target),
        budget=None if budget is None else _plain(budget),
        noise=tuple(middles.tolist()),
        noise_range=tuple(zip(lows.tolist(), highs.tolist(), strict=True)),
        weights=tuple(terms.weights.tolist()),
        costs=tuple(prices.tolist()),
        dim=int(dim),
        objective=objective,
        budgets=tuple(planned),
        saving=saving,
        outcomes=tuple(terms.outcomes.tolist()),
        arms=names,
    )


@dataclass(frozen=True)
class _Terms:
    """What is asked of every allocation."""

    dim: int
    objective: Objective
    weights: Vector
    costs: Vector
    outcomes: Vector

    @property
    def step(self) -> float:
        """Budgets are whole numbers of the cheapest arm's cost, so that money has no unit; 1 stays whole."""
        return float(self.costs.min()) if np.any(self.costs != 1.0) else 1

    def for_target(self, policy: str, noises: tuple[Vector, Vector, Vector], target: float) -> PlannedBudget:
        lows, middles, highs = noises
        budget = self.smallest(policy, middles, target)
        error = self.loss(policy, middles, budget)
        return PlannedBudget(
            policy=policy,
            budget=budget,
            counts=tuple(self.counts(policy, middles, budget).tolist()),
            expected_error=error,
            budget_range=(self.smallest(policy, lows, target), self.smallest(policy, highs, target)),
            error_range=(error, error),
        )

    def for_budget(self, policy: str, noises: tuple[Vector, Vector, Vector], budget: float) -> PlannedBudget:
        lows, middles, highs = noises
        return PlannedBudget(
            policy=policy,
            budget=budget,
            counts=tuple(self.counts(policy, middles, budget).tolist()),
            expected_error=self.loss(policy, middles, budget),
            budget_range=(budget, budget),
            error_range=(self.loss(policy, lows, budget), self.loss(policy, highs, budget)),
        )

    def counts(self, policy: str, variances: Vector, budget: float) -> Counts:
        """Units of every arm."""
        if policy == "uniform":
            return uniform_allocation(len(variances), budget, self.costs)
        # An outcome costs as much as the units that it takes to get one.
        bought = best_allocation(
            noise=variances,
            dim=self.dim,
            budget=budget,
            objective=self.objective,
            weights=self.weights,
            costs=self.costs / self.outcomes,
        )
        return bought if np.all(self.outcomes == 1.0) else self._units_for(bought, variances, budget)

    def loss(self, policy: str, variances: Vector, budget: float) -> float:
        """The objective's value of an allocation."""
        known = self.counts(policy, variances, budget) * self.outcomes
        return static_loss(variances, known, self.dim, self.objective, self.weights)

    def smallest(self, policy: str, variances: Vector, target: float) -> float:
        """The smallest budget that reaches a target."""
        step = self.step
        least = whole_steps(exact_sum(self.costs / self.outcomes) * (self.dim + 1), step)
        return step * _smallest_budget(
            lambda steps: self.loss(policy, variances, steps * step) <= target, least
        )

    def _units_for(self, bought: Counts, variances: Vector, budget: float) -> Counts:
        """Whole units that so many outcomes are expected from; what rounding leaves goes to the worst arm."""
        counts: Counts = np.floor(bought / self.outcomes + 1e-9).astype(np.int64)
        while True:
            left = budget - exact_sum(self.costs * counts)
            affordable = np.flatnonzero(self.costs * (1.0 - ROUNDING) <= left)
            if len(affordable) == 0:
                return counts
            errors = self.weights * static_losses(variances, counts * self.outcomes, self.dim)
            counts[affordable[int(np.argmax(errors[affordable]))]] += 1


def whole_steps(money: float, step: float) -> int:
    """The smallest number of steps that is not below some money, but for rounding."""
    return math.ceil(money / step - 1e-9)


def _check_question(target: float | None, budget: float | None, prices: Vector) -> None:
    """Refuse anything but a target or a budget."""
    if (target is None) == (budget is None):
        both = "both a target and a budget" if target is not None else "neither a target nor a budget"
        raise InvalidArgument(
            f"the plan has {both}",
            hint="target=0.1 asks for the budget that reaches it, budget=300 for the error that it gives",
        )
    if target is not None and not 0.0 < float(target) < math.inf:
        raise InvalidArgument(f"target={target!r} is not a positive number", hint="a squared error, e.g. 0.1")
    if budget is not None:
        countable = isinstance(budget, int | np.integer) and not isinstance(budget, bool)
        money = bool(np.any(prices != 1.0)) and isinstance(budget, float | np.floating)
        if not (countable or money) or not 0.0 < float(budget) < math.inf:
            kind = "number" if np.any(prices != 1.0) else "whole number"
            raise InvalidArgument(
                f"budget={budget!r} is not a positive {kind}",
                hint="a number of units, e.g. 300; with costs, money",
            )


def _plain(budget: float | None) -> float:
    """The budget as a number of Python."""
    return int(budget) if isinstance(budget, int | np.integer) else float(budget or math.nan)


def _one_an_arm(what: str, values: npt.ArrayLike, arms: int) -> Vector:
    try:
        numbers = real_array(values)
    except (TypeError, ValueError, OverflowError):
        numbers = np.array(np.nan)
    if numbers.shape not in ((), (arms,)):
        raise InvalidArgument(
            f"{numbers.size} {what}s for {arms} arms", hint=f"give one {what} an arm, or one for all"
        )
    if not np.all((numbers > 0) & np.isfinite(numbers)):
        raise InvalidArgument(f"{what}s {values!r} are not positive numbers")
    return np.broadcast_to(numbers, (arms,))


def _smallest_budget(reaches: Callable[[int], bool], least: int) -> int:
    high = least
    while not reaches(high):
        high *= 2
        if high > _LARGEST_BUDGET:
            raise InvalidArgument("the target needs more than 10¹² units", hint="choose a larger target")
    low = max(least - 1, high // 2)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reaches(middle) else (middle, high)
    # Rounding makes the loss not quite monotone in n: a few units less may do as well.
    nearby = range(max(least, high - _ROUNDING_REACH), high)
    return next((budget for budget in nearby if reaches(budget)), high)


def _guesses(noise: Sequence[Guess] | npt.NDArray[np.float64]) -> tuple[Vector, Vector, Vector]:
    pairs = []
    for guess in list(noise):
        low, high = guess if isinstance(guess, tuple | list) else (guess, guess)
        pairs.append((low, high))
    lows = checked_noise([low for low, _ in pairs])
    highs = checked_noise([high for _, high in pairs])
    if np.any(lows > highs):
        raise InvalidArgument(f"noise {noise!r} has a guess whose low end is above its high end")
    if np.any((lows == 0.0) & (highs > 0.0)):
        raise InvalidArgument(
            f"noise {noise!r} has a guess that starts at 0",
            hint="the middle of a guess is geometric: give a low end above 0",
        )
    # Squared errors scale with variances, so the middle of a guess is the geometric one.
    middles = np.where(lows == highs, lows, np.sqrt(lows) * np.sqrt(highs))
    return lows, middles, highs
