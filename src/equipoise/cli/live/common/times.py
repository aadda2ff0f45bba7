"""Durations that are typed, and moments that are shown."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from equipoise.errors import InvalidArgument

_UNITS = {"s": "seconds", "min": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(s|min|h|d|w)")


def duration_of(option: str) -> Callable[[str], timedelta]:
    """Parser of a length of time.

    >>> duration_of("--deadline")("1.5h")
    datetime.timedelta(seconds=5400)
    """

    def parse(text: str) -> timedelta:
        match = _DURATION.fullmatch(text)
        try:
            duration = timedelta() if match is None else timedelta(**{_UNITS[match[2]]: float(match[1])})
        except OverflowError:
            duration = timedelta()
        if duration <= timedelta():
            raise InvalidArgument(
                f"{option} {text} is not a length of time",
                hint=f"type a number and s, min, h, d or w, e.g. {option} 30d",
            )
        return duration

    return parse


def shown(moment: datetime) -> str:
    """A moment for people, to the second.

    >>> shown(datetime(2026, 3, 1, 12, 30, tzinfo=UTC))
    '2026-03-01 12:30:00 UTC'
    """
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
