"""What both databases share: the same tables, the same questions.

Statements are written with ``$1``, ``$2``, …; a store says how it runs one, and how it takes the head.
"""

from __future__ import annotations

import secrets
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from typing import Any

from equipoise.errors import EquipoiseError, ExperimentNotFound, InvalidArgument, StoreDamaged
from equipoise.live.stores.chain import HASH_BYTES, extended
from equipoise.live.stores.names import full_name, no_experiment, parse_name
from equipoise.live.stores.store import Head, Row, Snapshot, Store, Writer

Run = Callable[[str, Sequence[Any]], list[tuple[Any, ...]]]
Step = tuple[str, Sequence[Any]]

PAGE_ROWS = 500
"""Rows that are read at once."""
CHUNK_BYTES = 2**20
"""Bytes of a snapshot that are written in one transaction, so that no writer waits long."""
_ABANDONED_AFTER = 3_600_000_000
"""Microseconds after which an unfinished snapshot is taken for one whose program has died."""
_TRIES = 5

HEAD = "SELECT name, mode, sequence, hash, epoch, created, updated FROM equipoise_experiments"
VERSION = "SELECT max(version) FROM equipoise_schema"
_ROW = "sequence, time, header, salt, payload, payload_hash, hash"
EVENTS = (
    f"SELECT {_ROW} FROM equipoise_events"
    " WHERE experiment = $1 AND sequence > $2 AND sequence <= $3 ORDER BY sequence"
)
_ERASE = (
    "UPDATE equipoise_events SET payload = NULL, salt = NULL"
    " WHERE experiment = $1 AND sequence = $2 RETURNING sequence"
)
_NUMBER = "SELECT number, sequence FROM equipoise_experiments WHERE name = $1"
_BEGIN_SNAPSHOT = "INSERT INTO equipoise_snapshots VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0)"
_ADD_CHUNK = "INSERT INTO equipoise_snapshot_chunks VALUES ($1, $2, $3)"
# It also keeps others from giving the snapshot up until the transaction ends.
_IS_WANTED = (
    "UPDATE equipoise_snapshots SET started = started WHERE number = $1 AND started > 0 RETURNING number"
)
_FINISH_SNAPSHOT = "UPDATE equipoise_snapshots SET finished = 1 WHERE number = $1"
_NEWEST_SNAPSHOT = (
    "SELECT number, sequence, hash, label, size, digest FROM equipoise_snapshots"
    " WHERE experiment = $1 AND finished = 1 ORDER BY sequence DESC, number LIMIT 1"
)
_CHUNK = "SELECT data FROM equipoise_snapshot_chunks WHERE snapshot = $1 AND place = $2"
_OUTDATED = (
    "SELECT number, size FROM equipoise_snapshots WHERE experiment = $1 AND number <> $2"
    " AND ((finished = 1 AND sequence <= $3) OR (finished = 0 AND started < $4))"
)
_ALL_SNAPSHOTS = "SELECT number, size FROM equipoise_snapshots WHERE experiment = $1"
_GIVE_UP_SNAPSHOT = "UPDATE equipoise_snapshots SET finished = 0, started = 0 WHERE number = $1"
_REMOVE_CHUNK = "DELETE FROM equipoise_snapshot_chunks WHERE snapshot = $1 AND place = $2"
_REMOVE_SNAPSHOT = "DELETE FROM equipoise_snapshots WHERE number = $1"


