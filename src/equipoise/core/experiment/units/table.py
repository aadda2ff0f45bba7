"""All units of an experiment as a tidy table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from equipoise.core.arithmetic.numerics import NUMERICS
from equipoise.core.experiment.record import Record
from equipoise.core.experiment.units.unit import Unit
from equipoise.core.tables.tidy import TidyTable
from equipoise.version import __version__

_FIRST = ("unit", "id", "arm", "assigned", "status", "outcome", "propensity", "given_by_person")
_TIMES = ("asked_at", "closed_at")


def unit_table(record: Record, units: Iterable[Unit], *, scores: bool = False) -> TidyTable:
    """One row a unit; contexts in the user's words, scores if they are wanted."""
    listed = list(units)
    times = _TIMES if any(unit.asked_at is not None for unit in listed) else ()
    fields: dict[str, None] = {}
    for unit in listed:
        fields.update(dict.fromkeys(unit.context))
    taken = {*_FIRST, *times}
    # A field that has the name of another column is told apart by a prefix.
    headers = [f"context.{name}" if name in taken else name for name in fields]
    shown = record.problem.arms if scores else ()
    rows = []
    for unit in listed:
        line: list[Any] = [getattr(unit, name) for name in (*_FIRST, *times)]
        line += [unit.context.get(name) for name in fields]
        line += [(unit.scores or {}).get(arm) for arm in shown]
        rows.append(line)
    columns = [*_FIRST, *times, *headers, *(f"score of {arm}" for arm in shown)]
    # No seed: files of units are handed around, and lots can be foretold from it.
    metadata = {"version": __version__, "numerics": NUMERICS}
    return TidyTable(columns, rows, {**metadata, "policy": record.policy.label})
