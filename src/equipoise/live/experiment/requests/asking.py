"""Assignments of a live experiment: new ones get a receipt, repeated ones come from the log.

Whatever is needed of the log is read before the commit, by the writer. After it nothing can fail any more:
what is stored is answered.
"""

from __future__ import annotations

from collections.abc import Sequence

from equipoise.core.experiment.assignment import Assignment
from equipoise.core.experiment.history.events import assignment_of
from equipoise.live.experiment.requests.answer import Answer
from equipoise.live.experiment.requests.turn import Turn
from equipoise.live.log.checking import broken
from equipoise.live.log.encoding import decode
from equipoise.live.log.receipts import Receipt
from equipoise.live.stores.store import Row

_ASKED = b'"kind":"asked'
"""In the header of a row that tells of an assignment; nobody can write it there, as quotes are escaped."""


def noted(turn: Turn, asked: Sequence[Assignment]) -> list[Assignment]:
    """What a request has asked for; units that were known before it are as the log has them."""
    known = len(turn.fold.moments)
    return [_recorded(turn, unit) if unit.id <= known else unit for unit in asked]


def assignments(answer: Answer) -> list[Assignment]:
    """What is given to the caller, after the commit: every new unit with a receipt of its own row.

    Rows tell of units in the order of their ids.
    """
    given: list[Assignment] = answer.value
    own = answer.receipt
    if len(given) == len(answer.rows) == 1:
        _with_receipt(given[0], own)
    elif answer.rows:
        new = sorted((unit for unit in given if unit.receipt is None), key=lambda unit: unit.id)
        told = filter(tells_of_assignment, answer.rows)
        for unit, row in zip(new, told, strict=False):  # as many; nothing may be raised any more
            _with_receipt(unit, own._replace(sequence=row.sequence, hash=row.hash))
    return given


def tells_of_assignment(row: Row) -> bool:
    """Whether a row tells that a unit was assigned."""
    return _ASKED in row.header


def epoch_of(row: Row) -> int:
    """The epoch in which a row was written."""
    epoch: int = decode(row.header)["epoch"]
    return epoch


def _recorded(turn: Turn, unit: Assignment) -> Assignment:
    """The assignment as the log has it, scores and all."""
    number = int(turn.fold.moments.rows[unit.id - 1])
    (row,) = turn.newer(number - 1, number)
    if row.payload is None:
        raise broken(turn.fold.name, number, "its payload is gone, and no redaction names it")
    again = assignment_of(decode(row.payload), turn.fold.experiment.problem.arms)
    return _with_receipt(again, turn.fold.receipt(row, epoch_of(row)))


def _with_receipt(unit: Assignment, receipt: Receipt) -> Assignment:
    object.__setattr__(unit, "receipt", receipt)  # nobody has seen it yet
    return unit
