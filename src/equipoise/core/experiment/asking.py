"""From a record and contexts to assignments, and to the record that holds them.

A single unit is decided on the arrays of the record at hand, by one compiled call, unless it needs more rows
or begins a new stage; everything else is done on arrays of its own. So whoever stops on the way has changed
nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from equipoise.core.arms import least_squares as kernel
from equipoise.core.arrays import Counts, Vector
from equipoise.core.choice.batch import most_decided, score_arm, score_contexts
from equipoise.core.choice.decide import CHOOSE
from equipoise.core.choice.eligible import restrict
from equipoise.core.choice.lots import lot_of
from equipoise.core.experiment.admission import ALL_ARMS, NO_ROOM, NOT_RECORDED, admit
from equipoise.core.experiment.assignment import Assignment
from equipoise.core.experiment.record import Record, draft
from equipoise.core.experiment.roster import exhausted, remaining_units
from equipoise.core.experiment.units.book import Details
from equipoise.core.policies.base.absent import AbsentPolicy
from equipoise.core.policies.base.staged import StagedPolicy
from equipoise.core.problem.problem import Problem
from equipoise.core.stages.stage import next_stage
from equipoise.errors import BudgetExhausted, NoArmLeft
from equipoise.words import counted


@dataclass(frozen=True, slots=True, eq=False)
class Arrival:
    """A unit that asks for an arm, and what is known of it already."""

    context: Vector
    key: str | None = None
    given: Any = None
    told: int = CHOOSE
    """The arm that a person, or a log, gives it."""
    eligible: Counts = field(default_factory=lambda: ALL_ARMS)
    recorded: Vector = field(default_factory=lambda: NOT_RECORDED)


def eligible_arms(problem: Problem, names: Iterable[str]) -> Counts:
    """1 for every arm that is named."""
    flags = np.zeros(len(problem.arms), np.int64)
    for name in names:
        flags[problem.index(name)] = 1
    return flags


def ask_one(record: Record, arrival: Arrival) -> tuple[Record, Assignment]:
    """Assign one unit in the stage at hand; the record with it, and its assignment."""
    problem, stage, row = record.problem, record.stage, record.step
    scores, drawn = np.empty(len(problem.arms)), type(stage.policy).weighs
    chance = 1.0 if drawn else float(stage.policy.lots())
    listed = named(arrival.eligible, problem.arms)
    record.book.write(row, arrival.key, Details(arrival.given, scores, chance, drawn, listed))
    i, chosen, top = admit(
        stage.state,
        record.contexts,
        stage.columns,
        arrival.context,
        stage.score,
        stage.settings,
        scores,
        arrival.told,
        0 if arrival.key is None else lot_of(arrival.key),
        arrival.eligible,
        arrival.recorded,
    )
    if i == NO_ROOM:
        return ask_one(draft(record, 1), arrival)
    if i < 0:
        raise _no_arm(record, listed)
    # Of a log that lacks data the rule may make nothing.
    rule = None if chosen < 0 or isinstance(record.policy, AbsentPolicy) else problem.arms[chosen]
    details = record.book.details[row]
    if rule != problem.arms[i] and details is not None:
        record.book.details[row] = details._replace(chosen=rule)
    return record, Assignment(
        id=row + 1,
        unit=arrival.key,
        arm=problem.arms[i],
        arms=problem.arms,
        score_values=scores,
        top=problem.arms[top],
        chance=chance,
        weighed=drawn,
        chosen=rule,
        eligible=listed,
    )


def ask_together(record: Record, batch: Sequence[Arrival]) -> tuple[Record, list[Assignment], int | None]:
    """Assign many units; ``record`` stays as it is.

    The answer tells after how many units a new stage began, if one did. All may go to the same arms.
    """
    left = remaining_units(record)
    if left == 0:
        raise exhausted(record.problem, record.state.arms)
    if left < len(batch):
        raise BudgetExhausted(
            f"{counted(len(batch), 'unit')} asked for, and the budget has {left:,} left", hint="ask for fewer"
        )
    record, begun = draft(record, len(batch), share_rows=True), None
    units: list[Assignment] = []
    for arrival in batch:
        following = in_due_stage(record)
        begun, record = (begun if following is record else len(units)), following
        acting = type(record.stage.policy)
        if acting.looks and not acting.weighs:
            return *_clear_ones_first(record, batch[len(units) :], units), begun
        record, unit = ask_one(record, arrival)
        units.append(unit)
    return record, units, begun


def _clear_ones_first(
    record: Record, batch: Sequence[Arrival], before: list[Assignment]
) -> tuple[Record, list[Assignment]]:
    """The units of a policy that looks: first those whose arm is clear."""
    stage, arms = record.stage, record.problem.arms
    assigned: list[Assignment | None] = [None] * len(batch)
    seen = np.ascontiguousarray(stage.seen_by(np.array([arrival.context for arrival in batch])))
    waiting, barred = np.ones(len(batch), np.int64), np.zeros(len(arms))
    table = np.zeros((len(batch), len(arms)))
    if not kernel.is_settled(stage.state):
        kernel.settle(stage.state)
    score_contexts(stage.state, stage.score, stage.settings, seen, waiting, table)
    table[:, np.flatnonzero(batch[0].eligible == 0)] = 0.0
    for turn in range(len(batch)):
        j = most_decided(stage.state, waiting, table, barred)
        waiting[j] = 0
        record, unit = ask_one(record, batch[j])
        assigned[j] = unit
        if turn + 1 < len(batch):
            i = arms.index(unit.arm)
            score_arm(stage.state, stage.score, stage.settings, seen, waiting, table, i)
    return record, before + [unit for unit in assigned if unit is not None]


def named(eligible: Counts, arms: Sequence[str]) -> tuple[str, ...] | None:
    """Names of the arms that a unit may go to; None: all."""
    return tuple(arms[int(i)] for i in np.flatnonzero(eligible)) if len(eligible) else None


def _no_arm(record: Record, eligible: tuple[str, ...] | None) -> BudgetExhausted:
    problem, state = record.problem, record.state
    if eligible is not None and restrict(state, np.zeros(len(problem.arms))):
        return NoArmLeft(
            f"none of the arms that the unit may go to takes units: {', '.join(eligible)}",
            hint="they are closed, at their caps or too dear; name others",
        )
    return exhausted(problem, state.arms)


def in_due_stage(record: Record) -> Record:
    """The record in the stage that the next unit belongs to."""
    stage, policy = record.stage, record.policy
    if stage.whole or not stage.is_due():
        return record
    assert isinstance(policy, StagedPolicy)
    if record.step >= record.problem.units or not restrict(stage.state, np.zeros(len(record.problem.arms))):
        raise exhausted(record.problem, stage.state.arms)
    following = next_stage(stage, record.contexts, record.problem, policy, record.seed, reuse=policy.reuses)
    return replace(record, stage=following)
