"""Keys of units: what can be one, and records as they were given."""

from __future__ import annotations

import datetime
import math
import unicodedata
from collections.abc import Mapping
from typing import Any

import numpy as np

from equipoise.core.problem.features.records import as_record
from equipoise.errors import InvalidArgument

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
    if isinstance(x, np.ndarray | list | tuple):
        return None
    if not isinstance(x, Mapping) and not (hasattr(x, "to_dict") and hasattr(x, "index")):
        return None
    return {str(name): _plain(value) for name, value in as_record(x).items()}


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, datetime.date | datetime.datetime):
        return value.isoformat()
    return str(value)
