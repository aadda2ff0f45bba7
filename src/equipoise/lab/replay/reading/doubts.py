"""Text that is probably something else: numbers with a decimal comma, dates in an unknown order, marks for
missing cells. Made to categories it would mislead, so it is refused with what to type.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection

from equipoise.errors import InvalidTable
from equipoise.lab.replay.reading.dates import likely_format

_WHOLE = r"[+-]?\d+"
_COMMA = re.compile(rf"{_WHOLE},\d+(?:[eE][+-]?\d+)?")
_POINT = re.compile(rf"(?:{_WHOLE}\.?\d*|[+-]?\.\d+)(?:[eE][+-]?\d+)?")
# Where so many of the values are numbers, the others are marks, not words.
_MARKS = 0.5
# A name or an identifier rather than a category: fewer rows a value than this, unless values are few.
_ROWS_A_VALUE = 5
_FEW = 20


def doubt_text(column: str, values: Collection[str], decimal: str) -> None:
    """Refuse text whose different values look like something else."""
    if not values:
        return
    values = sorted(values)
    written = likely_format(values)
    if written is not None:
        raise InvalidTable(
            f"column {column!r} looks like dates, such as {values[0]!r}",
            hint=f"type --date-format '{written}' (date_format={written!r}) if the parts come in that order, "
            f"or --exclude {shlex.quote(column)}",
        )
    commas = [value for value in values if _COMMA.fullmatch(value)]
    points = [value for value in values if _POINT.fullmatch(value)]
    if commas and decimal == "." and len(commas) + len(points) > _MARKS * len(values):
        raise InvalidTable(
            f"column {column!r} looks like numbers with a decimal comma, such as {commas[0]!r}",
            hint="type --decimal , (decimal=','); for commas between thousands, write the numbers without",
        )
    numbers = points + (commas if decimal == "," else [])
    others = [value for value in values if value not in set(numbers)]
    if others and len(others) < _MARKS * len(values):
        shown = ", ".join(repr(value) for value in others[:4]) + (", …" if len(others) > 4 else "")
        raise InvalidTable(
            f"column {column!r} holds numbers and also {shown}",
            hint=f"if that means missing, type --na '{others[0]}' (na=[{others[0]!r}]); or leave the column "
            f"out (--exclude {shlex.quote(column)})",
        )
    if decimal == "," and numbers and not others:
        raise InvalidTable(
            f"column {column!r} looks like numbers with a decimal point, such as {numbers[0]!r}",
            hint="leave --decimal out, or write all numbers alike",
        )


def doubt_category(column: str, count: int, rows: int, most: int) -> None:
    """Refuse a text column that is no category but a name."""
    if count > most or (count > _FEW and count * _ROWS_A_VALUE > rows):
        many = f"more than {most}" if count > most else str(count)
        raise InvalidTable(
            f"column {column!r} has {many} different values in {rows} rows",
            hint=f"that looks like a name or an identifier: leave it out (--exclude {shlex.quote(column)})",
        )
