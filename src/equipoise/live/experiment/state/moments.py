"""When each unit was asked for and when that ended, and which row of the log tells of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]
_ENDS = ("told", "corrected", "lost", "withdrawn")


class Moments:
    """Three numbers a unit, in the order of ids: 0 where there is nothing yet."""

    def __init__(self, table: Numbers | None = None) -> None:
        self._count = 0 if table is None else table.shape[1]
        self._table: Numbers = np.zeros((3, 1024), np.int64) if table is None else table
        self._erased: dict[int, tuple[str, int]] = {}
        """Kind and time of rows of a unit that a redaction, further on, tells the number of."""

    def __len__(self) -> int:
        return self._count

    @property
    def rows(self) -> Numbers:
        """The row that tells of a unit's assignment."""
        return self._table[0, : self._count]

    @property
    def asked(self) -> Numbers:
        """When it was assigned, in microseconds."""
        return self._table[1, : self._count]

    @property
    def ended(self) -> Numbers:
        """When its outcome came, or it was lost or withdrawn."""
        return np.abs(self._table[2, : self._count])

    def take(self, event: Mapping[str, Any], sequence: int, time: int) -> None:
        """Note an event that row ``sequence`` tells of."""
        kind, number = event["kind"], event.get("id", 0)
        if kind in ("asked", "asked_together"):
            if self._count == self._table.shape[1]:
                more = np.zeros((3, max(self._count, 1024)), np.int64)
                self._table = np.concatenate([self._table, more], axis=1)
            self._table[:2, self._count] = sequence, time
            self._count += 1
        elif kind == "redacted":
            live = event.get("live", {})
            rows = live.get("rows", ())
            units = live.get("units") or [event["ids"][0] for _ in rows]  # older logs redact one at a time
            for row, unit in zip(rows, units, strict=True):
                if row in self._erased:
                    self._end(unit, *self._erased.pop(row))
        elif number:
            self._end(number, kind, time)
        elif len(event) == 1 and kind in _ENDS:
            self._erased[sequence] = kind, time

    def _end(self, number: int, kind: str, time: int) -> None:
        if kind in ("told", "withdrawn"):
            self._table[2, number - 1] = time
        elif kind == "lost":  # negative: an outcome may come yet
            self._table[2, number - 1] = -time
        elif kind == "corrected" and self._table[2, number - 1] <= 0:
            self._table[2, number - 1] = time

    def table(self) -> Numbers:
        """All of them as one array of its own, which makes equal moments."""
        return self._table[:, : self._count].copy()

    def copied(self) -> tuple[Numbers, Numbers, Numbers]:
        """Rows, beginnings and ends, in arrays of their own."""
        return self.rows.copy(), self.asked.copy(), self.ended
