"""Fields that a table suggests, as a beginning."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection
from typing import Any

from equipoise.core.plain import suggest
from equipoise.core.problem.features.category import Category
from equipoise.core.problem.features.field import ABSENT, INDICATOR, Field, is_missing
from equipoise.core.problem.features.number import Number
from equipoise.core.problem.features.records import as_record, as_records
from equipoise.core.problem.inputs import LARGEST
from equipoise.core.problem.real import foreign_kind
from equipoise.errors import InvalidContext, InvalidFeatures

# Texts that differ more are names of units rather than categories.
_MOST_LEVELS = 20


def proposed_fields(table: Any, exclude: Collection[str] = ()) -> dict[str, Field]:
    """A field a column; InvalidFeatures names all columns that cannot be one."""
    if isinstance(exclude, str):
        exclude = [exclude]
    try:
        records = [as_record(row) for row in as_records(table)]
    except InvalidContext as error:
        raise InvalidFeatures(error.message, hint=error.hint) from None
    if not records:
        raise InvalidFeatures("the table has no rows")
    records = [{str(name): value for name, value in record.items()} for record in records]
    names = list(dict.fromkeys(name for record in records for name in record))
    for name in exclude:
        if name not in names:
            raise InvalidFeatures(f"no column {name!r} to exclude", hint=suggest(name, names))
    fields, wrong = {}, {}
    for name in names:
        if name not in exclude:
            found = _proposed([record.get(name, ABSENT) for record in records])
            if isinstance(found, str):
                wrong[name] = found
            else:
                fields[name] = found
    if wrong:
        raise InvalidFeatures(
            "some columns cannot be fields: " + "; ".join(f"{name!r} {what}" for name, what in wrong.items()),
            hint=f"leave them out, exclude={list(wrong)!r}, or write their fields by hand",
        )
    if not fields:
        raise InvalidFeatures("no column is left")
    return fields


def _proposed(values: list[Any]) -> Field | str:
    """A field, or what is wrong with a column."""
    known = [value for value in values if not is_missing(value)]
    missing = INDICATOR if len(known) < len(values) else None
    kinds = {"true and false" if isinstance(v, bool) else foreign_kind(v) for v in known}
    if not known:
        return "is empty"
    if len(set(map(str, known))) == 1:
        return f"is always {known[0]!r}"
    if kinds == {None}:
        if not all(abs(value) < LARGEST for value in known):
            return "holds numbers that are too large to square"
        return _number([float(value) for value in known], missing)
    if kinds <= {"true and false"} or kinds <= {"text"}:
        counts = Counter(bool(v) if isinstance(v, bool) else str(v) for v in known)
        if len(counts) > _MOST_LEVELS:
            return f"has {len(counts)} different texts in {len(known)} rows"
        levels = sorted(counts, key=lambda level: (-counts[level], str(level)))
        return Category(*levels, missing=missing)
    return f"holds {' and '.join(sorted(str(kind or 'numbers') for kind in kinds))}"


def _number(values: list[float], missing: str | None) -> Number:
    mean = math.fsum(values) / len(values)
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values))
    if min(values) > 0.0 and max(values) > 30.0 * min(values) and mean < 2.0 * spread:
        # Amounts that span orders of magnitude.
        logs = sorted(math.log(value) for value in values)
        return Number(center=_round(math.exp(logs[len(logs) // 2])), log=True, missing=missing)
    if set(values) <= {0.0, 1.0}:
        return Number(0, 1, missing=missing)
    scale = _round(spread) or 1.0
    # To the digit that a tenth of the scale has.
    step = 10.0 ** math.floor(math.log10(scale))
    return Number(center=float(f"{round(mean / step) * step:.12g}"), scale=scale, missing=missing)


def _round(value: float) -> float:
    """One significant digit."""
    return float(f"{value:.1g}")
