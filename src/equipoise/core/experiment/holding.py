"""The one record of an experiment under its locks: how it is changed, copied, saved and folded."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, cast

import numpy.typing as npt

from equipoise.core.arms.state import State
from equipoise.core.experiment.history import events
from equipoise.core.experiment.history.events import Event
from equipoise.core.experiment.history.folding import folded
from equipoise.core.experiment.history.replaying import redecided, refolded
from equipoise.core.experiment.history.runs import fold_some
from equipoise.core.experiment.locking import new_lock
from equipoise.core.experiment.reading import ExperimentReader
from equipoise.core.experiment.record import Record
from equipoise.core.experiment.saved import from_data, to_data
from equipoise.core.experiment.snapshots import from_arrays, to_arrays
from equipoise.core.problem.problem import Problem
from equipoise.core.stages.stage import Stage
from equipoise.errors import WriteInProgress

if TYPE_CHECKING:
    from equipoise.core.experiment.experiment import Experiment

_OWN = ("_lock", "_changing", "_record", "_events", "_listeners")


class RecordHolder(ExperimentReader):
    """Holds a record, and lets one change at a time be made."""

    def _begin(self, record: Record) -> None:
        self._lock = new_lock()
        # Held during a change, to tell a change within a change: both locks are the same thread's then.
        self._changing = threading.Lock()
        self._record = record
        self._listeners: tuple[list[Event], ...] = ()
        self._events: list[Event] | Listeners | None = None

    # Events

    def recording(self) -> Recording:
        """Collect the events that calls inside lead to, each when it has happened; those of all threads."""
        return Recording(self)

    def keep_recording(self) -> list[Event]:
        """Collect the events of all calls from now on, in a list that whoever asked for it empties."""
        kept: list[Event] = []
        self._listen(*self._listeners, kept)
        return kept

    def created_event(self) -> Event:
        """How the experiment began, with the problem as it is now: the first event of its history."""
        event = events.created(self._record)
        Problem.from_dict(event["problem"])  # refuses what plain data cannot tell
        return event

    def apply(self, event: Mapping[str, Any]) -> None:
        """Fold in an event that happened elsewhere, with the arm and features recorded, not decided anew."""
        with self._lock, self._change():
            self._record = folded(self._record, event)

    def _apply_some(self, history: Sequence[Mapping[str, Any]], place: int) -> int:
        """Fold in one event of many from a place on, or several at once; the place after them."""
        with self._lock, self._change():
            self._record, after = fold_some(self._record, history, place)
            return after

    @classmethod
    def replay(
        cls, history: Iterable[Mapping[str, Any]], *, verify: bool = False, details: bool = True
    ) -> Self:
        """The experiment that events lead to; the first is ``created``.

        With ``verify`` every choice is made anew, and ReplayMismatch names the first difference: another
        arm, other scores or probabilities, or a context that is not what was given. Without ``details``
        scores and records as they were given are not kept.
        """
        fold = redecided if verify else refolded
        return cls._of(fold(history, details=details))

    # Copies, snapshots and pickles: nothing is shared, and what comes from disk is checked, see saved.py

    def snapshot(self) -> dict[str, npt.NDArray[Any]]:
        """Everything as arrays, for :func:`numpy.savez`; scores and records as given are left out."""
        return to_arrays(self._snapshot())

    @classmethod
    def restore(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> Self:
        """The experiment that a snapshot was taken of; StateMismatch if version or numbers do not fit."""
        return cls._of(from_arrays(arrays))

    def in_memory(self) -> Experiment:
        """A copy of its own."""
        return cast("Experiment", self._of(from_data(to_data(self._snapshot()))))

    @classmethod
    def _of(cls, record: Record) -> Self:
        experiment = cls.__new__(cls)
        experiment._begin(record)
        return experiment

    def __getstate__(self) -> dict[str, Any]:
        record = self._snapshot()
        rest = {name: value for name, value in vars(self).items() if name not in _OWN}
        return {**to_data(record), "attributes": rest}

    def __setstate__(self, data: dict[str, Any]) -> None:
        record = from_data(data)
        vars(self).update(data.get("attributes", {}))
        self._begin(record)

    # For those who change it

    def _listen(self, *listeners: list[Event]) -> None:
        """Let these lists be told what happens; no call is in the middle of its events meanwhile."""
        with self._lock:
            self._listeners = listeners
            one = listeners[0] if listeners else None
            self._events = Listeners(listeners) if len(listeners) > 1 else one

    def _current(self) -> Record:
        return self._record

    @property
    def _stage(self) -> Stage:
        return self._record.stage

    @property
    def _state(self) -> State:
        return self._record.stage.state

    def _change(self) -> Any:
        """What to hold during a change. Only this thread can have it already, as it has the other lock."""
        if self._changing.locked():
            raise WriteInProgress(
                "the experiment is in the middle of a change that this call has interrupted",
                hint="in a signal handler only read; note what is to be told, and tell it afterwards",
            )
        return self._changing

    def _note(self, kind: str, **values: Any) -> None:
        if self._events is not None:
            self._events.append({"kind": kind, **values})

    def _entered(self, kind: str, row: int, **values: Any) -> None:
        if self._events is not None:
            self._events.append(events.entered(kind, row + 1, self._record.book.keys[row], **values))


class Listeners:
    """Several lists that are told the same events."""

    __slots__ = ("_lists",)

    def __init__(self, lists: tuple[list[Event], ...]) -> None:
        self._lists = lists

    def append(self, event: Event) -> None:
        """Tell one event."""
        for each in self._lists:
            each.append(event)

    def extend(self, events: Sequence[Event]) -> None:
        """Tell several."""
        for each in self._lists:
            each.extend(events)


class Recording:
    """A list of events that an experiment fills, while a block runs."""

    __slots__ = ("_experiment", "_found")

    def __init__(self, experiment: RecordHolder) -> None:
        self._experiment = experiment
        self._found: list[Event] = []

    def __enter__(self) -> list[Event]:
        experiment = self._experiment
        with experiment._lock:
            experiment._listen(*experiment._listeners, self._found)
        return self._found

    def __exit__(self, *exception: object) -> None:
        experiment = self._experiment
        with experiment._lock:
            experiment._listen(*(each for each in experiment._listeners if each is not self._found))