class SqlWriter(Writer):
    """A transaction that holds an experiment's head, or begins one, whose number is 0 before the first row.

    Rows are sent at its end, or when they are needed, or are many.
    """

    def __init__(self, number: int, head: Head, now: int, run: Run) -> None:
        self.head = head
        self.now = max(now, head.updated)
        self.number = number
        self._run = run
        self._pending: list[Row] = []
        self._stored = head

    def newer(self, after: int, upto: int | None = None) -> list[Row]:
        """The rows after a sequence number."""
        self.flush()
        last = self.head.sequence if upto is None else upto
        return as_rows(self._run(EVENTS, (self.number, after, last)), self.head.name, max(after, 0))

    def append(self, rows: Sequence[Row], *, epoch: int | None = None) -> None:
        """Add rows that continue the head."""
        self.head = extended(self.head, rows, epoch)
        self._pending.extend(rows)
        if len(self._pending) >= PAGE_ROWS:
            self.flush()

    def erase(self, sequences: Sequence[int]) -> None:
        """Remove payloads and salts."""
        self.flush()
        for sequence in sequences:
            if not 1 <= sequence <= self.head.sequence:
                raise InvalidArgument(f"{self.head.name!r} has no row {sequence}")
        for sequence in sequences:
            if not self._run(_ERASE, (self.number, sequence)):
                raise _row_missing(self.head.name, sequence)

    def flush(self) -> None:
        """Send what was appended."""
        if self.head is not self._stored:
            self._send(self._pending)
            self._pending, self._stored = [], self.head

    @abstractmethod
    def _send(self, rows: Sequence[Row]) -> None:
        """Insert rows and move the head."""


