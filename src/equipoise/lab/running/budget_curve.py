"""Budget curves: how many units any policy needs for a target error, by simulation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from equipoise.core.estimates.estimators import DEFAULT
from equipoise.core.policies.base.policy import Policy, parse_policy
from equipoise.core.problem.objective import Objective, combine, norm_order
from equipoise.core.theory.planning import Plan, plan, whole_steps
from equipoise.errors import InvalidArgument
from equipoise.lab.pieces import SparseTruth
from equipoise.lab.results.estimate import Estimate
from equipoise.lab.results.policy import PolicyResult
from equipoise.lab.running.simulate import Progress, simulate
from equipoise.lab.scenario import GaussianScenario

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

    @property
    def saving(self) -> float:
        """What is saved against the uniform allocation; below zero if more is needed."""
        return self.uniform_budget - self.budget

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


def simulated_budget(
    policy: Policy | str,
    *,
    noise: Sequence[float] | npt.NDArray[np.float64],
    dim: int,
    target: float,
    objective: Objective = "max",
    weights: npt.ArrayLike = 1.0,
    costs: npt.ArrayLike = 1.0,
    estimator: str = DEFAULT,
    trials: int = 2_000,
    seed: int = 0,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> SimulatedBudget:
    """The smallest budget with which ``policy`` is expected to reach ``target``.

    Budgets around those of the closed form are simulated, and a curve through log loss against log
    budget is solved for the target. Contexts are Gaussian; their covariance does not matter.

    Parameters
    ----------
    noise
        Noise variance of every arm.
    costs
        What a unit of every arm costs. Budgets are then money, in steps of the cheapest arm's cost.
    estimator
        How final models are estimated, as :meth:`equipoise.Experiment.estimates` takes it. Arms are taken to
        have nothing in common, so ``"pooled"`` gains little here.
    trials
        Trials at every simulated budget.
    progress
        Called with the number of budgets done and how many are expected in all.

    Examples
    --------
    >>> found = simulated_budget("trace-ucb", noise=[0.5, 4.0], dim=2, target=0.2, trials=200)
    >>> low, high = found.budget_range
    >>> low <= found.budget <= high < found.uniform_budget
    True
    """
    prices = np.asarray(costs, float)
    # Costs that make no sense reach plan() as they are, which refuses them.
    divisible = prices.size and np.all(np.isfinite(prices) & (prices > 0.0)) and np.any(prices != 1.0)
    step = float(prices.min()) if divisible else 1
    closed = plan(
        noise=list(noise), dim=dim, target=target, objective=objective, weights=weights, costs=prices / step
    )
    chosen = parse_policy(policy)
    if closed["uniform"].budget > _LARGEST_BUDGET:
        raise InvalidArgument(
            f"the uniform allocation needs {closed['uniform'].budget:.10g} units: too many to simulate",
            hint="plan by closed form, without a policy, or choose a larger target",
        )
    curve = _Curve(closed, chosen, estimator, trials, seed, workers, executor, progress)
    curve.bracket()
    curve.refine()
    budget = curve.solve(0.0)
    ends = curve.solve(-_STANDARD_ERRORS), curve.solve(_STANDARD_ERRORS)
    return SimulatedBudget(
        policy=policy if isinstance(policy, str) else chosen.spec,
        target=closed.target,
        budget=step * budget,
        budget_range=(step * min(*ends, budget), step * max(*ends, budget)),
        uniform_budget=step * closed["uniform"].budget,
        curve=tuple((step * n, loss) for n, loss in sorted(curve.points.items())),
        trials=trials,
        seed=seed,
    )


def objective_estimate(result: PolicyResult, objective: Objective) -> Estimate:
    """The objective's value of the arms' mean errors, its standard error by the delta method."""
    order, errors = norm_order(objective), result.errors
    if math.isinf(order):
        return result.expected_max()
    means = errors.mean(axis=0)
    value = combine(means, np.ones(len(means)), objective)
    # dL/de = (e/L)^(p−1)/m
    slopes = (means / value) ** (order - 1.0) / len(means) if value > 0.0 else np.zeros(len(means))
    spread = float((errors @ slopes).std(ddof=1)) if len(errors) > 1 else math.nan
    return Estimate(value, spread / math.sqrt(len(errors)), len(errors))


@dataclass
class _Curve:
    """Simulated points, and what was asked."""

    closed: Plan
    policy: Policy
    estimator: str
    trials: int
    seed: int
    workers: int | None
    executor: Executor | None
    progress: Progress | None
    points: dict[int, Estimate] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.least = whole_steps(sum(self.closed.costs) * (self.closed.dim + 1), 1.0)

    def loss(self, budget: int) -> float:
        """Simulated loss at a budget, from memory where it is known."""
        if budget not in self.points:
            if budget > _LARGEST_BUDGET:
                raise InvalidArgument(
                    f"{self.policy.spec} does not reach {self.closed.target:g} with {_LARGEST_BUDGET} units",
                    hint="choose a larger target or another policy",
                )
            scenario = GaussianScenario(
                self.closed.noise,
                self.closed.dim,
                budget,
                # Coefficients the size of the noise: what shrinking does, and so the answer, then do not
                # depend on the unit of the outcome. Arms have nothing in common that could be pooled.
                truth=SparseTruth(
                    features=self.closed.dim, values="normal", scale=math.sqrt(np.mean(self.closed.noise))
                ),
                estimator=self.estimator,
                objective=self.closed.objective,
                weights=self.closed.weights,
                costs=self.closed.costs if self.closed.has_costs else None,
            )
            result = simulate(
                scenario,
                [self.policy],
                trials=self.trials,
                seed=self.seed,
                workers=self.workers,
                executor=self.executor,
            )
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
        while self.loss(low) <= self.closed.target and low > self.least:
            low = max(self.least, math.floor(low / _STEP))
        while self.loss(high) > self.closed.target:
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
        if len(near) < 4 or heights[0] <= math.log(self.closed.target):
            return math.ceil(crossing)
        logs = np.log(np.array(near, float))
        centre = math.log(crossing)
        curvature, slope, level = np.polyfit(logs - centre, heights - math.log(self.closed.target), 2)
        roots = np.roots([curvature, slope, level])
        falling = [r.real for r in roots if abs(r.imag) < 1e-12 and 2 * curvature * r.real + slope < 0]
        inside = [r for r in falling if abs(r) <= math.log(_FIT_REACH)]
        best = min(inside, key=abs, default=0.0)
        return max(self.least, math.ceil(math.exp(centre + best) - 1e-9))

    def _crossing(self, standard_errors: float) -> float:
        """Where straight lines between the points, in log-log, last come down to the target."""
        budgets = sorted(self.points)
        level = math.log(self.closed.target)
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
