"""What was given of a unit, in the user's own fields, against the context that was recorded beside it."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from equipoise.core.arrays import Vector
from equipoise.core.problem.features.contexts import Contexts
from equipoise.errors import EquipoiseError, InvalidRecord, ReplayMismatch


def check_given(features: Contexts, event: Mapping[str, Any]) -> None:
    """Refuse an event whose ``given`` leads to another context than its ``x``."""
    x = event["x"]
    try:
        found = _encoded(features, event["given"]).tolist()
    except (EquipoiseError, TypeError, ValueError) as error:
        raise _changed(event, f"leads to no context: {error}") from error
    if found != x:
        column, recorded, now = next(
            each for each in zip(features.names, x, found, strict=True) if each[1] != each[2]
        )
        raise _changed(event, f"is not its context: {column} is recorded as {recorded}, and is {now}")


def _encoded(features: Contexts, given: Any) -> Vector:
    """The context of a record as a log has it: decimals and fractions are text there."""
    while True:
        try:
            return features.encode(given)
        except InvalidRecord as error:
            text = given.get(error.field)
            if not isinstance(text, str):
                raise
            try:
                given = {**given, error.field: float(Fraction(text))}
            except (ValueError, ZeroDivisionError, OverflowError):
                raise error from None


def _changed(event: Mapping[str, Any], what: str) -> ReplayMismatch:
    unit = f"unit {event['id']}" + (f" ({event['unit']})" if "unit" in event else "")
    return ReplayMismatch(
        f"what was given of {unit} {what}", hint="the log was changed, or another version wrote it"
    )
