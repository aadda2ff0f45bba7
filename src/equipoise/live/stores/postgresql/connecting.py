"""Connections, their settings, and what a URL gives away."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.array import ListBinaryDumper
from psycopg.types.string import BytesBinaryDumper

from equipoise.errors import InvalidStore
from equipoise.live.stores.migrations import check_readable, newest
from equipoise.live.stores.postgresql.failures import not_connected, translated
from equipoise.live.stores.sql import VERSION

SCHEMA = newest("equipoise.live.stores.postgresql")
Connection = psycopg.Connection[tuple[Any, ...]]

# A commit is on the disk; a transaction whose program does nothing more, or has vanished, is ended.
_SESSION = {
    "synchronous_commit": "on",
    "idle_in_transaction_session_timeout": "300s",
    "tcp_keepalives_idle": "20",
    "tcp_keepalives_interval": "10",
    "tcp_keepalives_count": "4",
}
# A peer that has vanished is noticed within a minute. What the URL says comes first.
_DEFAULTS: dict[str, Any] = {
    "application_name": "equipoise",
    "connect_timeout": 10,
    "keepalives_idle": 20,
    "keepalives_interval": 10,
    "keepalives_count": 4,
    "tcp_user_timeout": 60_000,
}


def connect(url: str, shown: str, wait: float) -> Connection:
    """A connection whose commits are on the server's disk when they are acknowledged."""
    try:
        settings = conninfo_to_dict(url)
    except psycopg.Error as error:
        raise InvalidStore(
            f"{shown} is not a URL of a server: {str(error).strip()}",
            hint='the form is "postgresql://user@host:5432/database"',
        ) from None
    try:
        connection: Connection = psycopg.Connection.connect(
            **{**_DEFAULTS, **settings, "client_encoding": "UTF8"},
            autocommit=True,
            prepare_threshold=0,
            cursor_factory=psycopg.RawCursor,
        )
    except psycopg.Error as error:
        raise not_connected(error, shown) from error
    # Bytes and lists of them travel as they are; as text they would take many times as long.
    connection.adapters.register_dumper(bytes, BytesBinaryDumper)
    connection.adapters.register_dumper(list, ListBinaryDumper)
    try:
        session = {**_SESSION, "lock_timeout": f"{max(int(wait * 1000), 1)}ms"}
        connection.execute(
            "SELECT set_config(name, value, false) FROM unnest($1::text[], $2::text[]) AS it (name, value)",
            (list(session), list(session.values())),
        )
    except psycopg.Error as error:
        close(connection)
        raise translated(error, shown, wait) from error
    except BaseException:
        close(connection)
        raise
    return connection


def connect_to_ours(url: str, shown: str, wait: float) -> Connection:
    """A connection to a database that has our tables, and none that are too old."""
    connection = connect(url, shown, wait)
    try:
        version = connection.execute(VERSION).fetchall()[0][0] or 0
        check_readable(shown, version, SCHEMA)
    except psycopg.Error as error:
        close(connection)
        raise translated(error, shown, wait) from error
    except BaseException:
        close(connection)
        raise
    return connection


def close(connection: Connection) -> None:
    """Close, whatever the state."""
    with suppress(psycopg.Error):
        connection.close()


def without_password(url: str) -> str:
    """A URL as it may be shown."""
    scheme, _, rest = url.partition("//")
    place, mark, options = rest.partition("?")
    who, at, where = place.rpartition("@")
    name, colon, _ = who.partition(":")
    kept = ["password=…" if part.startswith("password=") else part for part in options.split("&")]
    return f"{scheme}//{name}{colon and ':…'}{at}{where}{mark}{'&'.join(kept)}"
