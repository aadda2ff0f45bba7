"""Dates as numbers: days since 1970-01-01, in UTC where they have a time zone.

Text is a date only if every cell of its column is written as ISO 8601 has it (2026-03-31, or
2026-03-31 14:05, seconds and time zone if you like), or in the format that the caller names.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Collection
from typing import Any

import numpy as np
import numpy.typing as npt

from equipoise.errors import InvalidArgument, InvalidTable

RULE = "days since 1970-01-01"
_DAY = np.timedelta64(1, "D") / np.timedelta64(1, "us")
_ISO = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:Z|[+-]\d\d:?\d\d)?)?")
# Formats that people write and that cannot be told apart without asking: 1/2 is in January or in February.
_OTHERS = {
    r"\d{1,2}\.\d{1,2}\.\d{4}": "%d.%m.%Y",
    r"\d{1,2}/\d{1,2}/\d{4}": "%d/%m/%Y",
    r"\d{1,2}-\d{1,2}-\d{4}": "%d-%m-%Y",
    r"\d{1,2}\.\d{1,2}\.\d{2}": "%d.%m.%y",
    r"\d{1,2}/\d{1,2}/\d{2}": "%d/%m/%y",
    r"\d{4}/\d{1,2}/\d{1,2}": "%Y/%m/%d",
}


def check_format(date_format: str | None) -> None:
    """Refuse a format that names no day."""
    if date_format is None:
        return
    if "%" not in date_format:
        raise InvalidArgument(
            f"date_format={date_format!r} is no format of dates", hint="e.g. %d.%m.%Y for 31.03.2026"
        )
    try:
        datetime.datetime.strptime(datetime.datetime(2026, 3, 31).strftime(date_format), date_format)
    except ValueError:
        raise InvalidArgument(
            f"date_format={date_format!r} is no format of dates", hint="e.g. %d.%m.%Y for 31.03.2026"
        ) from None


def is_dates(cells: Collection[str], date_format: str | None) -> bool:
    """Whether all of some texts are written as dates."""
    if date_format is not None and all(_matches(cell, date_format) for cell in cells):
        return True
    return all(_ISO.fullmatch(cell) for cell in cells)


def likely_format(cells: Collection[str]) -> str | None:
    """The format that all of some texts seem to have, if it is not one that is read without asking."""
    for pattern, written in _OTHERS.items():
        if all(re.fullmatch(pattern, cell) for cell in cells):
            # 12/31/2026 has no day first.
            swapped = written.replace("%d", "?").replace("%m", "%d").replace("?", "%m")
            return next((one for one in (written, swapped) if all(_matches(c, one) for c in cells)), None)
    return None


def parse_dates(column: str, cells: Collection[str], date_format: str | None) -> npt.NDArray[Any]:
    """Moments of texts that :func:`is_dates` took for dates."""
    found = np.empty(len(cells), "M8[us]")
    for place, cell in enumerate(cells):
        try:
            if date_format is not None and _matches(cell, date_format):
                found[place] = moment(datetime.datetime.strptime(cell, date_format))
            else:
                found[place] = moment(datetime.datetime.fromisoformat(cell))
        except ValueError:
            raise InvalidTable(
                f"column {column!r} holds {cell!r}, which is no date",
                hint="correct it, or leave the column out",
            ) from None
    return found


def moment(value: Any) -> np.datetime64:
    """A date, or a date and time, in UTC."""
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        value = value.astimezone(datetime.UTC).replace(tzinfo=None)
    return np.datetime64(value, "us")


def days(moments: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Moments, or lengths of time, as days; not a number where they are missing."""
    numbers = moments.astype(f"{moments.dtype.kind}8[us]").astype(np.int64) / _DAY
    numbers[np.isnat(moments)] = np.nan
    return np.asarray(numbers)


def _matches(cell: str, date_format: str) -> bool:
    try:
        datetime.datetime.strptime(cell, date_format)
    except ValueError:
        return False
    return True
