"""What fields have in common: missing values, and what is said of a value that will not do."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from equipoise.core.plain import changed_fields, check_table, from_plain, to_plain
from equipoise.core.problem.names import is_text
from equipoise.errors import InvalidFeatures, InvalidRecord

ABSENT: Any = object()
"""Stands for a field that a record does not have."""

INDICATOR = "indicator"
"""The word for missing values that get a column of their own."""

Read = Callable[[Any, list[float]], None]
"""Writes a value's slots, or raises InvalidRecord."""

_KINDS: dict[str, type[Field]] = {}


class Field:
    """One thing that is known of every unit. Its value fills slots: numbers that columns are products of."""

    kind: ClassVar[str]
    missing: Any

    def __init_subclass__(cls) -> None:
        _KINDS[cls.kind] = cls

    def slots(self, name: str) -> list[str]:
        """What the numbers are called that a value is turned into."""
        raise NotImplementedError

    def read(self, name: str, place: int) -> Read:
        """A function that writes a value's slots, the first at ``place``; slots are 0 before."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Plain values; what is at its default is left out."""
        return {"kind": self.kind, **{name: to_plain(value) for name, value in changed_fields(self)}}


def field_from_dict(what: str, values: Any) -> Field:
    """The field that plain values describe."""
    if not isinstance(values, Mapping) or values.get("kind") not in list(_KINDS):
        raise InvalidFeatures(
            f"{what} is not a table with a kind", hint=f"kind is {' or '.join(map(repr, sorted(_KINDS)))}"
        )
    kind = _KINDS[values["kind"]]
    known = ["kind", *kind.__dataclass_fields__]  # type: ignore[attr-defined]
    given = check_table(values, what=what, known=known, error=InvalidFeatures)
    del given["kind"]
    levels = from_plain(given.pop("levels", ()))
    if not isinstance(levels, tuple):
        raise InvalidFeatures(f"levels of {what} are not a list")
    return kind(*levels, **{name: from_plain(value) for name, value in given.items()})


def is_missing(value: Any) -> bool:
    """Whether a value stands for nothing: not in the record, None, not a number, pandas' NA."""
    if value is ABSENT or value is None:
        return True
    if isinstance(value, float):
        return math.isnan(value)
    return type(value).__name__ in ("NAType", "NaTType") or (
        hasattr(value, "dtype") and getattr(value, "shape", None) == () and bool(value != value)
    )


def no_value(name: str, allowed: str) -> InvalidRecord:
    """What is raised where a value is missing and must not be."""
    error = InvalidRecord(
        f"no value of {name!r}",
        hint=f"{allowed}; or say what to do where it is not known: missing=… of the field",
    )
    error.field = name
    return error


def wrong_value(name: str, value: Any, what: str, hint: str) -> InvalidRecord:
    """What is raised where a value will not do."""
    error = InvalidRecord(f"{name!r} is {value!r}, {what}", hint=hint)
    error.field = name
    return error


def check_words(**words: Any) -> None:
    """Labels and units: text, or None."""
    for name, word in words.items():
        if word is not None and (not isinstance(word, str) or not word or not is_text(word)):
            raise InvalidFeatures(f"{name}={word!r} is not a piece of text")
