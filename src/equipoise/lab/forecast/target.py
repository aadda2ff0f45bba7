"""The budget that reaches a target, for every policy: by probability, and in mean."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from equipoise.core.arithmetic.sums import exact_sum
from equipoise.core.arrays import Vector
from equipoise.core.experiment.roster import spent
from equipoise.lab.forecast.start import with_budget
from equipoise.lab.results.estimate import Estimate, finite, mean_estimate, quantile_estimate

if TYPE_CHECKING:
    from equipoise.lab.forecast.result import Course
    from equipoise.lab.forecast.runner import Runner

LIKELY = (0.5, 0.9)
"""Probabilities with which the target is to be reached."""

# Errors fall as 1/n where budgets are large: a step aims a little beyond that, and never too far.
_BEYOND, _FARTHEST_STEP = 1.15, 4.0
# Between two budgets this close a straight line in log-log does.
_CLOSE = 1.25
_REFINEMENTS = 3
# State grows with the budget, and every one is simulated.
_MOST_UNITS = 200_000
_STANDARD_ERRORS = 2.0
# Only budgets so many times as large as what is spent say how the curve goes on.
_FAR = 8.0
# And of two budgets those of which the one is so many times as large.
_APART = 2.0


@dataclass(frozen=True)
class TargetBudget:
    """The smallest budget, in all, with which a policy reaches the target from here."""

    policy: str
    criterion: str
    """``"mean"``, or ``"probability 0.9"``: the objective's value is at most the target so often."""
    budget: float
    """What is spent already, where that suffices; infinite where no budget that can be simulated does."""
    low: float
    """Where the curve two standard errors lower reaches the target; not a number where it has none."""
    high: float
    """The same two standard errors higher."""

    def record(self) -> dict[str, Any]:
        """Plain values."""
        ends = {name: finite(getattr(self, name)) for name in ("budget", "low", "high")}
        return {"policy": self.policy, "criterion": self.criterion, **ends}


def target_budgets(runner: Runner, courses: Sequence[Course], target: float) -> tuple[TargetBudget, ...]:
    """Search every policy's budgets, beside those of the courses that are simulated already."""
    found: list[TargetBudget] = []
    for policy in {course.policy: None for course in courses}:
        ends = {course.budget: course.values[:, -1] for course in courses if course.policy == policy}
        found += _Curve(runner, policy, target, ends).search()
    return tuple(found)


def criteria() -> list[str]:
    """By name."""
    return [*(f"probability {level:g}" for level in LIKELY), "mean"]


class _Curve:
    """The objective's value at the end of simulated budgets."""

    def __init__(self, runner: Runner, policy: str, target: float, ends: dict[float, Vector]) -> None:
        self._runner, self._policy, self._target, self._ends = runner, policy, target, ends
        problem = runner.record.problem
        self._whole = isinstance(problem.budget, int)
        # Floors are to be paid for, too.
        self._least = max(spent(runner.record), problem.least_budget)
        cheapest = float(np.min(problem.costs))
        self._most = min(exact_sum(problem.costs * problem.caps), self._least + _MOST_UNITS * cheapest)
        if self._whole:
            self._least, self._most = math.ceil(self._least), math.floor(self._most)
        self._has_mean = all(runner.truths.has_mean)
        self._has_error = all(runner.truths.has_error)

    def search(self) -> list[TargetBudget]:
        """Budgets that reach the target by every criterion."""
        wanted = criteria() if self._has_mean else criteria()[:-1]
        self._simulate(self._least)
        self._stretch(wanted)
        for _ in range(_REFINEMENTS):
            for criterion in wanted:
                self._refine(criterion)
        nothing = [
            TargetBudget(self._policy, criterion, math.nan, math.nan, math.nan)
            for criterion in criteria()
            if criterion not in wanted
        ]
        return [self._answer(criterion) for criterion in wanted] + nothing

    def _stretch(self, wanted: Sequence[str]) -> None:
        """Larger budgets until all criteria are met, or no larger one can be simulated."""
        while True:
            largest = max(self._ends)
            hoped = [criterion for criterion in wanted if not self._is_hopeless(criterion)]
            height = max((self._height(largest, criterion) for criterion in hoped), default=-math.inf)
            if height <= math.log(self._target) or largest >= self._most:
                return
            ratio = math.exp(height - math.log(self._target)) * _BEYOND
            self._simulate(min(largest * min(ratio, _FARTHEST_STEP), self._most))

    def _is_hopeless(self, criterion: str) -> bool:
        """Whether the curve is so flat that twice its fall would not reach the target with any budget.

        So it is where an arm that is closed, or has its cap, is too little known.
        """
        largest = max(self._ends)
        # Between budgets that are near each other chance alone may be what is seen of the fall.
        before = max((end for end in self._ends if end <= largest / _APART), default=0.0)
        if largest < _FAR * self._least or before < self._least:
            return False
        height = self._height(largest, criterion)
        fall = (self._height(before, criterion) - height) / math.log(largest / before)
        left = math.log(self._most / largest)
        return height - math.log(self._target) > 2.0 * max(fall, 0.0) * left

    def _refine(self, criterion: str) -> None:
        """One more budget where the curve meets the target, unless its neighbours are near."""
        crossing = self._crossing(criterion, 0.0)
        if not self._least < crossing < math.inf:
            return
        below = max(budget for budget in self._ends if budget <= crossing)
        above = min((budget for budget in self._ends if budget >= crossing), default=crossing)
        if above > _CLOSE * below and above - below > 1:
            self._simulate(crossing)

    def _simulate(self, budget: float) -> None:
        total = min(math.ceil(budget - 1e-9), self._most) if self._whole else float(budget)
        if total not in self._ends:
            problem = with_budget(self._runner.record, total)
            [course] = self._runner.courses([(self._policy, problem)], 1)
            self._ends[total] = course.values[:, -1]

    def _answer(self, criterion: str) -> TargetBudget:
        best, *ends = (
            self._rounded(self._crossing(criterion, errors))
            for errors in (0.0, -_STANDARD_ERRORS, _STANDARD_ERRORS)
        )
        if criterion == "mean" and not self._has_error:
            return TargetBudget(self._policy, criterion, best, math.nan, math.nan)
        return TargetBudget(self._policy, criterion, best, min(best, *ends), max(best, *ends))

    def _rounded(self, budget: float) -> float:
        return math.ceil(budget - 1e-9) if self._whole and math.isfinite(budget) else budget

    def _crossing(self, criterion: str, errors: float) -> float:
        """Where straight lines between the budgets, in log-log, last come down to the target."""
        budgets, level = sorted(self._ends), math.log(self._target)
        heights = [self._height(budget, criterion, errors) for budget in budgets]
        above = [place for place, height in enumerate(heights) if height > level]
        if not above:
            return budgets[0]
        last = above[-1]
        if last == len(budgets) - 1:
            return math.inf
        fall = (heights[last] - level) / (heights[last] - heights[last + 1])
        return float(budgets[last] * (budgets[last + 1] / budgets[last]) ** fall)

    def _height(self, budget: float, criterion: str, errors: float = 0.0) -> float:
        found = self._found(budget, criterion)
        shift = errors * found.stderr if math.isfinite(found.stderr) else 0.0
        return math.log(max(found.value + shift, 1e-300))

    def _found(self, budget: float, criterion: str) -> Estimate:
        values = self._ends[budget]
        if criterion == "mean":
            mean = mean_estimate(values)
            return mean if self._has_error else Estimate(mean.value, math.nan, mean.trials)
        return quantile_estimate(values, float(criterion.removeprefix("probability ")))
