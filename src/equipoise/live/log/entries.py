"""A row of the log as people read it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from equipoise.live.log.encoding import decode
from equipoise.live.stores.store import Row

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One event of an experiment's log."""

    sequence: int
    """Counted from 1, without gaps."""

    time: datetime
    """When it was stored, by the store's clock; UTC."""

    kind: str
    """What happened: ``"asked"``, ``"told"``, …"""

    actor: str
    """Who did it."""

    reason: str | None
    """Why, where one was given."""

    version: str
    """Of the library that wrote it."""

    numerics: int
    """``eq.NUMERICS`` of that library."""

    epoch: int
    """1, and one more after every restored backup."""

    mode: str
    """``"live"`` or ``"practice"``."""

    event: dict[str, Any] | None
    """What happened in full; None once it is redacted."""

    hash: bytes
    """Covers this row and all before."""


def entry_of(row: Row) -> LogEntry:
    """What a row says."""
    header = decode(row.header)
    return LogEntry(
        sequence=row.sequence,
        time=moment(row.time),
        kind=header["kind"],
        actor=header["actor"],
        reason=header["reason"],
        version=header["version"],
        numerics=header["numerics"],
        epoch=header["epoch"],
        mode=header["mode"],
        event=None if row.payload is None else decode(row.payload),
        hash=row.hash,
    )


def moment(microseconds: int) -> datetime:
    """A time of the store."""
    return _EPOCH + timedelta(microseconds=microseconds)


def microseconds(time: datetime) -> int:
    """A moment as stores count it; one without a time zone is taken for local time."""
    return (time.astimezone(UTC) - _EPOCH) // timedelta(microseconds=1)
