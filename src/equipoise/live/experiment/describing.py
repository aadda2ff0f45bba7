"""Units of a live experiment in full: contexts as given and scores are in the log, times are beside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from equipoise.core.experiment.experiment import Experiment
from equipoise.core.experiment.history.events import ASKED, numbers
from equipoise.core.experiment.record import Record
from equipoise.core.experiment.units.book import NO_PERSON, Details, UnitBook
from equipoise.core.experiment.units.unit import Unit, unit_of
from equipoise.live.experiment.state.moments import Numbers
from equipoise.live.log.encoding import decode
from equipoise.live.log.entries import moment
from equipoise.live.stores.store import Row, Store

FEW = 50
"""Rows that are looked up one by one rather than by going through the log."""


def described(
    store: Store, name: str, record: Record, times: tuple[Numbers, Numbers, Numbers], rows: Sequence[int]
) -> Iterator[Unit]:
    """Units in these rows of a record; ``times`` are their rows in the log, and when they began and ended."""
    sequences, asked, ended = times
    details = _details(_rows(store, name, [int(sequences[row]) for row in rows]))
    for row in rows:
        unit = unit_of(record, row, record.book.keys[row], details.get(row + 1))
        closed = int(ended[row])
        yield replace(unit, asked_at=moment(int(asked[row])), closed_at=moment(closed) if closed else None)


def with_details(store: Store, name: str, experiment: Experiment, sequences: Sequence[int]) -> Experiment:
    """The same experiment with what the log tells of its units, which are in these rows of it."""
    record = experiment._current()
    details, book = _details(_rows(store, name, sequences)), UnitBook()
    for row in range(record.step):
        book.write(row, record.book.keys[row], details.get(row + 1))
    return Experiment._of(replace(record, book=book))


def _rows(store: Store, name: str, sequences: Sequence[int]) -> Iterable[Row]:
    if len(sequences) > FEW:
        return store.read(name, min(sequences) - 1, max(sequences))
    return (row for number in sequences for row in store.read(name, number - 1, number))


def _details(rows: Iterable[Row]) -> Mapping[int, Details]:
    """What the log tells of units, by id."""
    found = {}
    for row in rows:
        event: dict[str, Any] = {} if row.payload is None else decode(row.payload)
        if event.get("kind") in ASKED:
            eligible = event.get("eligible")
            found[event["id"]] = Details(
                given=event.get("given"),
                scores=numbers(event["scores"]),
                chance=event["chance"],
                weighed=event.get("weighed", False),
                eligible=None if eligible is None else tuple(eligible),
                chosen=event.get("chosen", NO_PERSON),
            )
    return found
