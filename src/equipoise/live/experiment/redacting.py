"""Erasing what the log knows of units: all rows that tell of them, in one commit with a ``redacted`` event.

That event says which rows were erased, and of which unit each, so that a log with rows erased otherwise is
found to be broken. It holds what estimates need instead of the units' own data, see
:mod:`equipoise.core.experiment`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from equipoise.core.experiment.reading import not_found
from equipoise.errors import EquipoiseError, ErasureUnfinished
from equipoise.live.experiment.requests.turn import Turn
from equipoise.live.experiment.state.fold import Fold
from equipoise.live.log.encoding import decode
from equipoise.live.stores.store import Row, Store

_ID = re.compile(rb'"id":(\d+)')


class Redaction:
    """Units that are to be redacted, and the rows that tell of them."""

    def __init__(self, name: str, ids: Sequence[int], first: int, upto: int) -> None:
        self._name = name
        self._ids = frozenset(ids)
        self._signs = frozenset(b"%d" % number for number in ids)
        self._first = first
        self._upto = upto
        self._rows: dict[int, int] = {}
        """Rows that are to be erased, and the unit that each tells of."""

    @classmethod
    def of(cls, fold: Fold, rows: Sequence[int]) -> Redaction:
        """The redaction of the units in rows of the experiment."""
        for row in rows:
            if row >= len(fold.moments):
                raise not_found(row + 1)
        ids = [row + 1 for row in rows]
        return cls(fold.name, ids, int(fold.moments.rows[min(rows)]), fold.sequence)

    def scan(self, store: Store) -> None:
        """Look for rows so far; the few that come later are looked for when others have to wait."""
        self._rows = self._about(store.read(self._name, self._first - 1, self._upto))

    def act(self, turn: Turn) -> int:
        """Erase, as a request that is carried out in its turn; how many units were not redacted before."""
        found = self._rows | self._about(turn.newer(self._upto))
        new = turn.experiment.redact_many(sorted(self._ids))
        if not turn.events:
            return new  # somebody was quicker
        told = set(turn.events[-1]["ids"])
        rows = {row: unit for row, unit in found.items() if unit in told}
        turn.events[-1]["live"] = {"rows": list(rows), "units": list(rows.values())}
        turn.erased.extend(rows)
        return new

    def clear(self, store: Store) -> None:
        """Remove snapshots that hold the units, and what files still have of them; or ErasureUnfinished."""
        try:
            store.drop_snapshots(self._name)
            store.scrub()
        except EquipoiseError as error:
            first = min(self._ids)
            are = f"unit {first} is" if len(self._ids) == 1 else f"{len(self._ids):,} units are"
            unfinished = ErasureUnfinished(
                f"{are} redacted in the log, but not yet cleared from files: {error.message}",
                hint=f"when nobody else reads the store, repeat redact({first}, reason=…)",
            )
            unfinished.unit = first
            raise unfinished from error

    def _about(self, rows: Iterable[Row]) -> dict[int, int]:
        """Rows that tell of the units, each with its unit."""
        found = {}
        for row in rows:
            # Few rows are worth decoding.
            if row.payload is None or self._signs.isdisjoint(_ID.findall(row.payload)):
                continue
            unit = decode(row.payload).get("id")
            if unit in self._ids:
                found[row.sequence] = unit
        return found
