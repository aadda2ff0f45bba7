"""Keys of units: what can be one, and records as they were given."""

from __future__ import annotations

import datetime
import math
import re
import unicodedata
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import numpy as np

from equipoise.core.problem.features.field import is_missing
from equipoise.core.problem.features.records import as_record
from equipoise.core.problem.inputs import HALVES
from equipoise.errors import InvalidArgument, InvalidRecord

LONGEST = 200


def checked_key(unit: Any) -> str | None:
    """A key, or None where there is none."""
    if unit is None:
        return None
    if not isinstance(unit, str):
        raise InvalidArgument(
            f"unit={unit!r} is not text", hint=f"a key is text, e.g. unit='P-017' or unit={str(unit)!r}"
        )
    if not unit or unit != unit.strip() or len(unit) > LONGEST or not unit.isprintable():
        raise InvalidArgument(
            f"{unit[:LONGEST]!r} cannot be the key of a unit",
            hint=f"use 1 to {LONGEST} printable signs, without spaces at its ends",
        )
    return as_key(unit)


def as_key(text: str) -> str:
    """The same text however it was typed: an accent may be a sign of its own, or part of its letter."""
    return unicodedata.normalize("NFC", text)


def plain_record(x: Any) -> dict[str, Any] | None:
    """A record as plain data, for logs and tables; None where it is a vector."""
    if isinstance(x, _VECTORS):
        return None
    if not isinstance(x, Mapping) and not (hasattr(x, "to_dict") and hasattr(x, "index")):
        return None
    return {_text(str(name)): _plain(value, name) for name, value in as_record(x).items()}


def _plain(value: Any, name: Any) -> Any:
    if is_missing(value) or (isinstance(value, Decimal) and value.is_nan()):
        return None
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        raise InvalidRecord(
            f"field {str(name)!r} is a whole number of {value.bit_length():,} bits, more than {_MOST_BITS:,}",
            hint="give it as text, or leave it out",
        )
    if isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, datetime.date | datetime.datetime):
        return value.isoformat()
    return _text(str(value))


def _text(text: str) -> str:
    """Text of a record, if a file can hold it."""
    found = _HALF.search(text)
    if found is not None:
        raise InvalidRecord(
            f"a record holds half of a sign, {found[0]!r}, in {text[:LONGEST]!r}",
            hint="it was read with a wrong encoding: read it anew as UTF-8",
        )
    return text


_VECTORS = (np.ndarray, list, tuple)
_MOST_BITS = 1024  # what a float can hold, and more than any number in use
_HALF = re.compile(f"[{HALVES}]")
