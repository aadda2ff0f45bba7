"""``SqliteStore``: one file, many readers, one writer at a time."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

import apsw

from equipoise.core.arithmetic.numerics import NUMERICS
from equipoise.core.experiment.locking import new_lock
from equipoise.errors import (
    CommitUnknown,
    EquipoiseError,
    ExperimentExists,
    ExperimentNotFound,
    StoreBusy,
    StoreUnavailable,
)
from equipoise.live.stores.board import Board
from equipoise.live.stores.chain import check_begun, empty_head
from equipoise.live.stores.migrations import check_writable, not_understood
from equipoise.live.stores.names import full_name
from equipoise.live.stores.pool import Held, Pool
from equipoise.live.stores.sql import VERSION, SqlStore, SqlWriter, Step
from equipoise.live.stores.sqlite.connecting import SCHEMA, Connection, check_library
from equipoise.live.stores.sqlite.failures import read_only, translated
from equipoise.live.stores.sqlite.file_systems import refuse_undecodable, refuse_unsafe
from equipoise.live.stores.sqlite.making import check_folder, check_only_name, copy_file, make_file
from equipoise.live.stores.sqlite.placement import Place, place_of
from equipoise.live.stores.store import FIRST_EPOCH, Head, Row, Waiting, Writer
from equipoise.version import __version__

_MOST_READERS = 16
_BOARD = 1
"""Version of what is written on boards."""
_MOMENT = 0.1
"""Seconds that emptying the write-ahead log holds writers up, and then lets them go on."""
_HOLD = (
    "SELECT (SELECT max(version) FROM equipoise_schema), number,"
    " name, mode, sequence, hash, epoch, created, updated FROM equipoise_experiments WHERE name = $1"
)
# The salt of a row that was redacted is empty in a log that is copied, and nothing in the table.
_INSERT = "INSERT INTO equipoise_events VALUES (?, ?, ?, ?, nullif(?, x''), ?, ?, ?)"
_MOVE = "UPDATE equipoise_experiments SET sequence = ?, hash = ?, epoch = ?, updated = ? WHERE number = ?"
_MOVE_AND_INSERT = f"{_MOVE}; {_INSERT}"
"""What a single call stores, at the price of one statement."""
_BEGIN_EXPERIMENT = (
    "INSERT INTO equipoise_experiments (name, mode, sequence, hash, epoch, created, updated)"
    " VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING number"
)


class _SqliteWriter(SqlWriter):
    def __init__(self, number: int, head: Head, connection: Connection) -> None:
        super().__init__(number, head, clock(), connection.run)
        self._raw = connection.raw

    def _send(self, rows: Sequence[Row]) -> None:
        head, number = self.head, self.number
        if number:
            moved = head.sequence, head.hash, head.epoch, head.updated, number
            if len(rows) == 1:
                self._raw.execute(_MOVE_AND_INSERT, (*moved, number, *rows[0]))
                return
            self._raw.execute(_MOVE, moved)
        else:
            values = (head.name, head.mode, head.sequence, head.hash, head.epoch, head.created, head.updated)
            self.number = self._run(_BEGIN_EXPERIMENT, values)[0][0]
        self._raw.executemany(_INSERT, [(self.number, *row) for row in rows])


class _Transaction(Held[Connection]):
    """BEGIN IMMEDIATE when a block begins, COMMIT at its end, ROLLBACK if it raises."""

    __slots__ = ("_is_committing", "_store", "_waiting")

    def __init__(self, store: SqliteStore, waiting: Waiting | None = None) -> None:
        super().__init__(store._writers)
        self._store = store
        self._waiting = waiting

    def __enter__(self) -> Any:
        """The connection; of a class that derives from this, what it begins with."""
        self._is_committing = False
        super().__enter__()
        try:
            self.connection.begin(self._waiting)
            return self._begun(self.connection)
        except BaseException as error:
            try:
                self._undo(error)
            finally:
                super().__exit__()
            raise

    def __exit__(self, *exception: Any) -> None:
        error: BaseException | None = exception[1]
        try:
            if error is not None:
                self._undo(error)
                return
            try:
                self._commit(self.connection)
            except BaseException as problem:
                self._undo(problem)
                raise
        finally:
            super().__exit__()

    def _begun(self, connection: Connection) -> Any:
        return connection

    def _commit(self, connection: Connection) -> None:
        if self.is_inherited:
            raise StoreUnavailable(
                "a fork inside of writing: the transaction is the parent's", hint="nothing was stored here"
            )
        self._complete(connection)
        self._store._check_place(connection)  # what is committed to a file that was removed is lost
        self._is_committing = True
        connection.raw.execute("COMMIT")
        self.sound = True
        self._committed(connection)

    def _complete(self, connection: Connection) -> None:
        """What is left to write."""

    def _committed(self, connection: Connection) -> None:
        """What is known after it."""

    def _undo(self, error: BaseException) -> None:
        """Roll back; an error of the database is raised as one of ours."""
        failure = None
        if isinstance(error, apsw.Error):
            failure = self._store._translated(error, self.connection, committing=self._is_committing)
        if not self.is_inherited:
            # A connection that cannot roll back is closed instead, which does the same.
            with suppress(apsw.Error):
                if self.connection.raw.in_transaction:
                    self.connection.run("ROLLBACK")
                self.sound = True
        if failure is not None:
            raise failure from error


class _Writing(_Transaction):
    """A transaction that holds the head of an experiment."""

    __slots__ = ("_name", "_writer")

    def __init__(self, store: SqliteStore, name: str, waiting: Waiting | None) -> None:
        super().__init__(store, waiting)
        self._name = name

    def _begun(self, connection: Connection) -> Writer:
        number, head = connection.head_left(self._name) or self._read_head(connection)
        self._writer = _SqliteWriter(number, head, connection)
        return self._writer

    def _read_head(self, connection: Connection) -> tuple[int, Head]:
        found = connection.run(_HOLD, (self._name,))
        if not found:
            raise self._store._no_experiment(self._name)
        version, number, *columns = found[0]
        check_writable(self._store.url, version, SCHEMA)
        return number, self._store._as_head(columns)

    def _complete(self, connection: Connection) -> None:
        self._writer.flush()

    def _committed(self, connection: Connection) -> None:
        try:
            connection.leave_head(self._name, self._writer.number, self._writer.head)
        except Exception:
            return  # it is stored, and who comes next reads the head


class SqliteStore(SqlStore):
    """Logs in an SQLite file, which is made with the first experiment."""

    def __init__(self, path: str | Path, *, url: str, wait: float) -> None:
        check_library()
        self.url = url
        # Kept whole: the program may change its folder, and SQLite follows links for the files beside it.
        self.path = Path(path).resolve()
        refuse_undecodable(self.path)
        refuse_unsafe(self.path)
        self._wait = wait
        self._place: Place | None = None
        self._is_gone = False
        self._board: Board | None = None
        self._board_lock = new_lock()
        self._may_have_board = True
        # Threads of this process queue for the one connection that writes; processes queue for SQLite's lock.
        self._writers = self._pool(1)
        self._readers = self._pool(_MOST_READERS)

    def _pool(self, most: int) -> Pool[Connection]:
        # SQLite keeps in memory which locks on a file this process has, and a fork copies that.
        return Pool(self._connect, _close, most=most, wait=self._wait, closes_before_forks=True)

    def writing(self, name: str, waiting: Waiting | None = None) -> AbstractContextManager[Writer]:
        """Hold an experiment's head: BEGIN IMMEDIATE, and COMMIT at the end."""
        return _Writing(self, full_name(name), waiting)

    @contextmanager
    def creating(self, name: str, mode: str, *, epoch: int = FIRST_EPOCH) -> Iterator[Writer]:
        """Begin an experiment, and the file if it is the first."""
        start = empty_head(name, mode, epoch)
        if self._place is None and not self.path.exists():
            make_file(self.path)
        with _Transaction(self) as connection:
            check_writable(self.url, connection.run(VERSION)[0][0], SCHEMA)
            if connection.run("SELECT 1 FROM equipoise_experiments WHERE name = $1", (start.name,)):
                raise ExperimentExists(
                    f"there is an experiment {start.name!r} in {self.url} already",
                    hint="load it, or choose another name",
                )
            writer = _SqliteWriter(0, start, connection)
            yield writer
            check_begun(writer.head)
            writer.flush()

    def try_creating(self, name: str, mode: str) -> None:
        """Refuse what creating would refuse; where there is no file yet, a place that can have none."""
        if self._place is None and not self.path.exists():
            empty_head(name, mode)
            check_folder(self.path)
        else:
            super().try_creating(name, mode)
            self._check_writable()

    def try_writing(self, name: str) -> None:
        """Refuse what writing would refuse."""
        super().try_writing(name)
        self._check_writable()

    def _check_writable(self) -> None:
        """Of a file that may only be read SQLite takes the lock all the same, and refuses the first row."""
        with self._using(self._writers) as held:
            if held.connection.raw.readonly("main"):
                raise read_only(self.path)

    def board(self) -> Board | None:
        """A board of all processes that use this file, as long as any of them has it open."""
        if self._may_have_board and (self._board is None or not self._board.is_open):
            self._open_board()
        return self._board

    def _open_board(self) -> None:
        with self._board_lock:
            if self._may_have_board and self._place is not None:
                device, file = self._place
                self._board = Board.offered(f"{_BOARD} {__version__} {NUMERICS} {device}:{file}")
                self._may_have_board = self._board is not None

    def names(self, project: str | None = None) -> list[Head]:
        """All experiments, or those of a project; none where no file was made yet."""
        if self._place is None and not self.path.exists():
            return []
        return super().names(project)

    def scrub(self, *, wait: float | None = None) -> None:
        """Move the write-ahead log into the file and empty it, so that neither keeps what was erased.

        That must wait for whoever reads an older state. Writers are held up meanwhile, so it is tried for a
        moment at a time.
        """
        board = self.board()
        if board is not None:
            board.clear_unused()
        patience = self._wait if wait is None else wait
        until = time.monotonic() + patience
        while not self._emptied(min(_MOMENT, patience)):
            if time.monotonic() >= until:
                raise StoreBusy(
                    f"other programs have read {self.path} for {patience:g} s, so that it and the -wal file "
                    "beside it still hold bytes of what was erased",
                    hint="end those programs, or wait for them, then try again",
                )
            time.sleep(_MOMENT)

    def _emptied(self, wait: float) -> bool:
        with self._using(self._writers) as held:
            return held.connection.empty_log(wait)

    def backup(self, path: str | Path) -> None:
        """Copy everything into a new file while others go on writing."""
        with self._using(self._readers) as held:
            copy_file(held.connection, Path(path))

    def close(self) -> None:
        """Close all connections; the last one in the world tidies the write-ahead log away."""
        self._readers.close()
        self._writers.close()
        with self._board_lock:
            self._may_have_board = False
            board, self._board = self._board, None
        if board is not None:
            board.close()

    def _connect(self) -> Connection:
        if self._place is None and not self.path.exists():
            raise ExperimentNotFound(
                f"there is no file {self.path}, so no experiment in it",
                hint="check the path; the first experiment that is created makes the file",
            )
        if self._is_gone or (self._place is not None and place_of(self.path) != self._place):
            raise self._gone()
        check_only_name(self.path)
        connection = Connection(self.path, self.url, self._wait)
        self._place = connection.place
        return connection

    def _check_place(self, connection: Connection) -> None:
        if self._is_gone or not connection.is_in_place():
            raise self._gone()

    def _gone(self) -> StoreUnavailable:
        # For good: a new connection would take what is left for all there is.
        self._is_gone = True
        return StoreUnavailable(
            f"{self.path}, or the -wal or -shm file beside it, was removed or replaced while it was open",
            hint="bring it back, then open the store anew; nothing was stored since",
        )

    @contextmanager
    def _using(self, pool: Pool[Connection]) -> Iterator[Held[Connection]]:
        """A connection outside transactions, whose errors are ours."""
        with pool.using() as held:
            connection = held.connection
            self._check_place(connection)
            try:
                yield held
            except apsw.Error as error:
                raise self._translated(error, connection) from error
            held.sound = True

    def _translated(
        self, error: apsw.Error, connection: Connection, *, committing: bool = False
    ) -> EquipoiseError:
        if isinstance(error, apsw.SQLError):
            with suppress(apsw.Error):
                version = connection.run(VERSION)[0][0]
                if version > SCHEMA:
                    return not_understood(self.url, version, SCHEMA, error)
        system = connection.raw.system_errno
        failure = translated(error, self.path, self._wait, system=system, committing=committing)
        if isinstance(failure, CommitUnknown):
            self._writers.empty()
        return failure

    def _select(self, sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        with self._using(self._readers) as held:
            return held.connection.run(sql, values)

    def _change(self, *steps: Step, only_if: Step | None = None) -> bool:
        with _Transaction(self) as connection:
            check_writable(self.url, connection.run(VERSION)[0][0], SCHEMA)
            if only_if is not None and not connection.run(*only_if):
                return False
            for sql, values in steps:
                connection.run(sql, values)
        return True

    def _clock(self) -> int:
        return clock()


def clock() -> int:
    """The machine's time, in microseconds."""
    return time.time_ns() // 1000


def _close(connection: Connection) -> None:
    with suppress(apsw.Error):
        connection.close()
