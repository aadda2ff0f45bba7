"""The arms of a running experiment: which take units, how many are left, and how a new one joins."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from equipoise.core.arithmetic.sums import exact_sum
from equipoise.core.arms.state import set_limits
from equipoise.core.experiment.record import Record, draft
from equipoise.core.problem.costs import covers, units_left
from equipoise.core.problem.problem import Problem
from equipoise.core.stages.stage import with_arm
from equipoise.core.stages.stage import with_budget as stage_with_budget
from equipoise.errors import BudgetExhausted, BudgetTooSmall, NoArmLeft
from equipoise.words import counted

Arms = npt.NDArray[Any]


def with_open(record: Record, arm: str, is_open: bool) -> Record:
    """The same record with an arm open or closed for further units."""
    problem, i = record.problem, record.problem.index(arm)
    changed = draft(record)
    changed.state.arms["open"][i] = is_open
    floors = changed.stage.floors
    set_limits(changed.state.arms, changed.state.trial, problem.costs, floors, problem.caps)
    return changed


def with_another(record: Record, arm: str, *, checked: bool = True, **terms: Any) -> Record:
    """The same record with a new arm, if what is left pays for the arm's start or floor.

    Not ``checked``: it has happened, whatever the record knows of what was left.
    """
    start = record.stage.start
    problem = record.problem.with_arm(arm, **terms, start=start)
    needed = float(problem.costs[-1] * max(problem.floors[-1], start))
    free = max(problem.budget - spent(record) - _committed(record), 0.0)
    if checked and not covers(free, needed):
        raise BudgetTooSmall(
            f"the new arm {arm!r} needs {needed:.10g} of the budget, and {free:.10g} is free",
            hint="close_arm() another that is still to get units, or plan a larger experiment",
        )
    stage = with_arm(record.stage, problem, record.seed)
    contexts = stage.state.contexts if stage.whole else record.contexts
    return replace(record, problem=problem, stage=stage, contexts=contexts)


def spent(record: Record) -> float:
    """What the units assigned so far have cost."""
    return _paid(record.problem, record.state.arms)


def remaining_units(record: Record) -> int:
    """The most units that can still be assigned; 0 only if no arm may be chosen."""
    problem, arms = record.problem, record.state.arms.copy()
    within_room = problem.units - int(arms["assigned"].sum())
    if not record.state.trial["limited"][0]:
        return within_room
    within_limits = units_left(
        problem.budget - _paid(problem, arms),
        costs=problem.costs,
        floors=record.stage.floors,
        caps=problem.caps,
        counts=arms["count"] + arms["set_aside"],
        assigned=arms["assigned"],
        open=arms["open"],
    )
    return min(within_room, within_limits)


def exhausted(problem: Problem, arms: Arms) -> BudgetExhausted:
    """Why no arm may be chosen."""
    hint = "read estimates(), or plan a larger experiment"
    if np.all(problem.costs == 1.0) and arms["assigned"].sum() == problem.units:
        return BudgetExhausted(f"all {problem.units:,} units of the budget are assigned", hint=hint)
    left = max(problem.budget - _paid(problem, arms), 0.0)
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
        hint="reopen_arm() or add_arm(), or read estimates()",
    )


def _committed(record: Record) -> float:
    """What open arms still need for their start or their floor."""
    arms, problem = record.state.arms, record.problem
    missing = np.maximum(problem.floors - arms["set_aside"], record.stage.start) - arms["count"]
    owed = np.maximum(np.minimum(missing, problem.caps - arms["assigned"]), 0.0) * arms["open"]
    return exact_sum(problem.costs * owed)


def _paid(problem: Problem, arms: Arms) -> float:
    return exact_sum(problem.costs * arms["assigned"])


def with_budget(record: Record, budget: float, *, checked: bool = True) -> Record:
    """The same record with another budget, which must pay for the units assigned.

    Not ``checked``: it has happened, whatever the record knows of these units.
    """
    problem = record.problem.with_budget(budget)
    paid = spent(record)
    if checked and (not covers(problem.budget, paid) or problem.units < record.step):
        raise BudgetTooSmall(
            f"{counted(record.step, 'unit')} assigned have cost {paid:.10g}: "
            f"a budget of {budget:.10g} is less",
            hint=f"give {paid:.10g} or more; pause() or close_arm() stop an experiment early",
        )
    stage = stage_with_budget(record.stage, problem)
    contexts = stage.state.contexts if stage.whole else record.contexts
    return replace(record, problem=problem, stage=stage, contexts=contexts)
