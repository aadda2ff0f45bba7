"""What the server says, as our errors: each says what was wrong and what to do."""

from __future__ import annotations

import psycopg

from equipoise.errors import (
    EquipoiseError,
    InvalidStore,
    SchemaMismatch,
    StoreBusy,
    StoreDamaged,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
)
from equipoise.live.stores.sql import RESTORE

# By SQLSTATE, the whole code or its class: https://www.postgresql.org/docs/current/errcodes-appendix.html
_BUSY = ("55P03", "57014")
_DAMAGED = ("XX001", "XX002", "58030", "58P01", "23")
_REFUSALS = ("does not exist", "authentication failed", "no password", "pg_hba.conf", "permission denied")


def first_failure(error: psycopg.Error) -> psycopg.Error:
    """What made statements fail that were sent together.

    Of the ones after it the server only says that they were not run, and whichever answer is read last
    is raised.
    """
    while isinstance(error, psycopg.errors.PipelineAborted) and isinstance(error.__context__, psycopg.Error):
        error = error.__context__
    return error


def read_only(url: str, why: str) -> StoreReadOnly:
    """The server, or its tables, may only be read."""
    return StoreReadOnly(
        f"{url} may not be written: {why}",
        hint="connect to the primary server, as a user who may write; nothing was stored",
    )


def translated(error: psycopg.Error, url: str, wait: float) -> EquipoiseError:
    """The error to raise in the place of the server's."""
    state, said = error.sqlstate or "", _first_line(error)
    if state.startswith(_BUSY):
        return StoreBusy(f"another writer has held the experiment for {wait:g} s", hint="try again")
    if state.startswith("40"):
        return StoreBusy(f"{url} took the call back, as others work on it: {said}", hint="try again")
    if state == "53100":
        return StoreFull(
            f"the disk of {url} is full: nothing was stored", hint="free some space, then try again"
        )
    if state in ("25006", "42501"):
        return read_only(url, said)
    if state in ("42P01", "42703", "42883"):
        return SchemaMismatch(
            f"{url} lacks tables of experiments: {said}", hint=f"type: equipoise migrate --store {url}"
        )
    if state in ("22021", "22P05"):
        return InvalidStore(
            f"{url} cannot hold what was to be stored: {said}", hint="make a database with ENCODING 'UTF8'"
        )
    if state.startswith(_DAMAGED):
        return StoreDamaged(f"{url} is damaged: {said}", hint=RESTORE)
    return StoreUnavailable(
        f"{url} cannot be reached: {said}", hint="see to the server and the network; nothing was stored"
    )


def not_connected(error: psycopg.Error, url: str) -> EquipoiseError:
    """Why there is no connection: nobody is there, or somebody who refuses."""
    said = str(error).strip().rpartition("FATAL:")
    reason = (said[2].strip() or type(error).__name__).splitlines()[0]
    # Of a connection that was refused there is no SQLSTATE, only what the server said.
    if said[1] and any(sign in reason for sign in _REFUSALS):
        return InvalidStore(f"{url} refuses: {reason}", hint="check user, password and database in the URL")
    return StoreUnavailable(f"{url} cannot be reached: {reason}", hint="see to the server and the network")


def is_lost(error: psycopg.Error, connection: psycopg.Connection[object]) -> bool:
    """Whether the connection went away, so that no more will be heard from its transaction."""
    return connection.closed or connection.broken or (error.sqlstate or "").startswith(("57P", "08", "25P03"))


def _first_line(error: psycopg.Error) -> str:
    primary = error.diag.message_primary or str(error).strip() or type(error).__name__
    return primary.splitlines()[-1].strip()
