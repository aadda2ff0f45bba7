"""Erasing what the log knows of a unit: all rows that tell of it, in one commit with a ``redacted`` event.

That event says which rows were erased, so that a log with rows erased otherwise is found to be broken. It
holds what estimates need instead of the unit's own data, see :mod:`equipoise.core.experiment`.
"""

from __future__ import annotations

from collections.abc import Iterable

from equipoise.core.experiment.reading import not_found
from equipoise.errors import EquipoiseError, ErasureUnfinished
from equipoise.live.experiment.requests.turn import Turn
from equipoise.live.experiment.state.fold import Fold
from equipoise.live.log.encoding import decode
from equipoise.live.stores.store import Row, Store


class Redaction:
    """A unit that is to be redacted, and the rows that tell of it."""

    def __init__(self, name: str, id: int, first: int, upto: int) -> None:
        self._name = name
        self._id = id
        self._first = first
        self._upto = upto
        self._rows: list[int] = []

    @classmethod
    def of(cls, fold: Fold, row: int) -> Redaction:
        """The redaction of the unit in a row of the experiment."""
        if row >= len(fold.moments):
            raise not_found(row + 1)
        return cls(fold.name, row + 1, int(fold.moments.rows[row]), fold.sequence)

    def scan(self, store: Store) -> None:
        """Look for rows so far; the few that come later are looked for when others have to wait."""
        self._rows = self._about(store.read(self._name, self._first - 1, self._upto))

    def act(self, turn: Turn) -> None:
        """Erase, as a request that is carried out in its turn."""
        rows = self._rows + self._about(turn.newer(self._upto))
        turn.experiment.redact(self._id)
        if not turn.events:
            return  # somebody was quicker
        turn.events[-1]["live"] = {"rows": rows}
        turn.erased.extend(rows)

    def clear(self, store: Store) -> None:
        """Remove snapshots that hold the unit, and what files still have of it; or ErasureUnfinished."""
        try:
            store.drop_snapshots(self._name)
            store.scrub()
        except EquipoiseError as error:
            unfinished = ErasureUnfinished(
                f"unit {self._id} is redacted in the log, but not yet cleared from files: {error.message}",
                hint=f"when nobody else reads the store, repeat redact({self._id}, reason=…)",
            )
            unfinished.unit = self._id
            raise unfinished from error

    def _about(self, rows: Iterable[Row]) -> list[int]:
        sign = b'"id":%d' % self._id
        return [
            row.sequence
            for row in rows
            if row.payload is not None and sign in row.payload and decode(row.payload).get("id") == self._id
        ]
