"""The arms of a running experiment: which take units, how many are left, and how a new one joins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from equipoise.core.layout import set_limits
from equipoise.core.terms import covers, units_left
from equipoise.errors import BudgetExhausted, BudgetTooSmall, NoArmLeft

if TYPE_CHECKING:
    from equipoise.core.experiment import Experiment
    from equipoise.core.problem import Problem


def set_open(experiment: Experiment, arm: str, is_open: bool) -> None:
    """Open or close an arm for further units."""
    problem, state = experiment.problem, experiment._state
    state.arms["open"][problem.index(arm)] = is_open
    set_limits(state.arms, state.trial, problem.costs, problem.floors, problem.caps)


def enlarged(experiment: Experiment, arm: str, **terms: Any) -> Problem:
    """The problem with a new arm, if what is left pays for the arm's start or floor."""
    problem = experiment.problem.with_arm(arm, **terms, start=experiment._stage.start)
    needed = float(problem.costs[-1] * max(problem.floors[-1], experiment._stage.start))
    free = max(problem.budget - experiment.spent - _committed(experiment), 0.0)
    if not covers(free, needed):
        raise BudgetTooSmall(
            f"the new arm {arm!r} needs {needed:.10g} of the budget, and {free:.10g} is free",
            hint="close an arm that is still to get units, or plan a larger experiment",
        )
    return problem


def remaining_units(experiment: Experiment) -> int:
    """The most units that can still be assigned; 0 only if no arm may be chosen."""
    problem, state = experiment.problem, experiment._state
    within_room = problem.units - experiment.asked
    if not state.trial["limited"][0]:
        return within_room
    within_limits = units_left(
        problem.budget - experiment.spent,
        costs=problem.costs,
        floors=problem.floors,
        caps=problem.caps,
        counts=state.arms["count"] + state.arms["set_aside"],
        assigned=state.arms["assigned"],
        open=state.arms["open"],
    )
    return min(within_room, within_limits)


def exhausted(experiment: Experiment) -> BudgetExhausted:
    """Why no arm may be chosen."""
    problem, arms = experiment.problem, experiment._state.arms
    hint = "read estimates(), or plan a larger experiment"
    if np.all(problem.costs == 1.0) and experiment.asked == problem.units:
        return BudgetExhausted(f"all {problem.units} units of the budget are assigned", hint=hint)
    left = max(problem.budget - experiment.spent, 0.0)
    free = (arms["open"] != 0) & (arms["assigned"] < problem.caps)
    if free.any():
        cheapest = problem.costs[free].min()
        return BudgetExhausted(
            f"{left:.10g} of the budget of {problem.budget:.10g} is left, and a unit costs at least "
            f"{cheapest:.10g}",
            hint=hint,
        )
    return NoArmLeft(
        f"every arm is closed or at its cap, with {left:.10g} of the budget left",
        hint="reopen an arm, add one, or read estimates()",
    )


def _committed(experiment: Experiment) -> float:
    """What open arms still need for their start or their floor."""
    arms, problem = experiment._state.arms, experiment.problem
    missing = np.maximum(problem.floors - arms["set_aside"], experiment._stage.start) - arms["count"]
    owed = np.maximum(np.minimum(missing, problem.caps - arms["assigned"]), 0.0) * arms["open"]
    return float(np.sum(problem.costs * owed))
