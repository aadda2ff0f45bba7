"""The tables, made and migrated by command, under a lock."""

from __future__ import annotations

import psycopg

from equipoise.live.stores.migrations import check_writable, migrations
from equipoise.live.stores.postgresql.connecting import SCHEMA, Connection, close, connect, without_password
from equipoise.live.stores.postgresql.failures import translated
from equipoise.live.stores.sql import VERSION
from equipoise.version import __version__

PACKAGE = "equipoise.live.stores.postgresql"
_ONE_AT_A_TIME = 0x45515053
"""The number of the lock that migrations of this package take."""
CLOCK = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"


def migrate_database(url: str, wait: float, *, dry_run: bool) -> tuple[int, int]:
    """Bring a database to the newest schema; gives the versions before and after, 0 for none.

    A dry run takes all back.
    """
    shown = without_password(url)
    connection = connect(url, shown, wait)
    try:
        with connection.transaction(force_rollback=dry_run):
            connection.execute("SELECT pg_advisory_xact_lock($1)", (_ONE_AT_A_TIME,))
            before = _version(connection)
            if before > SCHEMA:
                check_writable(shown, before, SCHEMA)
            for number, sql in migrations(PACKAGE).items():
                if number > before:
                    psycopg.ClientCursor(connection).execute(sql.encode())
                    connection.execute(
                        f"INSERT INTO equipoise_schema VALUES ($1, $2, {CLOCK})", (number, __version__)
                    )
            return before, SCHEMA
    except psycopg.Error as error:
        raise translated(error, shown, wait) from error
    finally:
        close(connection)


def _version(connection: Connection) -> int:
    if connection.execute("SELECT to_regclass('equipoise_schema')").fetchall()[0][0] is None:
        return 0
    # Every writer reads this table: from here on there are none.
    connection.execute("LOCK TABLE equipoise_schema IN ACCESS EXCLUSIVE MODE")
    return int(connection.execute(VERSION).fetchall()[0][0] or 0)
