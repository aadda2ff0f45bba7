"""From events to the record that they lead to: with the arms and features recorded, never deciding anew."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from equipoise.core.arms.state import PENDING
from equipoise.core.arrays import Vector
from equipoise.core.choice.decide import CHOOSE
from equipoise.core.experiment.admission import ALL_ARMS, NOT_RECORDED
from equipoise.core.experiment.asking import Arrival, ask_one, eligible_arms
from equipoise.core.experiment.assignment import Assignment
from equipoise.core.experiment.entering import entries
from equipoise.core.experiment.entering.treated import as_treated
from equipoise.core.experiment.history.events import (
    ASKED,
    ENTERED,
    KINDS,
    assignment_of,
    is_by_person,
    is_erased,
    numbers,
    recorded_choice,
)
from equipoise.core.experiment.history.redacting import admit_blanks, fold_redacted, is_redacted, lacks_data
from equipoise.core.experiment.record import Record, first_record
from equipoise.core.experiment.roster import with_another, with_budget, with_open
from equipoise.core.experiment.units.book import NO_PERSON
from equipoise.core.policies.base.absent import recorded_policy
from equipoise.core.policies.base.staged import StagedPolicy
from equipoise.core.problem.inputs import checked_outcome, checked_seed
from equipoise.core.problem.problem import Problem
from equipoise.core.stages.stage import next_stage
from equipoise.errors import EquipoiseError, InvalidEvent

MALFORMED = (LookupError, TypeError, ValueError, AttributeError, AssertionError)
"""What an event that cannot be folded may fail with: plain data from elsewhere."""


def begun(event: Mapping[str, Any], *, details: bool = True) -> Record:
    """The record that an experiment starts with, by its first event."""
    if not isinstance(event, Mapping) or event.get("kind") != "created":
        kind = event.get("kind") if isinstance(event, Mapping) else event
        raise InvalidEvent(
            f"the first event is {kind!r}, not 'created'", hint="give all events from the first one on"
        )
    try:
        problem = Problem.from_dict(event["problem"])
        policy = recorded_policy(event["policy"], event.get("source"), event.get("traits", {}))
        return first_record(problem, policy, checked_seed(event["seed"]), details=details)
    except EquipoiseError:
        raise
    except MALFORMED as error:
        raise malformed(event, error) from error


def folded(record: Record, event: Mapping[str, Any]) -> Record:
    """The record with one more event; ``record`` may have changed where it is the same one."""
    try:
        if is_erased(event):
            return admit_blanks(record, record.step + 1) if event["kind"] in ASKED else record
        if event["kind"] in ENTERED and is_redacted(record, event["id"] - 1):
            return record
        return _FOLDS[event["kind"]](record, event)
    except EquipoiseError:
        raise
    except MALFORMED as error:
        raise malformed(event, error) from error


def arrival_of(
    record: Record, event: Mapping[str, Any], told: int = CHOOSE, recorded: Vector = NOT_RECORDED
) -> Arrival:
    """The unit that an event tells of, as it arrived; or as it was sent, and with what probability."""
    context = numbers(event["x"])
    if context.shape != (record.problem.dim,):
        raise ValueError(f"x has {len(context)} entries, not {record.problem.dim}")
    listed = event.get("eligible")
    return Arrival(
        context,
        key=event.get("unit"),
        given=event.get("given"),
        told=told,
        eligible=ALL_ARMS if listed is None else eligible_arms(record.problem, listed),
        recorded=recorded,
        by_person=is_by_person(event),
    )


def fold_asked(record: Record, event: Mapping[str, Any]) -> tuple[Record, Assignment]:
    """The record with a unit as it was assigned, and what the rule says of it now."""
    if event["id"] != record.step + 1:
        raise ValueError(f"unit {event['id']} comes after {record.step} units")
    problem = record.problem
    as_it_was = assignment_of(event, problem.arms)  # refuses what is missing, before anything changes
    if event.get("unit") is not None and record.book.row_of(event["unit"], record.step) is not None:
        raise ValueError(f"a unit has the key {event['unit']!r} already")
    # Older logs have a probability where a person gave the arm that the rule chose, too.
    propensity = math.nan if is_by_person(event) else event["propensity"]
    recorded: Vector = np.array(
        [propensity, event["likeliest"], event["possible"], problem.index(event["top"])], dtype=float
    )
    record, unit = ask_one(record, arrival_of(record, event, problem.index(event["arm"]), recorded))
    details = record.book.details[unit.id - 1]
    if details is not None:
        record.book.details[unit.id - 1] = details._replace(
            scores=as_it_was.score_values,
            chance=as_it_was.chance,
            weighed=as_it_was.weighed,
            chosen=event.get("chosen", NO_PERSON),
        )
    return record, unit


def _ask(record: Record, event: Mapping[str, Any]) -> Record:
    return fold_asked(record, event)[0]


def _row(record: Record, event: Mapping[str, Any]) -> int:
    if not 1 <= event["id"] <= record.step:
        raise ValueError(f"there is no unit {event['id']} among {record.step}")
    return int(event["id"]) - 1


def _tell(record: Record, event: Mapping[str, Any]) -> Record:
    entries.tell(record.state, _row(record, event), checked_outcome(event["outcome"]))
    return record


def _correct(record: Record, event: Mapping[str, Any]) -> Record:
    entries.correct(record.state, _row(record, event), checked_outcome(event["outcome"]))
    return record


def _lose(record: Record, event: Mapping[str, Any]) -> Record:
    row = _row(record, event)
    if record.state.rows["status"][row] != PENDING:
        raise ValueError(f"unit {event['id']} has an outcome, and cannot be lost")
    entries.lose(record.state, row)
    return record


def _withdraw(record: Record, event: Mapping[str, Any]) -> Record:
    entries.withdraw(record.state, _row(record, event))
    return record


def _receive(record: Record, event: Mapping[str, Any]) -> Record:
    return as_treated(record, _row(record, event), record.problem.index(event["arm"]))


def _close(record: Record, event: Mapping[str, Any]) -> Record:
    return with_open(record, event["arm"], False)


def _reopen(record: Record, event: Mapping[str, Any]) -> Record:
    return with_open(record, event["arm"], True)


def _add(record: Record, event: Mapping[str, Any]) -> Record:
    terms = {name: event[name] for name in ("weight", "cost", "floor", "cap")}
    return with_another(record, event["arm"], checked=not lacks_data(record), **terms)


def _choose(record: Record, event: Mapping[str, Any]) -> Record:
    policy = record.policy
    assert isinstance(policy, StagedPolicy)
    stage = next_stage(
        record.stage,
        record.contexts,
        record.problem,
        policy,
        record.seed,
        reuse=policy.reuses,
        known=recorded_choice(event),
    )
    return replace(record, stage=stage)


def _change_budget(record: Record, event: Mapping[str, Any]) -> Record:
    # What units have cost is not known where entries of some were erased: that they received other arms.
    return with_budget(record, event["budget"], checked=not lacks_data(record))


def _pause(record: Record, event: Mapping[str, Any]) -> Record:
    return replace(record, paused=event["kind"] == "paused")


def _redact(record: Record, event: Mapping[str, Any]) -> Record:
    return fold_redacted(record, event)


def _nothing(record: Record, event: Mapping[str, Any]) -> Record:
    return record


_FOLDS = {
    **dict.fromkeys(ASKED, _ask),
    "told": _tell,
    "corrected": _correct,
    "lost": _lose,
    "withdrawn": _withdraw,
    "received": _receive,
    "arm_closed": _close,
    "arm_reopened": _reopen,
    "arm_added": _add,
    "features_chosen": _choose,
    "budget_changed": _change_budget,
    "paused": _pause,
    "resumed": _pause,
    "note": _nothing,
    "restored": _nothing,
    "redacted": _redact,
}


def malformed(event: Any, error: BaseException) -> InvalidEvent:
    """Why an event cannot be folded."""
    kind = event.get("kind") if isinstance(event, Mapping) else None
    if isinstance(kind, str) and kind not in KINDS:
        return InvalidEvent(
            f"no event {kind!r} is known here", hint="a newer version may know it: read the log with that"
        )
    what = f"no {error}" if isinstance(error, KeyError) else str(error)
    return InvalidEvent(
        f"the event {kind!r} does not fit the experiment: {what or type(error).__name__}",
        hint="give all events of one experiment, in their order",
    )
