"""``PostgresStore``: two round trips a commit, one to take the head, one to append and commit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg

from equipoise.errors import (
    CommitUnknown,
    EquipoiseError,
    ExperimentExists,
    ExperimentNotFound,
    NotOffered,
    StoreUnavailable,
)
from equipoise.live.stores.chain import check_begun, empty_head
from equipoise.live.stores.migrations import check_writable, not_understood
from equipoise.live.stores.names import full_name
from equipoise.live.stores.pool import Held, Pool
from equipoise.live.stores.postgresql.connecting import (
    SCHEMA,
    Connection,
    close,
    connect_to_ours,
    without_password,
)
from equipoise.live.stores.postgresql.failures import first_failure, is_lost, read_only, translated
from equipoise.live.stores.postgresql.making import CLOCK
from equipoise.live.stores.sql import VERSION, SqlStore, SqlWriter, Step
from equipoise.live.stores.store import FIRST_EPOCH, Head, Row, Waiting, Writer

_MOST_CONNECTIONS = 16
_BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED"
# The time is that after the wait for the row: inner queries are done first. The server locks tables in the
# order in which they are named here, and a migration locks the schema's first: no deadlock.
_HOLD = f"""
SELECT latest.version, {CLOCK}, held.* FROM (SELECT max(version) AS version FROM equipoise_schema) latest, (
    SELECT number, name, mode, sequence, hash, epoch, created, updated
    FROM equipoise_experiments WHERE name = %s FOR UPDATE
) held
"""
_APPEND = """
WITH moved AS (
    UPDATE equipoise_experiments SET sequence = $2, hash = $3, epoch = $4, updated = $5 WHERE number = $1
)
INSERT INTO equipoise_events (experiment, sequence, time, header, salt, payload, payload_hash, hash)
SELECT $1, * FROM unnest(
    $6::bigint[], $7::bigint[], $8::bytea[], $9::bytea[], $10::bytea[], $11::bytea[], $12::bytea[]
)
"""
_BEGIN_EXPERIMENT = """
INSERT INTO equipoise_experiments (name, mode, sequence, hash, epoch, created, updated)
VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING number
"""
_RIGHTS = """
SELECT current_setting('transaction_read_only') = 'off',
    has_table_privilege('equipoise_experiments', 'INSERT')
    AND has_table_privilege('equipoise_experiments', 'UPDATE')
    AND has_table_privilege('equipoise_events', 'INSERT')
