"""The state of an experiment: the fold of its log up to one row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from equipoise.core.experiment.experiment import Experiment
from equipoise.errors import EquipoiseError
from equipoise.live.experiment.state.moments import Moments
from equipoise.live.log.checking import broken, check_link
from equipoise.live.log.encoding import decode
from equipoise.live.log.receipts import Receipt, line_of
from equipoise.live.log.rows import make_rows
from equipoise.live.stores.chain import first_link
from equipoise.live.stores.store import FIRST_EPOCH, Head, Row

_AT_ONCE = 100
"""Rows that are held, and folded, at a time: they may be long."""


_REMEMBERED = 4096
"""Rows whose hashes are remembered."""


class Fold:
    """An experiment in memory, and the row of the log that it has come to.

    Whoever changes it sets ``sound`` to False first, and to True when what it has come to is in the store.
    A fold that is found otherwise was left by somebody who was interrupted, and is thrown away.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.experiment: Experiment
        """It keeps no scores: who asks for a unit again gets them from the log."""
        self.events: list[dict[str, Any]] = []
        """What calls of the experiment have led to and no row tells of yet."""
        self.moments = Moments()
        self.sequence = 0
        self.hash = first_link(name)
        self.lines = [""]
        """What tells every epoch from others of its number."""
        self.epoch = FIRST_EPOCH
        """One more after every restored backup."""
        self.time = 0
        self.mode = ""
        self.deadline: timedelta | None = None
        self.redacted = 0
        """The last row that tells of a redaction, among those that were folded here."""
        self.sound = True
        self._hashes = [b""] * _REMEMBERED
        """Of the last rows that were noted."""

    def has(self, sequence: int, hash: bytes) -> bool:
        """Whether a row is known to be in the log; only the last ones are."""
        if sequence == self.sequence:
            return hash == self.hash
        is_recent = self.sequence - _REMEMBERED < sequence < self.sequence
        return is_recent and self._hashes[sequence % _REMEMBERED] == hash

    def begin(self, experiment: Experiment, lines: Sequence[str] = ("",)) -> None:
        """Hold an experiment as a log has it, after so many epochs."""
        self.experiment = experiment
        self.events = experiment.keep_recording()
        self.lines = list(lines)
        self.epoch = FIRST_EPOCH - 1 + len(self.lines)

    def receipt(self, row: Row | Head, epoch: int) -> Receipt:
        """Of a row of some epoch, or of the one that a head names."""
        return Receipt(self.name, epoch, row.sequence, row.hash, self.lines[epoch - FIRST_EPOCH])

    def last_receipt(self) -> Receipt:
        """Of the last row."""
        return Receipt(self.name, self.epoch, self.sequence, self.hash, self.lines[-1])

    def catch_up(self, rows: Iterable[Row]) -> None:
        """Fold in rows of the log, each of which must continue the chain."""
        waiting: list[tuple[dict[str, Any], Row]] = []
        sequence, link = self.sequence, self.hash
        for row in rows:
            if row.sequence != sequence + 1:
                raise broken(self.name, sequence + 1, f"it is missing: row {row.sequence} comes next")
            check_link(self.name, link, row)
            waiting.append((event_of(row), row))
            sequence, link = row.sequence, row.hash
            if sequence == 1 or len(waiting) == _AT_ONCE:
                self._take(waiting)
                waiting = []
        if waiting:
            self._take(waiting)

    def _take(self, told: Sequence[tuple[dict[str, Any], Row]]) -> None:
        self.sound = False
        events, place = [event for event, _ in told], 0
        try:
            if self.sequence == 0:
                self.begin(Experiment.replay(events, details=False))
                self.deadline = _duration(events[0].get("live", {}).get("deadline"))
                self.mode = decode(told[0][1].header)["mode"]
                place = 1
            while place < len(events):
                place = self.experiment._apply_some(events, place)
        except EquipoiseError as error:
            raise _at(self.name, told[place][1], error) from error
        self.come_to(events, [row for _, row in told])
        self.sound = True

    def following(
        self,
        events: Sequence[Mapping[str, Any]],
        actor: str,
        reason: str | None,
        time: int,
        salt: bytes | None = None,
    ) -> Sequence[Row]:
        """The rows that tell of events, after the last one; ``salt`` is that of the first."""
        return make_rows(
            events,
            actor,
            reason,
            previous=self.hash,
            sequence=self.sequence,
            time=time,
            epoch=self.epoch,
            mode=self.mode,
            salt=salt,
        )

    def come_to(self, events: Sequence[Mapping[str, Any]], rows: Sequence[Row]) -> None:
        """Note rows, the events of which are in the experiment."""
        for event, row in zip(events, rows, strict=True):
            kind = event["kind"]
            self._hashes[row.sequence % _REMEMBERED] = row.hash
            self.moments.take(event, row.sequence, row.time)
            if kind == "restored":
                self.lines.append(line_of(row.hash))
                self.epoch += 1
            elif kind == "redacted":
                self.redacted = row.sequence
        last = rows[-1]
        self.sequence, self.hash, self.time = last.sequence, last.hash, last.time


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
