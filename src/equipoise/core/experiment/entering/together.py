"""Entries about many units: all of them, or none if one cannot be.

All units are looked at first. Then the entries are made in a record of its own, which takes the place of the
old one: whoever stops on the way has changed nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from equipoise.core.arms.state import GONE, KNOWN, LOST, PENDING, REDACTED, WITHDRAWN, State
from equipoise.core.experiment.entering import entries
from equipoise.core.experiment.entering.refusals import STAYS_OUT, not_pending, refused
from equipoise.core.experiment.holding import RecordHolder
from equipoise.core.experiment.record import draft
from equipoise.core.problem.inputs import checked_outcome
from equipoise.errors import InvalidArgument, OutcomeConflict


class TogetherEntries(RecordHolder):
    """Corrections, losses and withdrawals of many units at once."""

    def correct_many(
        self, outcomes: Mapping[Any, float] | Iterable[tuple[str | int, float]], reason: str | None = None
    ) -> int:
        """Set many outcomes whatever they were: all of them, or none if one cannot be. How many were new."""
        pairs = list(outcomes.items() if isinstance(outcomes, Mapping) else outcomes)
        with self._lock, self._change():
            values: dict[int, float] = {}
            for unit, outcome in pairs:
                value, row = checked_outcome(outcome, self._record.problem.outcome), self._row(unit)
                status = self._status(row)
                if status in GONE:
                    raise refused(unit, status, STAYS_OUT)
                if values.setdefault(row, value) != value:
                    raise OutcomeConflict(
                        f"unit {unit!r} has two outcomes here, {values[row]!r} and {value!r}",
                        hint="correct it to one of them",
                    )
            state = self._state
            new = [
                row
                for row, value in values.items()
                if self._status(row) not in KNOWN or state.outcomes[row] != value
            ]
            self._enter_all(new, lambda changed, row: entries.correct(changed, row, values[row]))
            for row in new:
                self._entered("corrected", row, outcome=values[row])
        return len(new)

    def lose_many(self, units: Iterable[str | int], reason: str | None = None) -> int:
        """Declare many outcomes lost: all of them, or none if one cannot be. How many were new."""
        listed = _listed(units)
        with self._lock, self._change():
            rows = {self._row(unit): unit for unit in listed}
            for row, unit in rows.items():
                if self._status(row) not in (PENDING, LOST):
                    raise not_pending(unit, self._status(row))
            new = [row for row in rows if self._status(row) == PENDING]
            self._enter_all(new, entries.lose)
            for row in new:
                self._entered("lost", row)
        return len(new)

    def withdraw_many(self, units: Iterable[str | int], reason: str | None = None) -> int:
        """Remove many units: all of them, or none if one cannot be. How many were not withdrawn before."""
        listed = _listed(units)
        with self._lock, self._change():
            rows = {self._row(unit): unit for unit in listed}
            for row, unit in rows.items():
                if self._status(row) == REDACTED:
                    raise refused(unit, REDACTED)
            new = [row for row in rows if self._status(row) != WITHDRAWN]
            self._enter_all(new, entries.withdraw)
            for row in new:
                self._entered("withdrawn", row)
        return len(new)

    def _status(self, row: int) -> int:
        return int(self._state.rows["status"][row])

    def _enter_all(self, rows: Sequence[int], enter: Callable[[State, int], int]) -> None:
        if not rows:
            return  # nothing is copied, as nothing happens
        changed = draft(self._record)
        for row in rows:
            enter(changed.state, row)
        self._record = changed


def _listed(units: Iterable[str | int]) -> list[str | int]:
    if isinstance(units, str):
        raise InvalidArgument(f"units={units!r} is one key", hint="give a list of keys")
    return list(units)
