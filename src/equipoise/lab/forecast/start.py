"""Where a forecast starts: the experiment as it stands, under some policy and some budget."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from equipoise.core.arms.state import copied
from equipoise.core.experiment.reading import ExperimentReader
from equipoise.core.experiment.record import Record
from equipoise.core.experiment.roster import with_budget as record_with_budget
from equipoise.core.policies.base.policy import Policy
from equipoise.core.policies.base.staged import StagedPolicy
from equipoise.core.problem.problem import Problem
from equipoise.core.stages.stage import Stage, taken_over
from equipoise.core.stages.stage import with_budget as stage_with_budget
from equipoise.errors import InvalidArgument


def record_of(experiment: Any) -> Record:
    """What an experiment knows at this moment, in arrays of its own; it may be stored anywhere."""
    if not isinstance(experiment, ExperimentReader) and hasattr(experiment, "in_memory"):
        experiment = experiment.in_memory()
    if not isinstance(experiment, ExperimentReader):
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
    same = not isinstance(budget, bool) and budget == record.problem.budget
    return record.problem if same else record_with_budget(record, budget).problem


def starting_stage(record: Record, policy: Policy, problem: Problem) -> Stage:
    """The experiment as it stands, in arrays of its own, with room for all units of the problem.

    Under its own policy the numbers are the experiment's, bit for bit; under another one they are computed
    anew from the same rows.
    """
    policy.check(problem)
    capacity = max(problem.units, record.step)
    if policy != record.policy:
        return taken_over(record.stage, record.contexts, problem, policy, record.seed, capacity=capacity)
    stage = stage_with_budget(record.stage, problem)
    return replace(stage, state=copied(stage.state, capacity))
