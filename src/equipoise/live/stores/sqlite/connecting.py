"""Connections to a file that must stay where it is, and whole.

The file is opened for reading and writing by SQLite alone: closing any other handle of that kind would drop
the locks that SQLite holds in this process. What must be known of the file comes from ``stat``, from handles
that only hold its place (:mod:`~equipoise.live.stores.sqlite.placement`), and from SQLite itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import apsw

from equipoise.errors import InvalidStore
from equipoise.live.stores.migrations import check_readable, newest
from equipoise.live.stores.sql import VERSION
from equipoise.live.stores.sqlite.failures import damaged, translated
from equipoise.live.stores.sqlite.placement import Place, Placement, place_of
from equipoise.live.stores.sqlite.waiting import Patience, Seat
from equipoise.live.stores.store import Head, Waiting

OLDEST_SQLITE = (3, 51, 3)
"""Before it, a writer and a checkpoint at the same moment could damage the file."""
APPLICATION = 0x45515053
"""Marks files of this package ("EQPS")."""
SCHEMA = newest("equipoise.live.stores.sqlite")

# What is deleted is overwritten: pages of old snapshots would else keep what a redaction removes.
_SETTINGS = """
PRAGMA synchronous = FULL;
PRAGMA fullfsync = ON;
PRAGMA secure_delete = ON;
PRAGMA cell_size_check = ON;
PRAGMA trusted_schema = OFF;
PRAGMA journal_size_limit = 67108864;
"""


def check_library() -> None:
    """Refuse an SQLite that may damage files."""
    found = apsw.sqlite_lib_version()
    if tuple(map(int, found.split("."))) < OLDEST_SQLITE:
        wanted = ".".join(map(str, OLDEST_SQLITE))
        raise InvalidStore(
            f"SQLite {found} may damage a file that is written while it is tidied up; {wanted} is needed",
            hint=f"pip install 'apsw>={wanted}'",
        )


@cache
def native(sql: str) -> str:
    """A shared statement with SQLite's placeholders."""
    return sql.replace("$", "?")


class Connection:
    """One connection, and the files that it was opened on."""

    def __init__(self, path: Path, url: str, wait: float) -> None:
        self.path, self.url = path, url
        if path.is_dir():
            raise InvalidStore(f"{path} is a folder", hint="name a file in it")
        self._checksize_of()
        self._place = place_of(path)
        self._wal = f"{path}-wal"
        self._seat = Seat(self._wal)
        self._patience = Patience(wait)
        try:
            self.raw = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        except apsw.Error as error:
            raise translated(error, path, wait) from error
        try:
            self._set_up()
        except BaseException as error:
            system = self.raw.system_errno
            self.raw.close(True)
            if isinstance(error, apsw.Error):
                raise translated(error, path, wait, system=system) from error
            raise
        # Locks are on the -shm file: who finds another one there does not see them.
        opened = [(str(path), self._place)]
        opened += [(file, place_of(file)) for file in (self._wal, f"{path}-shm")]
        self._placement = Placement(path.parent, [(file, place) for file, place in opened if place])
        self.is_in_place = self._placement.holds
        """Whether the file is still there; if not, what is written would be lost."""
        self._heads: dict[str, tuple[int, Head]] = {}
        self._heads_version = -1

    @property
    def place(self) -> Place | None:
        """The file it was opened on."""
        return self._place

    def run(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """What a statement gives."""
        return self.raw.execute(native(sql), values).fetchall()

    def begin(self, waiting: Waiting | None = None) -> None:
        """Take the lock for writing; it is waited for."""
        self._patience.seat, self._patience.waiting = self._seat, waiting
        try:
            self.raw.execute("BEGIN IMMEDIATE")
        finally:
            self._patience.seat = self._patience.waiting = None
            self._seat.leave()

    def head_left(self, name: str) -> tuple[int, Head] | None:
        """An experiment's number and head, if :meth:`leave_head` noted them and nobody wrote since.

        For whoever has the lock for writing. SQLite counts the changes of a file: those that others have
        made since are counted when the lock is taken.
        """
        if self.raw.data_version() != self._heads_version:
            self._heads.clear()
            return None
        return self._heads.get(name)

    def leave_head(self, name: str, number: int, head: Head) -> None:
        """Note what was committed just now, so that it need not be read for the next commit."""
        self._heads[name] = number, head
        self._heads_version = self.raw.data_version()  # last: until then no head counts

    def close(self) -> None:
        """Give everything back."""
        try:
            self.raw.close(True)
        finally:
            self._seat.close()
            self._placement.close()

    def empty_log(self, wait: float) -> bool:
        """Move the write-ahead log into the file, and cut it to nothing; whether nobody was in the way."""
        self.raw.set_busy_handler(Patience(wait))
        try:
            busy, _, _ = self.run("PRAGMA wal_checkpoint(TRUNCATE)")[0]
        finally:
            self.raw.set_busy_handler(self._patience)
        return not busy

    def check_name(self) -> int:
        """The schema's version; refuses databases of others."""
        if not self.run("SELECT 1 FROM sqlite_schema WHERE name = 'equipoise_schema'"):
            raise InvalidStore(
                f"{self.path} is a database of another program", hint="choose another file for experiments"
            )
        return int(self.run(VERSION)[0][0] or 0)

    def _set_up(self) -> None:
        self.raw.set_busy_handler(self._patience)
        self.raw.execute(_SETTINGS).fetchall()  # a statement runs when what the one before gives was read
        wal = Path(self._wal)
        empty_before = size_of(wal) == 0
        version = self.check_name()
        if self.raw.pragma("journal_mode") != "wal":  # a file that other tools have written
            self.raw.pragma("journal_mode", "wal")
        pages = self.raw.pragma("page_count") * self.raw.pragma("page_size")
        # Pages may be in the write-ahead log alone; where it is empty, all of them must be in the file.
        if empty_before and size_of(self.path) < pages and size_of(wal) == 0:
            raise damaged(self.path, f"it has {size_of(self.path)} bytes, and should have {pages}")
        check_readable(self.url, version, SCHEMA)

    def _checksize_of(self) -> None:
        if self.path.exists() and size_of(self.path) == 0:
            raise damaged(self.path, "it is empty (if it was meant to be a new one, remove it)")


def size_of(path: Path) -> int:
    """Bytes of a file; none where there is no file, also if it is removed at this moment."""
    try:
        return path.stat().st_size
    except OSError:
        return 0
