"""Plans both ways: the budget that a target needs, or the error that a budget gives."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from equipoise.core.policies.base.policy import Policy, parse_policy
from equipoise.core.problem.objective import Objective
from equipoise.core.theory.plan import Plan, PlannedBudget, Simulated
from equipoise.core.theory.planning import Guess, static_plan
from equipoise.errors import InvalidArgument
from equipoise.lab.pieces import Delays
from equipoise.lab.running.planned_world import Simulating, outcome_shares, unknown_fields
from equipoise.lab.running.simulate import Progress
from equipoise.lab.scenario import Scenario


def plan(
    scenario: Scenario | None = None,
    *,
    noise: Sequence[Guess] | npt.NDArray[np.float64] | None = None,
    dim: int | None = None,
    target: float | None = None,
    budget: float | None = None,
    objective: Objective | None = None,
    weights: npt.ArrayLike | None = None,
    costs: npt.ArrayLike | None = None,
    lost: float | Sequence[float] | None = None,
    delay: Delays | None = None,
    policies: Sequence[Policy | str] = (),
    trials: int = 2_000,
    seed: int = 0,
    estimator: str | None = None,
    workers: int | None = None,
    executor: Executor | None = None,
    device: str = "cpu",
    progress: Progress | None = None,
) -> Plan:
    """The budget that ``target`` needs, or the error that ``budget`` gives.

    For the optimal and the uniform allocation by closed form; for ``policies`` by simulation.

    Parameters
    ----------
    scenario
        The world as it will be, with delays, losses, closures and a calendar; simulations happen in it, and
        what is said below takes precedence. Its budget is planned for unless there is a target.
    noise
        Noise variance of every arm: a number, or a guess as a (low, high) pair.
    dim
        Number of features d; an intercept counts as one of them.
    target
        Expected squared prediction error that is good enough, in squared units of the outcome.
    budget
        Number of units; with costs, money.
    objective
        What must reach the target: ``"max"``, the worst arm, unless given; see :class:`~equipoise.Problem`.
    weights, costs
        Importance of every arm, and what a unit of it costs. With costs budgets are money.
    lost
        Share of outcomes that never arrive, for all arms or one each.
    delay
        When outcomes arrive, as a scenario has it; it matters to simulations alone.
    policies
        Policies to simulate, e.g. ``["trace-ucb"]``.
    trials, seed, estimator, workers, executor, device
        Of simulations; trials are those of every budget that is tried.
    progress
        Called with the number of simulations done and expected, of every policy in turn.

    Examples
    --------
    >>> result = plan(noise=[0.5, 1.0, (1.0, 4.0)], dim=5, target=0.1)
    >>> result["oracle"].budget, result["uniform"].budget, result.saving
    (193, 318, 125)
    >>> result = plan(noise=[0.5, 1.0, (1.0, 4.0)], dim=5, budget=193)
    >>> round(result["oracle"].expected_error, 3), round(result["uniform"].expected_error, 3), result.saving
    (0.1, 0.172, 125)
    """
    if scenario is not None:
        if not isinstance(scenario, Scenario):
            raise InvalidArgument(f"{scenario!r} is not a scenario", hint="e.g. eq.GaussianScenario(...)")
        scenario = _changed(scenario, lost=lost, delay=delay)
        if target is None and budget is None:
            budget = scenario.budget
        noise = scenario.noise if noise is None else noise
        dim = scenario.dim if dim is None else dim
        weights = scenario.weights if weights is None else weights
        costs = scenario.costs if costs is None else costs
        objective = scenario.objective if objective is None else objective
    if noise is None or dim is None:
        raise InvalidArgument(
            "the plan does not say noise and dim", hint="e.g. noise=[0.5, 1.0, 4.0], dim=5, or a scenario"
        )
    closed = static_plan(
        noise=noise,
        dim=dim,
        target=target,
        budget=budget,
        objective="max" if objective is None else objective,
        weights=1.0 if weights is None else weights,
        costs=1.0 if costs is None else costs,
        outcomes=_shares(lost) if scenario is None else outcome_shares(scenario),
        arms=None if scenario is None else scenario.arms,
    )
    if scenario is not None:
        closed = _with_calendar(closed, scenario)
    settings: dict[str, Any] = {
        **{"scenario": scenario, "delay": delay, "trials": trials, "seed": seed, "estimator": estimator},
        **{"workers": workers, "executor": executor, "device": device, "progress": progress},
    }
    names = [policies] if isinstance(policies, str | Policy) else list(policies)
    for policy in names:
        parse_policy(policy)  # a wrong name is found before the first of them is simulated
    return replace(closed, simulated=tuple(simulated(closed, policy, **settings) for policy in names))


def simulated(closed: Plan, policy: Policy | str, **settings: Any) -> Simulated:
    """What a plan asks, answered for a policy by simulation; settings are those of :func:`plan`."""
    how = Simulating(**settings)
    if closed.budget is None:
        from equipoise.lab.running.budget_curve import simulated_budget

        return simulated_budget(closed, policy, how)
    from equipoise.lab.running.planned_error import simulated_error

    return simulated_error(closed, policy, how)


def _changed(scenario: Scenario, **changes: Any) -> Scenario:
    given = {name: value for name, value in changes.items() if value is not None}
    return scenario.replace(**given) if given else scenario


def _shares(lost: Any) -> Any:
    chances = np.asarray(0.0 if lost is None else lost, float)
    if not np.all((chances >= 0.0) & (chances < 1.0)):
        raise InvalidArgument(f"lost={lost!r} is not a share below 1", hint="e.g. 0.1, or one an arm")
    return 1.0 - chances


def _with_calendar(closed: Plan, scenario: Scenario) -> Plan:
    """The same plan with what only the scenario knows."""
    accrual = scenario.accrual
    if accrual is None:
        return replace(closed, unknown=unknown_fields(scenario))
    wait = 0.0 if scenario.delay is None else scenario.delay.mean

    def timed(planned: PlannedBudget) -> PlannedBudget:
        return replace(planned, duration=accrual.expected_time(sum(planned.counts)) + wait)

    return replace(
        closed,
        budgets=tuple(timed(planned) for planned in closed.budgets),
        time=accrual.time,
        unknown=unknown_fields(scenario),
    )
