"""From a record and contexts to assignments, and to the record that holds them.

A single unit is decided on the arrays of the record at hand, by one compiled call, unless it needs more rows
or begins a new stage; everything else is done on arrays of its own. So whoever stops on the way has changed
nothing.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from equipoise.core.arms import least_squares as kernel
from equipoise.core.arrays import Matrix, Vector
from equipoise.core.choice.batch import most_decided, score_arm, score_contexts
from equipoise.core.choice.decide import CHOOSE
from equipoise.core.choice.eligible import restrict
from equipoise.core.experiment.admission import NO_ROOM, admit
from equipoise.core.experiment.assignment import Assignment
from equipoise.core.experiment.record import Record, draft
from equipoise.core.experiment.roster import exhausted, remaining_units
from equipoise.core.policies.base.staged import StagedPolicy
from equipoise.core.stages.stage import next_stage
from equipoise.errors import BudgetExhausted


def ask_one(record: Record, context: Vector, told: int = CHOOSE) -> tuple[Record, Assignment]:
    """Assign one unit, to the arm ``told`` unless that is ``CHOOSE``; the record with it, and the unit."""
    return _assigned(_in_due_stage(record), context, told)


def ask_together(record: Record, batch: Matrix) -> tuple[Record, list[Assignment]]:
    """Assign many units; ``record`` stays as it is."""
    left = remaining_units(record)
    if left == 0:
        raise exhausted(record.problem, record.state.arms)
    if left < len(batch):
        raise BudgetExhausted(
            f"{len(batch)} units are more than the {left} that the budget has left", hint="ask for fewer"
        )
    record = draft(record, len(batch))
    units: list[Assignment] = []
    for context in batch:
        record = _in_due_stage(record)
        acting = type(record.stage.policy)
        if acting.looks and not acting.weighs:
            return _clear_ones_first(record, batch[len(units) :], units)
        record, unit = _assigned(record, context)
        units.append(unit)
    return record, units


def _clear_ones_first(
    record: Record, batch: Matrix, before: list[Assignment]
) -> tuple[Record, list[Assignment]]:
    """The units of a policy that looks: first those whose arm is clear."""
    stage, arms = record.stage, record.problem.arms
    assigned: list[Assignment | None] = [None] * len(batch)
    seen = np.ascontiguousarray(stage.seen_by(batch))
    waiting, barred = np.ones(len(batch), np.int64), np.zeros(len(arms))
    table = np.zeros((len(batch), len(arms)))
    if not kernel.is_settled(stage.state):
        kernel.settle(stage.state)
    score_contexts(stage.state, stage.score, stage.settings, seen, waiting, table)
    for turn in range(len(batch)):
        j = most_decided(stage.state, waiting, table, barred)
        waiting[j] = 0
        record, unit = _assigned(record, batch[j])
        assigned[j] = unit
        if turn + 1 < len(batch):
            i = arms.index(unit.arm)
            score_arm(stage.state, stage.score, stage.settings, seen, waiting, table, i)
    return record, before + [unit for unit in assigned if unit is not None]


def _assigned(record: Record, context: Vector, told: int = CHOOSE) -> tuple[Record, Assignment]:
    """Assign one unit in the stage at hand."""
    problem, stage = record.problem, record.stage
    scores = np.empty(len(problem.arms))
    i, top, row, chance = admit(
        stage.state, record.contexts, stage.columns, context, stage.score, stage.settings, scores, told
    )
    if i == NO_ROOM:
        return _assigned(draft(record, 1), context, told)
    if i < 0:
        raise exhausted(problem, stage.state.arms)
    drawn = type(stage.policy).weighs
    chance = 1.0 if drawn else chance
    return record, Assignment(
        row + 1, problem.arms[i], problem.arms, scores, problem.arms[top], chance, drawn
    )


def _in_due_stage(record: Record) -> Record:
    """The record in the stage that the next unit belongs to."""
    stage, policy = record.stage, record.policy
    if stage.whole or not stage.is_due():
        return record
    assert isinstance(policy, StagedPolicy)
    if record.step >= record.problem.units or not restrict(stage.state, np.zeros(len(record.problem.arms))):
        raise exhausted(record.problem, stage.state.arms)
    following = next_stage(stage, record.contexts, record.problem, policy, record.seed, reuse=policy.reuses)
    return replace(record, stage=following)
