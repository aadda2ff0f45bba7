"""Outcomes that are late: what is overdue, and what is given up.

Overdue is a matter of the clock and is never stored. Only a ``lost`` event takes a context out of what the
policy counts on, and only a person, or a command that a person has set up, writes one. Every unit assigned
counts against the budget at the price of its arm, whether its outcome comes, is late, lost or withdrawn.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np

from equipoise.core.arms.state import PENDING
from equipoise.core.tables.tidy import TidyTable
from equipoise.errors import InvalidArgument
from equipoise.live.experiment.requests.turn import Turn
from equipoise.live.experiment.state.fold import Fold
from equipoise.live.log.entries import microseconds, moment

LONGEST = timedelta(days=100 * 366)
"""Deadlines beyond it are taken for mistakes; seconds of shorter ones are exact, as the log has them."""


def overdue(fold: Fold, deadline: timedelta | None, now: datetime | None) -> TidyTable:
    """Pending units that were assigned longer ago than the deadline, the oldest first."""
    limit = _limit(fold, deadline)
    time = datetime.now(UTC) if now is None else now
    try:
        until = microseconds(time) - limit // timedelta(microseconds=1)
    except (AttributeError, ValueError, OverflowError):
        raise InvalidArgument(
            f"{now!r} is not a moment", hint="for example datetime(2026, 5, 1, tzinfo=UTC)"
        ) from None
    rows = []
    for number in _older(fold, until):
        asked = moment(int(fold.moments.asked[number - 1]))
        record = fold.experiment._current()
        arm = record.problem.arms[int(record.state.rows["arm"][number - 1])]
        late = (time.astimezone(UTC) - asked - limit).total_seconds()
        rows.append(
            (record.book.keys[number - 1], number, arm, asked.isoformat(), (asked + limit).isoformat(), late)
        )
    columns = ("unit", "id", "arm", "asked_at", "due_at", "late_seconds")
    metadata = {"experiment": fold.name, "deadline_seconds": limit.total_seconds(), "now": time.isoformat()}
    return TidyTable(columns, rows, metadata)


def expire(turn: Turn, older_than: timedelta | None) -> list[str | int]:
    """Declare pending units lost that were assigned longer ago, by the store's clock."""
    fold = turn.fold
    ids = _older(fold, turn.now - _limit(fold, older_than) // timedelta(microseconds=1))
    keys = fold.experiment._current().book.keys
    lost = [keys[number - 1] or number for number in ids]
    for number in ids:
        turn.experiment.lose(number)
    return lost


def _limit(fold: Fold, given: timedelta | None) -> timedelta:
    limit = fold.deadline if given is None else given
    if limit is None:
        raise InvalidArgument(
            f"{fold.name!r} was created without a deadline",
            hint="say how long outcomes may take: timedelta(…)",
        )
    return checked_duration(limit)


def checked_duration(limit: timedelta) -> timedelta:
    """The duration, if it is one."""
    if not isinstance(limit, timedelta) or limit < timedelta(0):
        raise InvalidArgument(f"{limit!r} is not a duration", hint="for example timedelta(days=30)")
    if limit > LONGEST:
        raise InvalidArgument(f"a deadline of {limit.days:,} days is too far away", hint="none need be given")
    return limit


def _older(fold: Fold, time: int) -> list[int]:
    """Ids of pending units that were assigned up to a time, the oldest first."""
    record = fold.experiment._current()
    asked = fold.moments.asked
    late = (record.state.rows["status"][: len(asked)] == PENDING) & (asked <= time)
    return [int(row) + 1 for row in np.flatnonzero(late)]
