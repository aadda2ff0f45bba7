"""Budget curves: how many units any policy needs for a target error, by simulation."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from equipoise.core.policies.base.policy import Policy, parse_policy
from equipoise.core.theory.plan import Plan
from equipoise.core.theory.planning import whole_steps
from equipoise.errors import InvalidArgument
from equipoise.lab.results.estimate import Estimate
from equipoise.lab.results.policy import objective_estimate
from equipoise.lab.running.planned_world import Simulating, planned_world
from equipoise.lab.running.simulate import Progress, simulate
from equipoise.lab.scenario import Scenario

# A policy that looks at contexts can need fewer units than the oracle, and a poor one more than
# uniform: the first grid of budgets reaches this far beyond both.
_BELOW, _ABOVE = 0.75, 1.15
_GRID = 5
# Then three more budgets this close to the crossing, where a parabola in log-log fits well.
_NEAR = (0.93, 1.0, 1.07)
_FIT_REACH = 1.5
_STEP = 1.5
# State grows with the budget: beyond this a trial is no longer a matter of seconds.
_LARGEST_BUDGET = 1_000_000
_STANDARD_ERRORS = 2.0


@dataclass(frozen=True)
class SimulatedBudget:
    """The smallest budget with which a policy reached the target in simulation."""

    policy: str
    target: float
    budget: float
    budget_range: tuple[float, float]
    """Budgets at which the curve, two standard errors lower and higher, reaches the target."""
    uniform_budget: float
    """What the uniform allocation needs, by closed form."""
    curve: tuple[tuple[float, Estimate], ...]
    """Simulated budgets, in ascending order, and the objective's value at each."""
    trials: int
    seed: int
    estimator: str
    """How trials were judged."""

    @property
    def saving(self) -> float:
        """What is saved against the uniform allocation; below zero if more is needed."""
        return self.uniform_budget - self.budget

    def headings(self) -> list[str]:
        """Of a table of them."""
        return ["simulated", "budget", "± 2 standard errors", "saved against uniform"]

    def cells(self) -> list[str]:
        """Its row."""
        low, high = self.budget_range
        share = 100 * self.saving / self.uniform_budget
        return [
            self.policy,
            f"{self.budget:.10g}",
            f"{low:.10g} – {high:.10g}",
            f"{self.saving:.10g} ({share:.0f} %)",
        ]

    def record(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "budget": self.budget,
            "budget_range": list(self.budget_range),
            "saving": self.saving,
            "trials": self.trials,
            "seed": self.seed,
            "curve": [
                {
                    "budget": n,
                    "value": loss.value,
                    "stderr": loss.stderr if math.isfinite(loss.stderr) else None,
                }
                for n, loss in self.curve
            ],
        }


def simulated_budget(closed: Plan, policy: Policy | str, how: Simulating) -> SimulatedBudget:
    """The smallest budget with which ``policy`` is expected to reach the target of a plan.

    Budgets around those of the closed form are simulated, and a curve through log loss against log
    budget is solved for the target. Contexts are Gaussian, where their covariance does not matter, and arms
    have nothing in common that could be pooled, unless a scenario says otherwise.

    Parameters
    ----------
    closed
        The plan by closed form, with a target.
    how
        Trials are those of every simulated budget; progress is called with the number of budgets done and
        how many are expected in all.

    Examples
    --------
    >>> from equipoise.core.theory.planning import static_plan
    >>> closed = static_plan(noise=[0.5, 4.0], dim=2, target=0.2)
    >>> found = simulated_budget(closed, "trace-ucb", Simulating(trials=200))
    >>> low, high = found.budget_range
    >>> low <= found.budget <= high < found.uniform_budget
    True
    """
    if closed.target is None:
        raise InvalidArgument("the plan has no target", hint="eq.plan(target=0.1, …)")
    step = min(closed.costs) if closed.has_costs else 1
    # Budgets in steps of the cheapest arm's cost are whole numbers.
    closed = _in_steps(closed, step)
    chosen = parse_policy(policy)
    if closed["uniform"].budget > _LARGEST_BUDGET:
        raise InvalidArgument(
            f"the uniform allocation needs {closed['uniform'].budget:.10g} units: too many to simulate",
            hint="plan by closed form, without a policy, or choose a larger target",
        )

    def world(budget: int) -> Scenario:
        return planned_world(closed, budget, how)

    curve = _Curve(closed, chosen, world, how.settings, how.progress)
    curve.bracket()
    curve.refine()
    budget = curve.solve(0.0)
    ends = curve.solve(-_STANDARD_ERRORS), curve.solve(_STANDARD_ERRORS)
    return SimulatedBudget(
        policy=policy if isinstance(policy, str) else chosen.spec,
        target=float(closed.target or math.nan),
        budget=step * budget,
        budget_range=(step * min(*ends, budget), step * max(*ends, budget)),
        uniform_budget=step * closed["uniform"].budget,
        curve=tuple((step * n, loss) for n, loss in sorted(curve.points.items())),
        trials=how.trials,
        seed=how.seed,
        estimator=world(budget).estimator,
    )