"""
_IS_THERE = "SELECT 1 FROM equipoise_events WHERE experiment = $1 AND sequence = $2 AND hash = $3"


class _PostgresWriter(SqlWriter):
    def __init__(self, number: int, head: Head, now: int, connection: Connection) -> None:
        super().__init__(number, head, now, lambda sql, values: run(connection, sql, values))
        self._connection = connection

    def _send(self, rows: Sequence[Row]) -> None:
        head = self.head
        if not self.number:
            values = (head.name, head.mode, head.sequence, head.hash, head.epoch, head.created, head.updated)
            self.number = self._run(_BEGIN_EXPERIMENT, values)[0][0]
        append(self._connection, self.number, head, rows)


class PostgresStore(SqlStore):
    """Logs in a PostgreSQL database that ``migrate`` has given its tables."""

    def __init__(self, url: str, *, wait: float) -> None:
        self.url = without_password(url)
        self._wait = wait
        self._pool = Pool(
            lambda: connect_to_ours(url, self.url, wait), close, most=_MOST_CONNECTIONS, wait=wait
        )

    @contextmanager
    def writing(self, name: str, waiting: Waiting | None = None) -> Iterator[Writer]:
        """Hold an experiment's head: SELECT … FOR UPDATE, and COMMIT at the end."""
        name = full_name(name)
        with self._pool.using() as held, self._ending(held):
            found = self._first(held, _HOLD, (name,))
            if not found:
                raise self._missing(held.connection, name)
            version, now, number, *columns = found[0]
            check_writable(self.url, version, SCHEMA)
            before = self._as_head(columns)
            writer = _PostgresWriter(number, before, now, held.connection)
            yield writer
            self._commit(held, writer, before)

    @contextmanager
    def creating(self, name: str, mode: str, *, epoch: int = FIRST_EPOCH) -> Iterator[Writer]:
        """Begin an experiment."""
        start = empty_head(name, mode, epoch)
        with self._pool.using() as held, self._ending(held):
            version, now = self._first(held, f"SELECT ({VERSION}), {CLOCK}", ())[0]
            check_writable(self.url, version, SCHEMA)
            writer = _PostgresWriter(0, start, now, held.connection)
            try:
                yield writer
                check_begun(writer.head)
                writer.flush()
            except psycopg.errors.UniqueViolation as error:
                if error.diag.table_name != "equipoise_experiments":
                    raise
                raise ExperimentExists(
                    f"there is an experiment {start.name!r} in {self.url} already",
                    hint="load it, or choose another name",
                ) from None
            self._commit(held, writer, start)

    def _commit(self, held: Held[Connection], writer: SqlWriter, before: Head) -> None:
        _refuse_inherited(held)
        try:
            with held.connection.pipeline():
                writer.flush()
                held.connection.execute("COMMIT")
        except psycopg.Error as error:
            if not is_lost(error, held.connection):
                raise
            self._find_out(held, writer.number, before, writer.head, error)

    def try_writing(self, name: str) -> None:
        """Refuse what writing would refuse."""
        super().try_writing(name)
        self._check_rights()

    def try_creating(self, name: str, mode: str) -> None:
        """Refuse what creating would refuse."""
        super().try_creating(name, mode)
        self._check_rights()

    def _check_rights(self) -> None:
        is_writable, may_write = self._select(_RIGHTS, ())[0]
        if not is_writable:
            raise read_only(self.url, "it only takes read-only transactions")
        if not may_write:
            raise read_only(self.url, "permission denied for tables of experiments")

    def scrub(self, *, wait: float | None = None) -> None:
        """Left to the server: its files are overwritten when it, or somebody who may, does VACUUM."""

    def backup(self, path: str | Path) -> None:
        """Not offered: the server has tools of its own."""
        raise NotOffered(
            "backups of a server are made with its own tools",
            hint="pg_dump --format=custom --file=trial.dump URL",
        )

    def close(self) -> None:
        """Close all connections."""
        self._pool.close()

    @contextmanager
    def _ending(self, held: Held[Connection]) -> Iterator[None]:
        """Whatever happens inside, no transaction stays open and errors are ours."""
        try:
            yield
        except psycopg.Error as error:
            failure = self._translated(first_failure(error), held.connection)
            self._roll_back(held)
            raise failure from error
        except BaseException:
            self._roll_back(held)
            raise
        held.sound = not held.connection.closed

    def _roll_back(self, held: Held[Connection]) -> None:
        if held.is_inherited:
            return
        # A connection that cannot roll back is closed instead, which does the same.
        with suppress(psycopg.Error):
            held.connection.rollback()
            held.sound = not held.connection.closed

    def _first(self, held: Held[Connection], sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Begin a transaction with a question, in one round trip; anew if the server left meanwhile."""
        while True:
            connection = held.connection
            try:
                # Statements in one text, with the values in it, are one message, and cheaper than a pipeline.
                cursor = psycopg.ClientCursor(connection)
                cursor.execute(f"{_BEGIN}; {sql}", values)
                cursor.nextset()
                return cursor.fetchall()
            except psycopg.Error as error:
                if not (held.was_idle and is_lost(error, connection)):
                    raise
            held.renew()

    def _find_out(
        self, held: Held[Connection], number: int, before: Head, after: Head, error: psycopg.Error
    ) -> None:
        """The connection broke while COMMIT was on its way: look, holding the head, whether it arrived."""
        lost = f"{self.url} was lost in the moment of storing"
        if after == before:
            raise StoreUnavailable(
                lost, hint="nothing was to be stored but erasures; repeat the call"
            ) from error
        try:
            held.renew()
            # Holding the head's row, nothing of the old transaction can still be under way. Of an experiment
            # that was to begin there may be no row yet.
            if not self._first(held, _HOLD, (before.name,)):
                raise StoreUnavailable("the head cannot be held")
            arrived = run(held.connection, _IS_THERE, (number, after.sequence, after.hash))
            held.connection.rollback()
        except (psycopg.Error, EquipoiseError):
            raise CommitUnknown(
                f"{lost}: what was sent may be stored, or not",
                hint="when the server answers, repeat the call with the same unit: it is never stored twice",
            ) from error
        if not arrived:
            raise StoreUnavailable(f"{lost}: nothing was stored", hint="try again") from error

    def _missing(self, connection: Connection, name: str) -> ExperimentNotFound:
        connection.rollback()
        return self._no_experiment(name)

    def _translated(self, error: psycopg.Error, connection: Connection) -> EquipoiseError:
        if isinstance(error, psycopg.errors.UndefinedTable | psycopg.errors.UndefinedColumn):
            with suppress(psycopg.Error):
                connection.rollback()
                version = run(connection, VERSION, ())[0][0]
                if version > SCHEMA:
                    return not_understood(self.url, version, SCHEMA, error)
        return translated(error, self.url, self._wait)

    def _select(self, sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        with self._pool.using() as held, self._ending(held):
            while True:
                try:
                    return run(held.connection, sql, values)
                except psycopg.Error as error:
                    if not (held.was_idle and is_lost(error, held.connection)):
                        raise
                held.renew()

    def _change(self, *steps: Step, only_if: Step | None = None) -> bool:
        with self._pool.using() as held, self._ending(held):
            check_writable(self.url, self._first(held, VERSION, ())[0][0], SCHEMA)
            if only_if is not None and not run(held.connection, *only_if):
                held.connection.rollback()
                return False
            with held.connection.pipeline():
                for sql, values in steps:
                    held.connection.execute(sql, values)
                held.connection.execute("COMMIT")
        return True

    def _clock(self) -> int:
        return int(self._select(f"SELECT {CLOCK}", ())[0][0])


def run(connection: Connection, sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
    """What a statement gives, in the server's own representation: bytes stay bytes."""
    return connection.execute(sql, values, binary=True).fetchall()


def append(connection: Connection, number: int, head: Head, rows: Sequence[Row]) -> None:
    """Add rows to an experiment's log and move its head; a number that is taken is an error."""
    connection.execute(
        _APPEND,
        (
            number,
            head.sequence,
            head.hash,
            head.epoch,
            head.updated,
            [row.sequence for row in rows],
            [row.time for row in rows],
            [row.header for row in rows],
            [row.salt if row.payload is not None else None for row in rows],
            [row.payload for row in rows],
            [row.payload_hash for row in rows],
            [row.hash for row in rows],
        ),
    )


def _refuse_inherited(held: Held[Connection]) -> None:
    if held.is_inherited:
        raise StoreUnavailable(
            "a fork inside of writing: the transaction is the parent's", hint="nothing was stored here"
        )
