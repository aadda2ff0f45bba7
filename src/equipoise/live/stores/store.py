"""The interface of all stores, and the values that they hand out.

A store keeps, for every experiment, rows in an order without gaps, and a head that says where they end.
Whoever writes takes the head first, so there is one writer at a time; readers never wait for one.
:mod:`equipoise.live.stores.contract` has the promises as checks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Protocol, Self

from equipoise.errors import ExperimentExists
from equipoise.live.stores.board import Board
from equipoise.live.stores.names import full_name, parse_name

MODES = ("live", "practice")
FIRST_EPOCH = 1


class Waiting(Protocol):
    """Somebody who waits for the head of an experiment while another writer has it."""

    def can_be_served(self) -> bool:
        """Whether others may do instead what the head is wanted for; asked when it is found taken."""

    def wait_for_others(self) -> bool:
        """Wait some time for that; whether it is done, so that the head is no longer wanted."""

    def prepare(self) -> None:
        """Do what can be done before the head is there; called before every try. It may read the store."""


class Row(NamedTuple):
    """One event as it is stored."""

    sequence: int
    """From 1, without gaps."""
    time: int
    """Microseconds since 1970 (UTC) by the store's clock; never before the row before."""
    header: bytes
    """Canonical JSON: kind, actor, reason, versions. Outlives a redaction."""
    salt: bytes
    """16 random bytes; empty once the row is redacted."""
    payload: bytes | None
    """Canonical JSON of the event; None once the row is redacted."""
    payload_hash: bytes
    """BLAKE2b-256 of salt and payload."""
    hash: bytes
    """BLAKE2b-256 of the hash before, ``payload_hash`` and ``header``."""


class Head(NamedTuple):
    """An experiment in a store, and where its rows end."""

    name: str
    """Canonical: without the project "default"."""
    mode: str
    """"live" or "practice"; never changes."""
    sequence: int
    """Of the last row."""
    hash: bytes
    """Of the last row."""
    epoch: int
    """From 1; one more after every restored backup."""
    created: int
    """Time of the first row."""
    updated: int
    """Time of the last row."""

    @property
    def project(self) -> str:
        """The first part of the name."""
        return parse_name(self.name).project


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A state that was saved to open faster; the log is the truth."""

    sequence: int
    """The last row that the state holds."""
    hash: bytes
    """Of that row."""
    label: str
    """What the reader must know to use the state; the store does not look at it."""
    blob: bytes
    """The state."""


class Writer(ABC):
    """What can be done while an experiment's head is held. Other readers see all of it or nothing."""

    head: Head
    """As it will be when this is committed."""
    now: int
    """The store's clock when the head was taken, in microseconds; never before the last row."""

    @abstractmethod
    def newer(self, after: int, upto: int | None = None) -> Sequence[Row]:
        """The rows after a sequence number, up to another if one is given; those appended here included."""

    @abstractmethod
    def append(self, rows: Sequence[Row], *, epoch: int | None = None) -> None:
        """Add rows that continue the head, in number, time and hash; or refuse all of them.

        ``epoch`` is the new epoch, where a restored backup begins one.
        """

    @abstractmethod
    def erase(self, sequences: Sequence[int]) -> None:
        """Remove the payloads and salts of rows; headers and hashes stay. Then :meth:`Store.scrub`."""


class _Tried(Exception):
    """Takes back what a try has begun."""


class Store(ABC):
    """Logs of experiments. Safe to use from many threads, and in the child after a fork."""

    url: str
    """Where it is, without a password."""

    @abstractmethod
    def writing(self, name: str, waiting: Waiting | None = None) -> AbstractContextManager[Writer]:
        """Hold an experiment's head: ``with store.writing(name) as writer``.

        All is committed at the end of the block, or nothing if it raises. Waits for another writer for a
        bounded time, then raises StoreBusy. After :class:`~equipoise.errors.CommitUnknown` read the head
        again; after any other error nothing was stored.

        Where another writer is waited for, a store may let ``waiting`` wait in its way, and prepare itself
        before every try. If others have done meanwhile what was wanted, StoreBusy is raised at once.
        """

    @abstractmethod
    def creating(self, name: str, mode: str, *, epoch: int = FIRST_EPOCH) -> AbstractContextManager[Writer]:
        """Begin an experiment: ``with store.creating(name, mode) as writer``, who appends at least one row.

        As with :meth:`writing` all is committed at the end of the block, or nothing. Rows may be appended a
        few at a time, so that a long log need not be in memory.
        """

    def create(
        self, name: str, rows_of: Callable[[int], Sequence[Row]], mode: str, *, epoch: int = FIRST_EPOCH
    ) -> Head:
        """Begin an experiment with the rows that a function makes of the store's time, at least one."""
        with self.creating(name, mode, epoch=epoch) as writer:
            writer.append(rows_of(writer.now))
        return writer.head

    def try_writing(self, name: str) -> None:
        """Refuse what :meth:`writing` would refuse, after the same wait; nothing is stored."""
        with suppress(_Tried), self.writing(name):
            raise _Tried

    def try_creating(self, name: str, mode: str) -> None:
        """Refuse what :meth:`creating` would refuse, a name that is taken too; nothing is made."""
        with suppress(_Tried), self.creating(name, mode):
            raise _Tried
        wanted = full_name(name)  # which some stores look for when a row is appended
        if any(head.name == wanted for head in self.names(parse_name(name).project)):
            raise ExperimentExists(
                f"there is an experiment {wanted!r} in {self.url} already",
                hint="load it, or choose another name",
            )

    def board(self) -> Board | None:
        """Where processes leave requests for whichever of them writes; None where each waits for its turn."""
        return None

    @abstractmethod
    def head(self, name: str) -> Head:
        """Where an experiment's rows end."""

    @abstractmethod
    def read(self, name: str, after: int = 0, upto: int | None = None) -> Iterator[Row]:
        """The rows after one number and up to another, by default those that are there now."""

    @abstractmethod
    def names(self, project: str | None = None) -> list[Head]:
        """All experiments, or those of a project, by name."""

    @abstractmethod
    def save_snapshot(self, name: str, sequence: int, hash: bytes, label: str, blob: bytes) -> None:
        """Keep a state for whoever opens next; the one before is dropped. Holds up no writer for long."""

    @abstractmethod
    def load_snapshot(self, name: str) -> Snapshot | None:
        """The newest whole snapshot, or None."""

    @abstractmethod
    def drop_snapshots(self, name: str) -> None:
        """Remove all snapshots of an experiment. Then :meth:`scrub`, where nothing may be left of them."""

    @abstractmethod
    def scrub(self, *, wait: float | None = None) -> None:
        """Leave no byte of what was erased or dropped in files that this program can see to.

        Waits for whoever still reads it, ``wait`` seconds or as long as for a writer, then raises StoreBusy.
        """

    @abstractmethod
    def backup(self, path: str | Path) -> None:
        """Copy everything into a new file while others go on writing, or NotOffered."""

    @abstractmethod
    def close(self) -> None:
        """Give back what is held; calls after it raise StoreUnavailable. Closing twice is harmless."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.url}>"
