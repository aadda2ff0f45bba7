"""Assignments of a live experiment: new ones get a receipt, repeated ones come from the log."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from equipoise.core.experiment.assignment import Assignment
from equipoise.core.experiment.experiment import Experiment
from equipoise.core.experiment.history.events import ASKED, assignment_of
from equipoise.errors import AssignmentNotFound
from equipoise.live.experiment.ledger import Answer
from equipoise.live.experiment.turn import Turn
from equipoise.live.log.encoding import decode
from equipoise.live.log.receipts import Receipt
from equipoise.live.stores.store import Store


class Asked(NamedTuple):
    """A unit that was asked for, and the row that tells of it; 0: one that this request writes."""

    assignment: Assignment
    row: int


def noted(turn: Turn, ask: Callable[[Experiment], Sequence[Assignment]]) -> list[Asked]:
    """Ask, and note for units that were known already where the log tells of them."""
    begin = len(turn.events)
    given = ask(turn.experiment)
    new = {event["id"] for event in turn.events[begin:] if event["kind"] in ASKED}
    return [Asked(unit, 0 if unit.id in new else _row_of(turn, unit.id)) for unit in given]


def _row_of(turn: Turn, id: int) -> int:
    """The row of a unit that was known, perhaps only since an earlier request of the same commit."""
    moments = turn.fold.moments
    if id <= len(moments):
        return int(moments.rows[id - 1])
    places = (i for i, event in enumerate(turn.events) if event["kind"] in ASKED and event["id"] == id)
    return turn.fold.sequence + 1 + next(places)


def assignments(store: Store, answer: Answer) -> list[Assignment]:
    """What is given to the caller, after the commit."""
    own = answer.receipt
    written = {event["id"]: row for event, row in answer.stored if event["kind"] in ASKED}
    given = []
    for unit, row in answer.value:
        if row:
            unit = _recorded(store, own, unit, row)
        else:
            receipt = Receipt(own.name, own.epoch, written[unit.id].sequence, written[unit.id].hash)
            # Nobody has seen it yet.
            object.__setattr__(unit, "receipt", receipt)
        given.append(unit)
    return given


def _recorded(store: Store, own: Receipt, unit: Assignment, sequence: int) -> Assignment:
    """The assignment as the log has it, scores and all."""
    row = next(store.read(own.name, sequence - 1, sequence))
    if row.payload is None:
        raise AssignmentNotFound(f"unit {unit.id} was redacted", hint="nothing is known of it any more")
    again = assignment_of(decode(row.payload), unit.arms)
    epoch = decode(row.header)["epoch"]
    object.__setattr__(again, "receipt", Receipt(own.name, epoch, row.sequence, row.hash))
    return again
