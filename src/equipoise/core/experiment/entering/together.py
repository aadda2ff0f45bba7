"""Entries about many units: all of them, or none if one cannot be.

All units are looked at first. Then the entries are made in a record of its own, which takes the place of the
old one: whoever stops on the way has changed nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from equipoise.core.arms.state import GONE, KNOWN, LOST, PENDING, REDACTED, WITHDRAWN
from equipoise.core.experiment.entering import entries
from equipoise.core.experiment.entering.refusals import STAYS_OUT, not_pending, refused
from equipoise.core.experiment.entering.treated import treat
from equipoise.core.experiment.history.redacting import redact
from equipoise.core.experiment.holding import RecordHolder
from equipoise.core.experiment.record import Record, draft
from equipoise.core.problem.inputs import checked_outcome
from equipoise.errors import InvalidArgument, OutcomeConflict, UnitConflict


class TogetherEntries(RecordHolder):
    """Corrections, losses, withdrawals, other arms and redactions of many units at once."""

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
            self._enter_all(new, lambda changed, row: entries.correct(changed.state, row, values[row]))
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
            self._enter_all(new, lambda changed, row: entries.lose(changed.state, row))
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
            self._enter_all(new, lambda changed, row: entries.withdraw(changed.state, row))
            for row in new:
                self._entered("withdrawn", row)
        return len(new)

    def received_many(
        self, arms: Mapping[Any, str] | Iterable[tuple[str | int, str]], reason: str | None = None
    ) -> int:
        """Note the arms that many units received: of all of them, or of none if one cannot be.

        Gives how many were new: units that count in that arm already stay there.
        """
        pairs = list(arms.items() if isinstance(arms, Mapping) else arms)
        with self._lock, self._change():
            places: dict[int, int] = {}
            problem = self._record.problem
            for unit, arm in pairs:
                row, place = self._row(unit), problem.index(arm)
                if self._status(row) in GONE:
                    raise refused(unit, self._status(row), "withdrawn units stay out")
                if places.setdefault(row, place) != place:
                    raise UnitConflict(
                        f"unit {unit!r} has two arms here, {problem.arms[places[row]]!r} and {arm!r}",
                        hint="name the one that it received",
                    )
            new = [row for row, place in places.items() if int(self._state.rows["arm"][row]) != place]
            self._enter_all(new, lambda changed, row: treat(changed, row, places[row]))
            for row in new:
                self._entered("received", row, arm=problem.arms[places[row]])
        return len(new)

    def redact_many(self, units: Iterable[str | int], reason: str | None = None) -> int:
        """Remove the data of many units for good: of all of them, or of none if one cannot be.

        What they gave to sums over units stays as sums over all of them. Gives how many were new: units that
        are redacted already, which have a number and no key, stay so.
        """
        listed = _listed(units)
        with self._lock, self._change():
            rows = sorted({self._row(unit) for unit in listed})
            new = [row for row in rows if self._status(row) != REDACTED]
            if new:
                self._record, told = redact(self._record, new)
                self._note("redacted", **told)
        return len(new)

    def _status(self, row: int) -> int:
        return int(self._state.rows["status"][row])

    def _enter_all(self, rows: Sequence[int], enter: Callable[[Record, int], object]) -> None:
        if not rows:
            return  # nothing is copied, as nothing happens
        changed = draft(self._record)
        for row in rows:
            enter(changed, row)
        self._record = changed


def _listed(units: Iterable[str | int]) -> list[str | int]:
    if isinstance(units, str):
        raise InvalidArgument(f"units={units!r} is one key", hint="give a list of keys")
    return list(units)
