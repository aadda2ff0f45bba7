"""Assignments of a live experiment: new ones get a receipt, repeated ones come from the log.

Whatever is needed of the log is read before the commit, by the writer. After it nothing can fail any more:
what is stored is answered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from equipoise.core.experiment.assignment import Assignment
from equipoise.core.experiment.experiment import Experiment
from equipoise.core.experiment.history.events import ASKED, assignment_of
from equipoise.live.experiment.ledger import Answer
from equipoise.live.experiment.turn import Turn
from equipoise.live.log.checking import broken
from equipoise.live.log.encoding import decode
from equipoise.live.log.receipts import Receipt


class Asked(NamedTuple):
    """A unit that was asked for, and the row of this commit that tells of it; 0: it is in the log already."""

    assignment: Assignment
    row: int


def noted(turn: Turn, ask: Callable[[Experiment], Sequence[Assignment]]) -> list[Asked]:
    """Ask; units that were known already are as the log has them."""
    begin = len(turn.events)
    given = ask(turn.experiment)
    number, new = turn.fold.sequence + begin, {}
    for event in turn.events[begin:]:
        number += 1
        if event["kind"] in ASKED:
            new[event["id"]] = number
    return [Asked(unit, new[unit.id]) if unit.id in new else _again(turn, unit) for unit in given]


def assignments(answer: Answer) -> list[Assignment]:
    """What is given to the caller, after the commit."""
    own = answer.receipt
    for unit, number in answer.value:
        if number == own.sequence:
            _with_receipt(unit, own)
        elif number:
            row = answer.rows[number - answer.rows[0].sequence]
            _with_receipt(unit, Receipt(own.name, own.epoch, number, row.hash, own.line))
    return [unit for unit, _ in answer.value]


def _again(turn: Turn, unit: Assignment) -> Asked:
    """A unit that was known, perhaps only since an earlier request of the same commit."""
    if unit.id <= len(turn.fold.moments):
        return Asked(_recorded(turn, unit), 0)
    place, event = next(
        (i, event) for i, event in enumerate(turn.events) if event["kind"] in ASKED and event["id"] == unit.id
    )
    return Asked(assignment_of(event, unit.arms), turn.fold.sequence + 1 + place)


def _recorded(turn: Turn, unit: Assignment) -> Assignment:
    """The assignment as the log has it, scores and all."""
    number = int(turn.fold.moments.rows[unit.id - 1])
    (row,) = turn.newer(number - 1, number)
    if row.payload is None:
        raise broken(turn.fold.name, number, "its payload is gone, and no redaction names it")
    again = assignment_of(decode(row.payload), unit.arms)
    return _with_receipt(again, turn.fold.receipt(row, decode(row.header)["epoch"]))


def _with_receipt(unit: Assignment, receipt: Receipt) -> Assignment:
    object.__setattr__(unit, "receipt", receipt)  # nobody has seen it yet
    return unit
