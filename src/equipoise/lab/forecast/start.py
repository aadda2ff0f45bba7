"""Where a forecast starts: the experiment as it stands, under some policy and some budget."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from equipoise.core.arms.state import copied, set_limits
from equipoise.core.experiment.experiment import Experiment
from equipoise.core.experiment.record import Record
from equipoise.core.experiment.roster import spent
from equipoise.core.policies.base.policy import Policy
from equipoise.core.policies.base.settings import score_settings
from equipoise.core.policies.base.staged import StagedPolicy
from equipoise.core.problem.costs import covers
from equipoise.core.problem.problem import Problem
from equipoise.core.stages.stage import Stage, taken_over
from equipoise.errors import BudgetTooSmall, InvalidArgument


def record_of(experiment: Any) -> Record:
    """What an experiment knows at this moment, in arrays of its own; it may be stored anywhere."""
    if hasattr(experiment, "in_memory"):
        experiment = experiment.in_memory()
    if not isinstance(experiment, Experiment):
        raise InvalidArgument(
            f"{experiment!r} is not an experiment", hint="to plan one that has not begun use eq.plan(...)"
        )
    return experiment._snapshot()


def refuse_staged(policy: Policy, name: str) -> None:
    """Refuse a policy that chooses features."""
    if isinstance(policy, StagedPolicy):
        raise InvalidArgument(
            f"{name} chooses features, and its future cannot be forecast: truths are drawn from models of "
            "all features, and it has none",
            hint="simulate a scenario like it with eq.simulate(...)",
        )


def with_budget(record: Record, budget: Any) -> Problem:
    """The problem with another budget, which must pay for what is spent already."""
    problem = record.problem
    if isinstance(budget, bool | str) or not isinstance(budget, int | float | np.number):
        raise InvalidArgument(f"budget {budget!r} is not a number", hint="e.g. budgets=[400, 500]")
    total = float(budget)
    if isinstance(problem.budget, int):
        # Units are counted; money need not be whole.
        if not isinstance(budget, int | np.integer):
            raise InvalidArgument(f"a budget of {budget!r} units is not a whole number")
        total = int(budget)
    used = spent(record)
    if not covers(float(total), used):
        raise BudgetTooSmall(
            f"{used:.10g} of the budget is spent: a budget of {total:.10g} came too late",
            hint=f"give budgets from {used:.10g} on",
        )
    return problem if total == problem.budget else replace(problem, budget=total)


def starting_stage(record: Record, policy: Policy, problem: Problem) -> Stage:
    """The experiment as it stands, in arrays of its own, with room for all units of the problem.

    Under its own policy the numbers are the experiment's, bit for bit; under another one they are computed
    anew from the same rows.
    """
    policy.check(problem)
    capacity = max(problem.units, record.step)
    if policy != record.policy:
        return taken_over(record.stage, record.contexts, problem, policy, record.seed, capacity=capacity)
    state = copied(record.state, capacity)
    state.trial["budget"], state.trial["money"] = problem.units, float(problem.budget)
    set_limits(state.arms, state.trial, problem.costs, problem.floors, problem.caps)
    settings = score_settings(policy, problem)
    return replace(record.stage, problem=problem, state=state, settings=settings)
