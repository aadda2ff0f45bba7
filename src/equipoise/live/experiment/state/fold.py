"""The state of an experiment: the fold of its log up to one row."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

import numpy as np

from equipoise.core.experiment.assignment import Assignment
from equipoise.core.experiment.experiment import Experiment
from equipoise.core.experiment.units.arriving import Newcomer, check_again
from equipoise.errors import EquipoiseError
from equipoise.live.experiment.state.moments import Moments
from equipoise.live.log.checking import broken, check_link
from equipoise.live.log.encoding import decode
from equipoise.live.log.receipts import Receipt, line_of
from equipoise.live.stores.chain import first_link
from equipoise.live.stores.store import FIRST_EPOCH, Row


class CachedExperiment(Experiment):
    """An experiment that keeps no scores: who asks for a unit again gets them from the log."""

    def _again(self, row: int, newcomer: Newcomer, arm: str | None) -> Assignment:
        check_again(self._record, row, newcomer, arm)
        arms = self._record.problem.arms
        meant = arms[int(self._record.state.rows["meant"][row])]
        return Assignment(
            id=row + 1,
            unit=newcomer.key,
            arm=meant,
            arms=arms,
            score_values=np.zeros(0),
            top=meant,
            chance=math.nan,
        )


class Fold:
    """An experiment in memory, and the row of the log that it has come to.

    Whoever changes it sets ``sound`` to False first, and to True when what it has come to is in the store.
    A fold that is found otherwise was left by somebody who was interrupted, and is thrown away.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.experiment: CachedExperiment
        self.moments = Moments()
        self.sequence = 0
        self.hash = first_link(name)
        self.lines = [""]
        """What tells every epoch from others of its number."""
        self.time = 0
        self.mode = ""
        self.deadline: timedelta | None = None
        self.redacted = 0
        """The last row that tells of a redaction, among those that were folded here."""
        self.sound = True

    @property
    def epoch(self) -> int:
        """One more after every restored backup."""
        return FIRST_EPOCH - 1 + len(self.lines)

    def receipt(self, row: Row | Fold, epoch: int | None = None) -> Receipt:
        """Of a row, of the last epoch unless another is given."""
        number = self.epoch if epoch is None else epoch
        return Receipt(self.name, number, row.sequence, row.hash, self.lines[number - FIRST_EPOCH])

    def catch_up(self, rows: Iterable[Row]) -> None:
        """Fold in rows of the log, each of which must continue the chain."""
        for row in rows:
            self.sound = False
            if row.sequence != self.sequence + 1:
                raise broken(self.name, self.sequence + 1, f"it is missing: row {row.sequence} comes next")
            check_link(self.name, self.hash, row)
            try:
                self._take(event_of(row), row)
            except EquipoiseError as error:
                raise _at(self.name, row, error) from error
            self.sound = True

    def _take(self, event: dict[str, Any], row: Row) -> None:
        if row.sequence == 1:
            self.experiment = CachedExperiment.replay([event], details=False)
            self.deadline = _duration(event.get("live", {}).get("deadline"))
            self.mode = decode(row.header)["mode"]
        else:
            self.experiment.apply(event)
        self.note(event, row)

    def note(self, event: Mapping[str, Any], row: Row) -> None:
        """Come to a row, the event of which is in the experiment."""
        self.moments.take(event, row.sequence, row.time)
        if event["kind"] == "restored":
            self.lines.append(line_of(row.hash))
        elif event["kind"] == "redacted":
            self.redacted = row.sequence
        self.sequence, self.hash, self.time = row.sequence, row.hash, row.time


def event_of(row: Row) -> dict[str, Any]:
    """What a row tells; once it is redacted its kind alone, and the redaction tells what else is needed."""
    if row.payload is None:
        return {"kind": decode(row.header)["kind"]}
    event: dict[str, Any] = decode(row.payload)
    return event


def _at(name: str, row: Row, error: EquipoiseError) -> EquipoiseError:
    """The same error, with the row at which it came up."""
    kind = decode(row.header)["kind"]
    return type(error)(
        f"row {row.sequence} ({kind}) of {name!r} cannot be folded in: {error.message}", hint=error.hint
    )


def _duration(seconds: float | None) -> timedelta | None:
    return None if seconds is None else timedelta(seconds=seconds)
