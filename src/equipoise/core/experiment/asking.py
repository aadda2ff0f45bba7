"""From a record and contexts to assignments, and to the record that holds them.

A single unit is decided on the arrays of the record at hand, by one compiled call, unless it needs more rows
or begins a new stage; everything else is done on arrays of its own. So whoever stops on the way has changed
nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from equipoise.core.arrays import Counts, Vector
from equipoise.core.choice.decide import CHOOSE
from equipoise.core.choice.eligible import restrict
from equipoise.core.choice.lots import lot_of
from equipoise.core.experiment.admission import (
    ALL_ARMS,
    NO_ROOM,
    NOT_RECORDED,
    Batch,
    admit,
    admit_together,
)
from equipoise.core.experiment.assignment import Assignment
from equipoise.core.experiment.record import Record, draft
from equipoise.core.experiment.roster import exhausted, remaining_units
from equipoise.core.experiment.units.book import Details
from equipoise.core.policies.base.absent import AbsentPolicy
from equipoise.core.policies.base.policy import Policy
from equipoise.core.policies.base.staged import StagedPolicy
from equipoise.core.problem.problem import Problem
from equipoise.core.stages.stage import next_stage
from equipoise.errors import BudgetExhausted, NoArmLeft
from equipoise.words import counted


class Arrival(NamedTuple):
    """A unit that asks for an arm, and what is known of it already."""

    context: Vector
    key: str | None = None
    given: Any = None
    told: int = CHOOSE
    """The arm that a person, or a log, gives it."""
    eligible: Counts = ALL_ARMS
    recorded: Vector = NOT_RECORDED
    by_person: bool = False
    """Whether a person gives the arm, or gave it as a log tells."""


def eligible_arms(problem: Problem, names: Iterable[str]) -> Counts:
    """1 for every arm that is named."""
    flags = np.zeros(len(problem.arms), np.int64)
    for name in names:
        flags[problem.index(name)] = 1
    return flags


def ask_one(record: Record, arrival: Arrival) -> tuple[Record, Assignment]:
    """Assign one unit in the stage at hand; the record with it, and its assignment."""
    arms, stage, row, key = record.problem.arms, record.stage, record.step, arrival.key
    details = _details(stage.policy, arrival, np.empty(len(arms)), named(arrival.eligible, arms))
    record.book.write(row, key, details)
    i, chosen, top = admit(
        record.gathered,
        record.contexts,
        stage.columns,
        arrival.context,
        stage.score,
        stage.settings,
        details.scores,
        arrival.told,
        0 if key is None else lot_of(key),
        arrival.eligible,
        arrival.recorded,
    )
    if i == NO_ROOM:
        return ask_one(draft(record, 1), arrival)
    if i < 0:
        raise _no_arm(record, details.eligible)
    return record, _assignment(record, row, arrival, details, i, chosen, top)


def _details(policy: Policy, arrival: Arrival, scores: Vector, listed: tuple[str, ...] | None) -> Details:
    drawn = type(policy).weighs
    return Details(arrival.given, scores, 1.0 if drawn else float(policy.lots()), drawn, listed)


def _assignment(
    record: Record, row: int, arrival: Arrival, details: Details, arm: int, chosen: int, top: int
) -> Assignment:
    """What the caller gets for a row that was assigned; the book learns of arms that persons give."""
    arms = record.problem.arms
    # Of a log that lacks data the rule may make nothing.
    rule = None if chosen < 0 or isinstance(record.policy, AbsentPolicy) else arms[chosen]
    _, scores, chance, drawn, listed, _ = details
    key, person = arrival.key, arrival.by_person
    if person and record.book.keeps_details:
        record.book.details[row] = details._replace(chosen=rule)
    return Assignment(row + 1, arms[arm], arms, scores, arms[top], chance, drawn, key, rule, listed, person)


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
    stage, m, n, first = record.stage, len(record.problem.arms), len(batch), record.step
    contexts = np.array([arrival.context for arrival in batch])
    waiting = Batch(
        contexts=contexts,
        seen=np.ascontiguousarray(stage.seen_by(contexts)),
        lots=np.array([0 if arrival.key is None else lot_of(arrival.key) for arrival in batch]),
        eligible=batch[0].eligible,
        recorded=batch[0].recorded,
        waiting=np.ones(n, np.int64),
        table=np.zeros((n, m)),
        barred=np.zeros(m),
        scores=np.empty((n, m)),
        choices=np.empty((n, 4), np.int64),
    )
    listed = named(batch[0].eligible, record.problem.arms)
    admitted = admit_together(
        record.gathered, record.contexts, stage.columns, stage.score, stage.settings, waiting
    )
    if admitted < n:
        raise _no_arm(record, listed)
    assigned: list[Any] = [None] * n
    for turn, (j, arm, chosen, top) in enumerate(waiting.choices.tolist()):
        row, arrival = first + turn, batch[j]
        details = _details(stage.policy, arrival, waiting.scores[turn], listed)
        record.book.write(row, arrival.key, details)
        assigned[j] = _assignment(record, row, arrival, details, arm, chosen, top)
    return record, before + assigned


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
