"""Where a forecast starts: the experiment as it stands, under some policy and some budget."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from equipoise.core.arms.state import KNOWN, LOST, REDACTED, WITHDRAWN, copied
from equipoise.core.experiment.experiment import Experiment
from equipoise.core.experiment.reading import ExperimentReader
from equipoise.core.experiment.record import Record
from equipoise.core.experiment.roster import with_budget as record_with_budget
from equipoise.core.policies.base.policy import Policy
from equipoise.core.policies.base.staged import StagedPolicy
from equipoise.core.policies.uniform import Uniform
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


def check_policy(policy: Policy, name: str, record: Record) -> None:
    """Refuse a policy that cannot go on from here."""
    if not isinstance(policy, StagedPolicy):
        return
    if policy.shown(np.zeros(1, np.int64)) is not policy:
        raise InvalidArgument(
            f"{name} would have to be told the features that matter, from the first unit on, and every trial "
            "of a forecast has other ones",
            hint=f"give them, e.g. {name}:support=0,3",
        )
    if np.any(record.state.rows["status"][: record.step] == REDACTED):
        raise InvalidArgument(
            f"{name} chooses features, and the contexts of redacted units are no longer there to choose from",
            hint="forecast policies that see all features",
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
    if policy == record.policy:
        stage = stage_with_budget(record.stage, problem)
    elif record.stage.whole and not isinstance(policy, StagedPolicy):
        return taken_over(record.stage, record.contexts, problem, policy, record.seed, capacity=capacity)
    else:
        stage = _led_through(record, policy, problem)
    return replace(stage, state=copied(stage.state, capacity))


def seeing_all(record: Record) -> Stage:
    """The stage of a record; where that does not see all features, its units in one that does."""
    return record.stage if record.stage.whole else _led_through(record, Uniform(), record.problem)


def _led_through(record: Record, policy: Policy, problem: Problem) -> Stage:
    """The units of an experiment under another policy from the first one on, their arms given.

    Policies that choose features then do so when they would have done, outcomes having come at once.
    """
    experiment = Experiment(problem, policy=policy, seed=record.seed)
    rows, outcomes = record.state.rows, record.state.outcomes
    for row in range(record.step):
        unit = experiment.ask(record.contexts[row], arm=problem.arms[rows["arm"][row]])
        if rows["status"][row] in KNOWN:
            experiment.tell(unit.id, float(outcomes[row]))
        elif rows["status"][row] == LOST:
            experiment.lose(unit.id)
        elif rows["status"][row] == WITHDRAWN:
            experiment.withdraw(unit.id)
    for i in np.flatnonzero(record.state.arms["open"] == 0):
        experiment.close_arm(problem.arms[int(i)])
    return experiment._snapshot().stage