def _in_steps(closed: Plan, step: float) -> Plan:
    """The same plan with budgets and costs in steps."""
    if step == 1:
        return closed

    def steps(money: float) -> int:
        return round(money / step)

    budgets = [
        replace(each, budget=steps(each.budget), budget_range=(steps(low), steps(high)))
        for each in closed.budgets
        for low, high in [each.budget_range]
    ]
    return replace(closed, costs=tuple(cost / step for cost in closed.costs), budgets=tuple(budgets))


@dataclass
class _Curve:
    """Simulated points, and what was asked."""

    closed: Plan
    policy: Policy
    world: Callable[[int], Scenario]
    settings: dict[str, Any]
    progress: Progress | None
    points: dict[int, Estimate] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.least = whole_steps(sum(self.closed.costs) * (self.closed.dim + 1), 1.0)
        self.target = self.closed.target or math.nan

    def loss(self, budget: int) -> float:
        """Simulated loss at a budget, from memory where it is known."""
        if budget not in self.points:
            if budget > _LARGEST_BUDGET:
                raise InvalidArgument(
                    f"{self.policy.spec} does not reach {self.target:g} with {_LARGEST_BUDGET} units",
                    hint="choose a larger target or another policy",
                )
            result = simulate(self.world(budget), [self.policy], **self.settings)
            self.points[budget] = objective_estimate(result[self.policy.spec], self.closed.objective)
            if self.progress is not None:
                self.progress(len(self.points), max(_GRID + len(_NEAR), len(self.points)))
        return self.points[budget].value

    def bracket(self) -> None:
        """A grid of budgets, stretched until the target lies inside."""
        low = max(self.least, math.floor(_BELOW * self.closed["oracle"].budget))
        high = max(low + 1, math.ceil(_ABOVE * self.closed["uniform"].budget))
        for budget in sorted({round(n) for n in np.geomspace(low, high, _GRID)}):
            self.loss(budget)
        while self.loss(low) <= self.target and low > self.least:
            low = max(self.least, math.floor(low / _STEP))
        while self.loss(high) > self.target:
            high = math.ceil(high * _STEP)

    def refine(self) -> None:
        """More budgets where the curve meets the target."""
        middle = self._crossing(0.0)
        for factor in _NEAR:
            self.loss(max(self.least, round(factor * middle)))

    def solve(self, standard_errors: float) -> int:
        """Where the fitted curve, shifted by some standard errors, reaches the target."""
        crossing = self._crossing(standard_errors)
        near = sorted(n for n in self.points if crossing / _FIT_REACH <= n <= crossing * _FIT_REACH)
        heights = np.array([self._height(n, standard_errors) for n in near])
        # A parabola needs more points than coefficients, and some on each side of the target.
        if len(near) < 4 or heights[0] <= math.log(self.target):
            return math.ceil(crossing)
        logs = np.log(np.array(near, float))
        centre = math.log(crossing)
        curvature, slope, level = np.polyfit(logs - centre, heights - math.log(self.target), 2)
        roots = np.roots([curvature, slope, level])
        falling = [r.real for r in roots if abs(r.imag) < 1e-12 and 2 * curvature * r.real + slope < 0]
        inside = [r for r in falling if abs(r) <= math.log(_FIT_REACH)]
        best = min(inside, key=abs, default=0.0)
        return max(self.least, math.ceil(math.exp(centre + best) - 1e-9))

    def _crossing(self, standard_errors: float) -> float:
        """Where straight lines between the points, in log-log, last come down to the target."""
        budgets = sorted(self.points)
        level = math.log(self.target)
        heights = [self._height(n, standard_errors) for n in budgets]
        above = [place for place, height in enumerate(heights) if height > level]
        if not above:
            return float(budgets[0])
        last = above[-1]
        # Past the last point the curve goes on as n⁻¹, its slope when budgets are large.
        if last == len(budgets) - 1:
            return budgets[-1] * math.exp(heights[-1] - level)
        fall = (heights[last] - level) / (heights[last] - heights[last + 1])
        ratio = budgets[last + 1] / budgets[last]
        return float(budgets[last] * ratio**fall)

    def _height(self, budget: int, standard_errors: float) -> float:
        estimate = self.points[budget]
        # The standard error of a single trial is unknown, and widens nothing.
        shift = standard_errors * estimate.stderr if math.isfinite(estimate.stderr) else 0.0
        return math.log(max(estimate.value + shift, 1e-300))
