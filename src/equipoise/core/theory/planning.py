"""Planning: how many units a target error needs, and what a good allocation saves."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from equipoise.core.arithmetic.sums import exact_sum
from equipoise.core.arrays import Vector
from equipoise.core.problem.objective import Objective
from equipoise.core.problem.real import real_array
from equipoise.core.text_tables import html_table, text_table
from equipoise.core.theory.static import (
    best_allocation,
    checked_noise,
    static_loss,
    uniform_allocation,
)
from equipoise.errors import InvalidArgument

Guess = float | tuple[float, float]

_LARGEST_BUDGET = 10**12
_ROUNDING_REACH = 64


@dataclass(frozen=True)
class PlannedBudget:
    """The smallest budget with which one allocation expects to reach the target."""

    policy: str
    budget: float
    """Units; with costs, money, in steps of the cheapest arm's cost."""
    counts: tuple[int, ...]
    expected_error: float
    """The objective's expected value at that budget."""
    budget_range: tuple[float, float]
    """Budgets at the lowest and at the highest guessed noise; the same number without guesses."""


@dataclass(frozen=True)
class Plan:
    """Budgets by closed form, exact for OLS and Gaussian contexts: errors are dσ²/(k−d−1)."""

    target: float
    noise: tuple[float, ...]
    """Noise variances planned for; the geometric middle of a guessed range."""
    noise_range: tuple[tuple[float, float], ...]
    """Guessed ends of every arm's noise variance; twice the same number where it was given."""
    weights: tuple[float, ...]
    costs: tuple[float, ...]
    dim: int
    objective: Objective
    budgets: tuple[PlannedBudget, ...]

    def __getitem__(self, policy: str) -> PlannedBudget:
        for planned in self.budgets:
            if planned.policy == policy:
                return planned
        raise InvalidArgument(
            f"no budget was planned for {policy!r}",
            hint=f"planned: {', '.join(p.policy for p in self.budgets)}",
        )

    @property
    def saving(self) -> float:
        """What the optimal allocation saves against the uniform one."""
        return self["uniform"].budget - self["oracle"].budget

    def record(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "target": self.target,
            "noise": list(self.noise),
            "noise_range": [list(ends) for ends in self.noise_range],
            "weights": list(self.weights),
            "costs": list(self.costs),
            "dim": self.dim,
            "objective": self.objective,
            "saving": self.saving,
            "policies": {
                planned.policy: {
                    "budget": planned.budget,
                    "budget_range": list(planned.budget_range),
                    "counts": list(planned.counts),
                    "expected_error": planned.expected_error,
                }
                for planned in self.budgets
            },
        }

    @property
    def has_costs(self) -> bool:
        """Whether budgets are money."""
        return any(cost != 1.0 for cost in self.costs)

    def __str__(self) -> str:
        share = 100.0 * self.saving / self["uniform"].budget
        what, unit = ("Budget", "") if self.has_costs else ("Units", " units")
        return (
            f"{what} for an expected error of {self.target:g} ({_objective_text(self.objective)}), "
            f"{len(self.noise)} arms, {self.dim} features\n"
            f"{text_table(*self._table())}\n"
            f"The optimal allocation saves {self.saving:.10g}{unit} ({share:.0f} %)."
        )

    def _repr_html_(self) -> str:
        return html_table(*self._table())

    def _table(self) -> tuple[list[str], list[list[str]]]:
        guessed = any(low != high for low, high in (planned.budget_range for planned in self.budgets))
        header = [
            "allocation",
            "budget" if self.has_costs else "units",
            *(["if noise is low – high"] if guessed else []),
            "error",
            "units an arm",
        ]
        rows = []
        for planned in self.budgets:
            row = [planned.policy, f"{planned.budget:.10g}"]
            if guessed:
                row.append(" – ".join(f"{end:.10g}" for end in planned.budget_range))
            rows.append([*row, f"{planned.expected_error:.4g}", " ".join(map(str, planned.counts))])
        return header, rows


def plan(
    *,
    noise: Sequence[Guess] | npt.NDArray[np.float64],
    dim: int,
    target: float,
    objective: Objective = "max",
    weights: npt.ArrayLike = 1.0,
    costs: npt.ArrayLike = 1.0,
) -> Plan:
    """The budget with which the objective is expected to reach ``target``.

    Parameters
    ----------
    noise
        Noise variance of every arm: a number, or a guess as a (low, high) pair.
    dim
        Number of features d.
    target
        Expected squared prediction error that is good enough, in squared units of the outcome.
    costs
        What a unit of every arm costs. Budgets are then money.

    Examples
    --------
    >>> result = plan(noise=[0.5, 1.0, (1.0, 4.0)], dim=5, target=0.1)
    >>> result["oracle"].budget, result["uniform"].budget, result.saving
    (193, 318, 125)
    """
    lows, middles, highs = _guesses(noise)
    if not isinstance(dim, int | np.integer) or dim < 1:
        raise InvalidArgument(f"dim={dim!r} is not a positive whole number")
    if not 0.0 < float(target) < math.inf:
        raise InvalidArgument(f"target={target!r} is not a positive number", hint="a squared error, e.g. 0.1")
    importance = _one_an_arm("weight", weights, len(middles))
    prices = _one_an_arm("cost", costs, len(middles))
    # Budgets are whole numbers of the cheapest arm's cost, so that money has no unit; 1 stays an integer.
    step = float(prices.min()) if np.any(prices != 1.0) else 1

    def counts(policy: str, variances: Vector, budget: float) -> npt.NDArray[np.int64]:
        if policy == "uniform":
            return uniform_allocation(len(variances), budget, prices)
        return best_allocation(
            noise=variances, dim=dim, budget=budget, objective=objective, weights=importance, costs=prices
        )

    def loss(policy: str, variances: Vector, budget: float) -> float:
        return static_loss(variances, counts(policy, variances, budget), dim, objective, importance)

    def smallest(policy: str, variances: Vector) -> float:
        least = whole_steps(exact_sum(prices) * (dim + 1), step)
        return step * _smallest_budget(lambda steps: loss(policy, variances, steps * step) <= target, least)

    budgets = []
    for policy in ("oracle", "uniform"):
        budget = smallest(policy, middles)
        budgets.append(
            PlannedBudget(
                policy=policy,
                budget=budget,
                counts=tuple(counts(policy, middles, budget).tolist()),
                expected_error=loss(policy, middles, budget),
                budget_range=(smallest(policy, lows), smallest(policy, highs)),
            )
        )
    return Plan(
        target=float(target),
        noise=tuple(middles.tolist()),
        noise_range=tuple(zip(lows.tolist(), highs.tolist(), strict=True)),
        weights=tuple(importance.tolist()),
        costs=tuple(prices.tolist()),
        dim=int(dim),
        objective=objective,
        budgets=tuple(budgets),
    )


def whole_steps(money: float, step: float) -> int:
    """The smallest number of steps that is not below some money, but for rounding."""
    return math.ceil(money / step - 1e-9)


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


def _objective_text(objective: Objective) -> str:
    if objective == "max":
        return "worst arm"
    return "mean of the arms" if objective == "mean" else f"{objective}-norm of the arms"
