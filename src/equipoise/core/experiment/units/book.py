"""The book of units: their keys, and what was given and scored when they were asked for.

A line is written before the unit is assigned, at the row that it will have. Lines at rows that are not
assigned are scratch: whoever stops in between has written nothing that counts, and the next unit writes over
it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from equipoise.core.arrays import Vector

NO_PERSON = ""
"""No person gave the arm: the rule chose it."""


class Details(NamedTuple):
    """What is known of a choice besides the row of the unit."""

    given: Any
    """The record as it was given, plain; None where it was a vector."""
    scores: Vector
    """Every arm's score; arms that joined later have none."""
    chance: float
    weighed: bool
    eligible: tuple[str, ...] | None
    """Arms that it might go to; None: all."""
    chosen: str | None = NO_PERSON
    """What the rule chose where a person gave the arm; None: the rule was not at hand."""


class UnitBook:
    """One line a unit: its key, and the details of its choice unless the book is kept without."""

    def __init__(self, *, details: bool = True) -> None:
        self.keeps_details = details
        self.keys: list[str | None] = []
        self.details: list[Details | None] = []
        self._rows: dict[str, int] = {}

    def write(self, row: int, key: str | None, details: Details | None) -> None:
        """Write the line of a row that is about to be assigned."""
        details = details if self.keeps_details else None
        if row < len(self.keys):
            self.keys[row], self.details[row] = key, details
        else:
            # Rows are filled in their order, but an interrupt may fall between these two.
            self.details[row:] = [details]
            self.keys.append(key)
        if key is not None:
            self._rows[key] = row

    def row_of(self, key: str, step: int) -> int | None:
        """The row of the unit with that key among the first ``step``; None if there is none."""
        row = self._rows.get(key)
        return row if row is not None and row < step and self.keys[row] == key else None

    def forget(self, row: int) -> None:
        """Erase the line of a unit."""
        key, self.keys[row], self.details[row] = self.keys[row], None, None
        if key is not None:
            self._rows.pop(key, None)

    def to_plain(self, step: int, *, details: bool = True) -> dict[str, Any]:
        """The lines of the first ``step`` units as text and arrays."""
        plain: dict[str, Any] = {"keys": json.dumps(self.keys[:step])}
        if not (details and self.keeps_details):
            return plain
        lines = [line or _FORGOTTEN for line in self.details[:step]]
        scores = [line.scores for line in lines]
        return {
            **plain,
            "given": json.dumps([line.given for line in lines]),
            "eligible": json.dumps([line.eligible for line in lines]),
            "chosen": json.dumps([line.chosen for line in lines]),
            "scores": np.concatenate([*scores, np.zeros(0)]),
            "lengths": np.array([len(line) for line in scores], np.int64),
            "chances": np.array([line.chance for line in lines], float),
            "weighed": np.array([line.weighed for line in lines], bool),
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any], step: int) -> UnitBook:
        """The book that text and arrays tell of; ValueError where they contradict each other."""
        book = cls(details="scores" in plain)
        keys = json.loads(plain["keys"])
        if len(keys) != step or not all(key is None or isinstance(key, str) for key in keys):
            raise ValueError(f"keys of {len(keys)} units, not {step}")
        book.keys = keys
        book._rows = {key: row for row, key in enumerate(keys) if key is not None}
        if len(book._rows) != len(keys) - keys.count(None):
            raise ValueError("two units have one key")
        if not book.keeps_details:
            book.details = [None] * step
            return book
        given, eligible = json.loads(plain["given"]), json.loads(plain["eligible"])
        ends = list(accumulate(plain["lengths"].tolist()))
        if ends and ends[-1] != len(plain["scores"]):
            raise ValueError("scores that are not as many as they should be")
        scores = np.split(plain["scores"].copy(), ends[:-1]) if ends else []
        chosen = json.loads(plain["chosen"])
        columns = (given, scores, plain["chances"].tolist(), plain["weighed"].tolist(), eligible, chosen)
        book.details = [
            Details(one, scored, chance, weighed, None if listed is None else tuple(listed), ruled)
            if len(scored)
            else None  # forgotten: every choice has scores
            for one, scored, chance, weighed, listed, ruled in zip(*columns, strict=True)
        ]
        if len(book.details) != step:
            raise ValueError(f"details of {len(book.details)} units, not {step}")
        return book


_FORGOTTEN = Details(None, np.zeros(0), 0.0, False, None)
