"""A store that ends with the process: for tries, tests and the in-memory side of the commands."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from inspect import GEN_CLOSED, getgeneratorstate
from pathlib import Path
from threading import Lock, RLock, get_ident
from weakref import ref

from equipoise.errors import (
    ExperimentExists,
    InvalidArgument,
    NotOffered,
    StoreBusy,
    StoreUnavailable,
)
from equipoise.live.stores.chain import check_begun, empty_head, extended
from equipoise.live.stores.names import full_name, no_experiment, parse_name
from equipoise.live.stores.pool import staying
from equipoise.live.stores.store import FIRST_EPOCH, Head, Row, Snapshot, Store, Waiting, Writer


class _Log:
    """One experiment."""

    def __init__(self, head: Head) -> None:
        self.head = head
        self.rows: list[Row] = []
        self.snapshot: Snapshot | None = None
        self.turns = (RLock(),)
        self.stay: tuple[int, ref[Generator[bool, None, None]]] | None = None
        """Of whoever has the turn, or had it last: the thread, and what ends with its turn."""


class _MemoryWriter(Writer):
    def __init__(self, log: _Log) -> None:
        self.rows = log.rows
        del self.rows[log.head.sequence :]  # an interrupt between rows and head has stored nothing
        self.head = log.head
        self.now = max(time.time_ns() // 1000, log.head.updated)
        self.erased: set[int] = set()

    def newer(self, after: int, upto: int | None = None) -> list[Row]:
        found = self.rows[max(after, 0) : upto]
        return [_erased(row) if row.sequence in self.erased else row for row in found]

    def append(self, rows: Sequence[Row], *, epoch: int | None = None) -> None:
        self.head = extended(self.head, rows, epoch)
        self.rows.extend(rows)  # not seen by others before the head says so

    def erase(self, sequences: Sequence[int]) -> None:
        for sequence in sequences:
            if not 1 <= sequence <= self.head.sequence:
                raise InvalidArgument(f"{self.head.name!r} has no row {sequence}")
        self.erased.update(sequences)


class MemoryStore(Store):
    """Logs in this process. A fork goes on with a copy of its own."""

    url = "memory:"

    def __init__(self, *, wait: float) -> None:
        self._wait = wait
        self._logs: dict[str, _Log] = {}
        self._lock = Lock()
        self._closed = False

    @contextmanager
    def writing(self, name: str, waiting: Waiting | None = None) -> Iterator[Writer]:
        """Hold an experiment's head."""
        log = self._log(name)
        # It ends with this call, wherever an interrupt falls, so that nobody is kept out.
        stay = staying(log.turns, self._wait)
        try:
            # One thread may take its own turn again, and must not write inside of writing.
            if not next(stay) or _is_inside(log.stay):
                raise StoreBusy(f"another writer has held {name!r} for {self._wait:g} s", hint="try again")
            log.stay = get_ident(), ref(stay)
            writer = _MemoryWriter(log)
            yield writer
            self._open()
            for sequence in writer.erased:
                writer.rows[sequence - 1] = _erased(writer.rows[sequence - 1])
            log.head = writer.head  # from here on it is stored
        finally:
            stay.close()

    @contextmanager
    def creating(self, name: str, mode: str, *, epoch: int = FIRST_EPOCH) -> Iterator[Writer]:
        """Begin an experiment."""
        log = _Log(empty_head(name, mode, epoch))
        name = log.head.name
        self._open()
        with self._lock:
            if name in self._logs:
                raise ExperimentExists(f"there is an experiment {name!r} already")
            writer = _MemoryWriter(log)
            yield writer
            check_begun(writer.head)
            log.head = writer.head
            self._logs[name] = log

    def head(self, name: str) -> Head:
        """Where an experiment's rows end."""
        return self._log(name).head

    def read(self, name: str, after: int = 0, upto: int | None = None) -> Iterator[Row]:
        """The rows after one number and up to another."""
        log = self._log(name)
        end = log.head.sequence
        return iter(log.rows[max(after, 0) : end if upto is None else min(max(upto, 0), end)])

    def names(self, project: str | None = None) -> list[Head]:
        """All experiments, or those of a project."""
        self._open()
        heads = [log.head for _, log in sorted(self._logs.copy().items())]
        return [head for head in heads if project in (None, parse_name(head.name).project)]

    def save_snapshot(self, name: str, sequence: int, hash: bytes, label: str, blob: bytes) -> None:
        """Keep a state, unless a newer one is there."""
        log = self._log(name)
        with self._lock:
            if log.snapshot is None or log.snapshot.sequence <= sequence:
                log.snapshot = Snapshot(sequence, bytes(hash), label, bytes(blob))

    def load_snapshot(self, name: str) -> Snapshot | None:
        """The newest snapshot, or None."""
        return self._log(name).snapshot

    def drop_snapshots(self, name: str) -> None:
        """Forget it."""
        self._log(name).snapshot = None

    def scrub(self, *, wait: float | None = None) -> None:
        """Nothing is left: there is no file."""

    def backup(self, path: str | Path) -> None:
        """Not offered: there is no file."""
        raise NotOffered(
            "a store in memory has no backup",
            hint='keep the experiment in a file: store="sqlite:///trial.db"',
        )

    def close(self) -> None:
        """Forget everything."""
        self._closed = True
        self._logs = {}

    def _log(self, name: str) -> _Log:
        name = full_name(name)
        self._open()
        try:
            return self._logs[name]
        except KeyError:
            raise no_experiment(name, self.url, self._logs) from None

    def _open(self) -> None:
        if self._closed:
            raise StoreUnavailable("the store is closed", hint="open it anew")


def _is_inside(stay: tuple[int, ref[Generator[bool, None, None]]] | None) -> bool:
    """Whether this thread had the turn before it took it again."""
    # Another thread has given its turn back, though it may be in the middle of ending its stay.
    found = stay[1]() if stay is not None and stay[0] == get_ident() else None
    return found is not None and getgeneratorstate(found) != GEN_CLOSED


def _erased(row: Row) -> Row:
    return row._replace(salt=b"", payload=None)
