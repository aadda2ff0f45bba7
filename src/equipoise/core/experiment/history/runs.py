"""Many events at once: runs of units that were asked for and outcomes that were told, in one compiled call.

Most of a log are such events, and what a call of compiled code costs by itself is more than they take. Where
an event of a run is not as it should be, the run ends before it, and it is folded by itself, which says why.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from equipoise.core.arms.state import State
from equipoise.core.arrays import Counts, Matrix, Vector
from equipoise.core.choice.lots import lot_of
from equipoise.core.experiment.admission import ALL_ARMS, admit
from equipoise.core.experiment.entering.entries import tell
from equipoise.core.experiment.history.events import ASKED, is_by_person, numbers
from equipoise.core.experiment.history.folding import folded
from equipoise.core.experiment.record import Record, draft
from equipoise.core.experiment.units.book import NO_PERSON, Details
from equipoise.core.jit.decorators import compiled
from equipoise.core.problem.inputs import checked_outcome
from equipoise.errors import EquipoiseError

Event = Mapping[str, Any]

SHORT = 3
"""Events that are folded one by one, rather than gathered."""

_TOLD = -1
# What an event that is not as it should be may fail with while it is gathered.
_IRREGULAR = (EquipoiseError, LookupError, TypeError, ValueError, AttributeError, OverflowError)


def fold_some(record: Record, events: Sequence[Event], place: int) -> tuple[Record, int]:
    """Fold in events from a place on, a run of them or one; the record, and the place after them.

    ``record`` may have changed where it is the same one.
    """
    run = _run_at(events, place)
    if len(run) > SHORT:
        record, taken = _fold_run(record, run)
        if taken:
            return record, place + taken
    return folded(record, events[place]), place + 1


def _run_at(events: Sequence[Event], place: int) -> Sequence[Event]:
    """The events from a place on that may be folded together."""
    end = place
    while end < len(events) and _may_be_in_a_run(events[end]):
        end += 1
    return events[place:end]


def _may_be_in_a_run(event: Event) -> bool:
    return type(event) is dict and event.get("kind") in _KINDS and "id" in event and "eligible" not in event


_KINDS = frozenset({*ASKED, "told"})


def _fold_run(record: Record, events: Sequence[Event]) -> tuple[Record, int]:
    """Fold in events up to the first that is not as it should be; and how many these are."""
    run = _Run(record)
    for event in events:
        try:
            run.add(event)
        except _IRREGULAR:
            break
    return run.take()


class _Run:
    """Events that are gathered, and the record that they are to be folded into."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._places = {arm: i for i, arm in enumerate(record.problem.arms)}
        self._step = self._first = record.step
        self._arms: list[int] = []
        self._rows: list[int] = []
        self._lots: list[int] = []
        self._outcomes: list[float] = []
        self._contexts: list[Any] = []
        self._choices: list[Any] = []
        self._lines: list[tuple[str | None, Details | None]] = []
        self._keys: set[str | None] = set()

    def add(self, event: Event) -> None:
        """Gather one more; or raise, and leave it."""
        row = event["id"] - 1
        if event["kind"] == "told":
            if not (type(row) is int and 0 <= row < self._step):
                raise ValueError
            self._note(_TOLD, row, 0, checked_outcome(event["outcome"]))
            return
        x, places = event["x"], self._places
        arm, top, key = places[event["arm"]], places[event["top"]], event.get("unit")
        if row != self._step or len(x) != self._record.problem.dim or self._is_known(key):
            raise ValueError
        propensity = math.nan if is_by_person(event) else float(event["propensity"])
        choice = propensity, event["likeliest"], event["possible"], top
        details = None
        if self._record.book.keeps_details:
            details = Details(
                event.get("given"),
                numbers(event["scores"]),
                event["chance"],
                event.get("weighed", False),
                None,
                event.get("chosen", NO_PERSON),
            )
        self._note(arm, row, 0 if key is None else lot_of(key), 0.0)
        self._contexts.append(x)
        self._choices.append(choice)
        self._lines.append((key, details))
        self._keys.add(key)
        self._step += 1

    def _is_known(self, key: str | None) -> bool:
        """Whether a unit has that key, here or in the record."""
        if key is None:
            return False
        return key in self._keys or self._record.book.row_of(key, self._first) is not None

    def _note(self, arm: int, row: int, lot: int, outcome: float) -> None:
        self._arms.append(arm)
        self._rows.append(row)
        self._lots.append(lot)
        self._outcomes.append(outcome)

    def take(self) -> tuple[Record, int]:
        """Fold what was gathered; the record, and how many events are in it."""
        record, asked = self._record, len(self._lines)
        try:
            contexts = numbers(self._contexts).reshape(asked, record.problem.dim)
            choices = numbers(self._choices).reshape(asked, 4)
            told = np.array([self._arms, self._rows, self._lots], dtype=np.int64)
        except _IRREGULAR:
            return record, 0
        if self._step > len(record.contexts):
            record = draft(record, asked)
        for place, (key, details) in enumerate(self._lines):
            record.book.write(self._first + place, key, details)
        stage = record.stage
        taken = take_run(
            stage.state,
            record.contexts,
            stage.columns,
            stage.score,
            stage.settings,
            np.empty(len(record.problem.arms)),
            told,
            numbers(self._outcomes),
            contexts,
            choices,
            ALL_ARMS,
        )
        return record, taken


@compiled
def take_run(
    state: State,
    contexts: Matrix,
    columns: Counts,
    score: int,
    settings: Vector,
    scores: Vector,
    events: Counts,
    outcomes: Vector,
    given: Matrix,
    recorded: Matrix,
    eligible: Counts,
) -> int:
    """Take in events up to the first that cannot be, and return how many these are.

    ``events`` has a column each: the arm of a unit that was asked for, or ``_TOLD``; its row; what addresses
    its lot. ``given`` and ``recorded`` have a row for each unit that was asked for: contexts, and what a log
    knows of the choice, as in :func:`~equipoise.core.experiment.admission.admit`.
    """
    asked = 0
    number: int = outcomes.shape[0]
    for k in range(number):
        arm = events[0, k]
        if arm == _TOLD:
            tell(state, events[1, k], outcomes[k])
            continue
        sent, _, _ = admit(
            state,
            contexts,
            columns,
            given[asked],
            score,
            settings,
            scores,
            arm,
            events[2, k],
            eligible,
            recorded[asked],
        )
        if sent < 0:
            return k
        asked += 1
    return number