class SqlStore(Store):
    """Reading and snapshots by SQL. Taking the head, and all about connections, is the database's own."""

    def head(self, name: str) -> Head:
        """Where an experiment's rows end."""
        name = full_name(name)
        rows = self._select(HEAD + " WHERE name = $1", (name,))
        if not rows:
            raise self._no_experiment(name)
        return self._as_head(rows[0])

    def names(self, project: str | None = None) -> list[Head]:
        """All experiments, or those of a project, by name."""
        heads = [self._as_head(row) for row in self._select(HEAD + " ORDER BY name", ())]
        return [head for head in heads if project in (None, parse_name(head.name).project)]

    def read(self, name: str, after: int = 0, upto: int | None = None) -> Iterator[Row]:
        """The rows after one number and up to another, page by page."""
        name = full_name(name)
        number, last = self._number(name)
        return self._pages(name, number, max(after, 0), last if upto is None else min(upto, last))

    def _pages(self, name: str, number: int, after: int, upto: int) -> Iterator[Row]:
        while after < upto:
            end = min(after + PAGE_ROWS, upto)
            rows = as_rows(self._select(EVENTS, (number, after, end)), name, after)
            if len(rows) < end - after:
                raise _row_missing(name, after + len(rows) + 1)
            yield from rows
            after = end

    def save_snapshot(self, name: str, sequence: int, hash: bytes, label: str, blob: bytes) -> None:
        """Write the chunks one by one, and only then say that there is a snapshot; remove those before.

        Who drops all snapshots meanwhile drops this one, too: then no more of it is written.
        """
        name = full_name(name)
        experiment, _ = self._number(name)
        number, now, size = secrets.randbits(62), self._clock(), len(blob)
        digest = _digest(sequence, hash, label, blob)
        self._change((_BEGIN_SNAPSHOT, (number, experiment, sequence, hash, label, size, digest, now)))
        try:
            for place, start in enumerate(range(0, size, CHUNK_BYTES)):
                chunk = bytes(blob[start : start + CHUNK_BYTES])
                if not self._change((_ADD_CHUNK, (number, place, chunk)), only_if=(_IS_WANTED, (number,))):
                    return
            if not self._change((_FINISH_SNAPSHOT, (number,)), only_if=(_IS_WANTED, (number,))):
                return
        except EquipoiseError:
            self._try_to_remove(number, size)
            raise
        for old, old_size in self._select(_OUTDATED, (experiment, number, sequence, now - _ABANDONED_AFTER)):
            self._remove_snapshot(old, old_size)

    def load_snapshot(self, name: str) -> Snapshot | None:
        """The newest finished snapshot if it is whole; one that is replaced meanwhile is read anew."""
        experiment, _ = self._number(full_name(name))
        for _ in range(_TRIES):
            found = self._select(_NEWEST_SNAPSHOT, (experiment,))
            if not found:
                return None
            number, sequence, link, label, size, digest = found[0]
            blob = self._gather(number, size)
            if blob is not None and _digest(sequence, link, label, blob) == digest:
                return Snapshot(sequence, link, label, blob)
        return None

    def drop_snapshots(self, name: str) -> None:
        """Remove all of them, unfinished ones too."""
        experiment, _ = self._number(full_name(name))
        for number, size in self._select(_ALL_SNAPSHOTS, (experiment,)):
            self._remove_snapshot(number, size)

    def _gather(self, number: int, size: int) -> bytes | None:
        blob = bytearray()
        for place in range(_chunks(size)):
            found = self._select(_CHUNK, (number, place))
            if not found:
                return None
            blob += found[0][0]
        return bytes(blob)

    def _remove_snapshot(self, number: int, size: int) -> None:
        # Marked as dead first: whoever saves next removes what an interrupt has left.
        self._change((_GIVE_UP_SNAPSHOT, (number,)))
        for place in range(_chunks(size)):
            self._change((_REMOVE_CHUNK, (number, place)))
        self._change((_REMOVE_SNAPSHOT, (number,)))

    def _try_to_remove(self, number: int, size: int) -> None:
        try:
            self._remove_snapshot(number, size)
        except EquipoiseError:
            return  # it is unfinished, so nobody reads it

    def _number(self, name: str) -> tuple[int, int]:
        found = self._select(_NUMBER, (name,))
        if not found:
            raise self._no_experiment(name)
        return found[0][0], found[0][1]

    def _no_experiment(self, name: str) -> ExperimentNotFound:
        known = [row[0] for row in self._select("SELECT name FROM equipoise_experiments", ())]
        return no_experiment(name, self.url, known)

    def _as_head(self, columns: Sequence[Any]) -> Head:
        head = Head(*columns)
        if type(head.hash) is not bytes or len(head.hash) != HASH_BYTES or type(head.sequence) is not int:
            raise StoreDamaged(f"the head of {head.name!r} in {self.url} is damaged", hint=RESTORE)
        return head

    @abstractmethod
    def _select(self, sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        """What a question of its own finds, in no other transaction."""

    @abstractmethod
    def _change(self, *steps: Step, only_if: Step | None = None) -> bool:
        """Some statements as one short transaction, after a look at the schema's version.

        Where ``only_if``, which comes before them, gives nothing, nothing is done: False.
        """

    @abstractmethod
    def _clock(self) -> int:
        """The store's time, in microseconds."""


RESTORE = "stop all programs that use it, keep a copy of what is there, and restore the last backup"


def as_rows(found: Sequence[tuple[Any, ...]], name: str, after: int) -> list[Row]:
    """Rows as they were read; one that is missing or not of its type is damage."""
    rows = []
    for sequence, time, header, salt, payload, payload_hash, link in found:
        after += 1
        if sequence != after:
            raise _row_missing(name, after)
        if not (type(header) is type(payload_hash) is type(link) is bytes and type(time) is int):
            raise StoreDamaged(f"row {sequence} of {name!r} is damaged", hint=RESTORE)
        rows.append(Row(sequence, time, header, salt or b"", payload, payload_hash, link))
    return rows


def _row_missing(name: str, sequence: int) -> StoreDamaged:
    return StoreDamaged(f"row {sequence} of {name!r} is missing", hint=RESTORE)


def _chunks(size: int) -> int:
    return -(-size // CHUNK_BYTES)


def _digest(sequence: int, hash: bytes, label: str, blob: bytes) -> bytes:
    digest = blake2b(f"{sequence}:{len(label)}:{label}".encode(), digest_size=HASH_BYTES)
    digest.update(hash)
    digest.update(blob)
    return digest.digest()
