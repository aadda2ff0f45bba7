"""An experiment whose log is in a store: every acknowledged call is in it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NoReturn, Self

import numpy.typing as npt

from equipoise.core.diagnosis.guessing import Predictability
from equipoise.core.experiment.assignment import Assignment
from equipoise.core.experiment.experiment import Experiment
from equipoise.core.experiment.record import Record, snapshot
from equipoise.core.experiment.units.table import unit_table
from equipoise.core.experiment.units.unit import Unit
from equipoise.core.policies.base.absent import AbsentPolicy
from equipoise.core.tables.tidy import TidyTable
from equipoise.errors import EquipoiseError, NotPicklable, StoreUnavailable
from equipoise.live.experiment import late
from equipoise.live.experiment.actors import Actor, demanded, optional
from equipoise.live.experiment.describing import described, with_details
from equipoise.live.experiment.ledger import Ledger
from equipoise.live.experiment.requests import asking
from equipoise.live.experiment.requests.answer import Answer
from equipoise.live.experiment.requests.calls import Ask, Tell
from equipoise.live.experiment.requests.turn import Turn
from equipoise.live.experiment.state.fold import Fold
from equipoise.live.experiment.state.snapshots import Snapshots, copied, drop_outdated, load_fold
from equipoise.live.experiment.together import TogetherRequests
from equipoise.live.experiment.verification import Verification, verify_experiment
from equipoise.live.log.archive import ArchiveHead, write_archive
from equipoise.live.log.entries import LogEntry, entry_of
from equipoise.live.log.receipts import Receipt
from equipoise.live.log.undisturbed import is_redacted_after, undisturbed, undisturbed_rows
from equipoise.live.stores.names import full_name
from equipoise.live.stores.store import Head, Store


class LiveExperiment(TogetherRequests):
    """An experiment in a store: :func:`create_experiment` and :func:`load_experiment` make them.

    It has the methods of :class:`~equipoise.Experiment`. A call that returns has been stored; one that raises
    has stored nothing, unless the error is CommitUnknown, or ErasureUnfinished after a redaction. Threads may
    share it, and any number of processes and machines may work on one experiment at a time: each call is
    decided on the state after all calls before. Whatever is read is of the moment of the call.
    """

    def __init__(
        self, store: Store, name: str, actor: str | None, *, owns_store: bool, begun: Head | None = None
    ) -> None:
        name = full_name(name)
        fold, saved = load_fold(store, name)
        self._actor = Actor(actor)
        self._ledger = Ledger(store, fold, lambda: load_fold(store, name)[0])
        self._lock = self._ledger.lock
        self._snapshots = Snapshots(store, saved)
        self._owns_store = owns_store
        self._own = threading.local()
        if begun is not None:  # who has begun it is given a receipt of the last row that began it
            self._own.receipt = fold.receipt(begun, begun.epoch)
        self._last_written = 0
        self._closed = False
        self.mode = fold.mode
        """``"live"`` or ``"practice"``, as it was created."""
        if self._snapshots.is_far(fold.sequence):
            self._save_snapshot()

    @property
    def name(self) -> str:
        """The experiment, with its project."""
        return self._ledger.name

    @property
    def store(self) -> Store:
        """Where its log is."""
        return self._ledger.store

    @property
    def deadline(self) -> timedelta | None:
        """How long outcomes may take, as it was given at creation; None: there is no deadline."""
        return self._ledger.state.deadline

    @property
    def receipt(self) -> Receipt | None:
        """Of the last call of this thread that was acknowledged; creating or restoring it is one."""
        receipt: Receipt | None = getattr(self._own, "receipt", None)
        return receipt

    def acting(self, actor: str) -> AbstractContextManager[None]:
        """Let somebody else act within this thread: ``with experiment.acting("dr-who"):``."""
        return self._actor.acting(actor)

    # The life of a unit

    def ask(
        self,
        x: npt.ArrayLike | Mapping[str, Any],
        unit: str | None = None,
        *,
        arm: str | None = None,
        arms: Sequence[str] | None = None,
        reason: str | None = None,
    ) -> Assignment:
        """Assign a unit to an arm; the parameters are those of :meth:`Experiment.ask`.

        With ``unit`` a repeat gives the same assignment, whoever asks and wherever, also if the first answer
        was lost on its way. An arm that a person gives needs a reason.
        """
        why = optional(reason) if arm is None else demanded(reason, "give a unit an arm")
        return asking.assignments(self._do(Ask(x, unit, arm, arms), why))[0]

    def ask_many(
        self,
        contexts: Any,
        units: Sequence[str | None] | None = None,
        *,
        arms: Sequence[str] | None = None,
        given_arms: Sequence[str] | None = None,
        reason: str | None = None,
    ) -> list[Assignment]:
        """Assign a batch of units together, in one commit: all of them or none.

        The parameters are those of :meth:`Experiment.ask_many`. Arms that a person gives need a reason.
        """
        why = optional(reason) if given_arms is None else demanded(reason, "give units their arms")
        # A lost commit is made again, and what can be gone through once would be empty by then.
        contexts = list(contexts) if isinstance(contexts, Iterator) else contexts
        units = list(units) if isinstance(units, Iterator) else units
        given_arms = list(given_arms) if isinstance(given_arms, Iterator) else given_arms

        def act(turn: Turn) -> list[Assignment]:
            many = turn.experiment.ask_many(contexts, units, arms=arms, given_arms=given_arms)
            return asking.noted(turn, many)

        return asking.assignments(self._do(act, why))

    def tell(self, unit: str | int, outcome: float) -> None:
        """Record the outcome of a unit, by key or id. The same value twice is accepted and ignored."""
        self._do(Tell(unit, outcome))

    def tell_many(self, outcomes: Mapping[Any, float] | Iterable[tuple[str | int, float]]) -> int:
        """Record many outcomes in one commit: all, or none if one cannot be. How many were new."""
        pairs = list(outcomes.items() if isinstance(outcomes, Mapping) else outcomes)
        return int(self._do(lambda turn: turn.experiment.tell_many(pairs)).value)

    def correct(self, unit: str | int, outcome: float, reason: str | None = None) -> None:
        """Set the outcome of a unit whatever it was; needs a reason."""
        why = demanded(reason, "correct an outcome")
        self._do(lambda turn: turn.experiment.correct(unit, outcome), why)

    def lose(self, unit: str | int, reason: str | None = None) -> None:
        """Declare that a pending outcome will never come; needs a reason. A later ``tell`` brings it back."""
        why = demanded(reason, "declare a unit lost")
        self._do(lambda turn: turn.experiment.lose(unit), why)

    def withdraw(self, unit: str | int, reason: str | None = None) -> None:
        """Remove a unit from the estimates; needs a reason. Its data stay in the log: see ``redact``."""
        why = demanded(reason, "withdraw a unit")
        self._do(lambda turn: turn.experiment.withdraw(unit), why)

    def received(self, unit: str | int, arm: str, reason: str | None = None) -> None:
        """Note that a unit received another arm than it was assigned to; needs a reason."""
        why = demanded(reason, "note that a unit received another arm")
        self._do(lambda turn: turn.experiment.received(unit, arm), why)

    def redact(self, unit: str | int, reason: str | None = None) -> None:
        """Erase a unit's data from the log for good; needs a reason.

        Its key, context, scores and outcome are erased from every row, and snapshots are dropped. What stays:
        the rows' headers, with their times, actors and reasons; and the sums that estimates rest on.

        If ErasureUnfinished is raised, the unit is redacted in the log, but files still hold bytes of it:
        somebody was reading them all the time. A repeat, by the unit's id, clears them.
        """
        self._redact([unit], demanded(reason, "redact a unit"))

    # The arms and the budget

    def close_arm(self, arm: str, reason: str | None = None) -> None:
        """Give the arm no further units; needs a reason."""
        why = demanded(reason, "close an arm")
        self._do(lambda turn: turn.experiment.close_arm(arm), why)

    def reopen_arm(self, arm: str, reason: str | None = None) -> None:
        """Let a closed arm get units again."""
        self._do(lambda turn: turn.experiment.reopen_arm(arm), optional(reason))

    def add_arm(
        self,
        arm: str,
        *,
        weight: float = 1.0,
        cost: float = 1.0,
        floor: int = 0,
        cap: int | None = None,
        reason: str | None = None,
    ) -> None:
        """Let a new arm join."""
        terms: dict[str, Any] = {"weight": weight, "cost": cost, "floor": floor, "cap": cap}
        self._do(lambda turn: turn.experiment.add_arm(arm, **terms), optional(reason))

    def change_budget(self, budget: float, reason: str | None = None) -> None:
        """Go on with another budget, in all; it must pay for the units assigned so far."""
        self._do(lambda turn: turn.experiment.change_budget(budget), optional(reason))

    def pause(self, reason: str | None = None) -> None:
        """Assign no unit until :meth:`resume`; outcomes are taken as before."""
        self._do(lambda turn: turn.experiment.pause(), optional(reason))

    def resume(self, reason: str | None = None) -> None:
        """Assign units again."""
        self._do(lambda turn: turn.experiment.resume(), optional(reason))

    def note(self, text: str, unit: str | int | None = None) -> None:
        """Write a remark into the log, about a unit or about all."""
        self._do(lambda turn: turn.experiment.note(text, unit))

    # Late outcomes

    def overdue(self, deadline: timedelta | None = None, now: datetime | None = None) -> TidyTable:
        """Units whose outcome is awaited for longer than the deadline; computed, never stored.

        Parameters
        ----------
        deadline
            How long outcomes may take; that of the experiment unless given.
        now
            The moment to compare with; the clock of this machine unless given.
        """
        with self._lock:
            return late.overdue(self._current_fold(), deadline, now)

    def expire(self, older_than: timedelta | None = None, reason: str | None = None) -> list[str | int]:
        """Declare all units lost that were assigned longer ago, by the store's clock; needs a reason.

        Gives their keys, or ids where they have none. A later ``tell`` brings a unit back.
        """
        why = demanded(reason, "declare units lost")
        lost: list[str | int] = self._do(lambda turn: late.expire(turn, older_than), why).value
        return lost

    # The log

    def log(self, after: int = 0) -> Iterator[LogEntry]:
        """The rows of the log after a number, as they are now."""
        return map(entry_of, self.store.read(self.name, after))

    def verify(self, receipt: Receipt | str | None = None, *, decisions: bool = True) -> Verification:
        """Verify the log from its first row on; see :func:`verify_experiment`."""
        return verify_experiment(store=self.store, name=self.name, receipt=receipt, decisions=decisions)

    def archive(self, path: str | Path) -> None:
        """Write the whole log to one file of text, compressed if its name ends in ``.gz``.

        A file that is there is replaced if its name ends in ``.jsonl`` or ``.gz``, and else refused.

        :func:`import_archive` makes the same experiment of it elsewhere, :func:`verify_archive` verifies it.
        """

        def write(head: Head) -> None:
            rows = undisturbed_rows(self.store, self.name, head.sequence)
            write_archive(path, ArchiveHead(head.name, head.mode, head.sequence, head.hash), rows)

        undisturbed(self.store, self.name, write)

    # Reading

    def units(self, *, scores: bool = False) -> TidyTable:
        """All units, with contexts as they were given, and the times of assignments and outcomes."""
        with self._lock:
            fold = self._current_fold()
            record, times = snapshot(fold.experiment._current()), fold.moments.copied()
        # Others go on while the log is read.
        listed = described(self.store, self.name, record, times, range(record.step))
        return unit_table(record, listed, scores=scores)

    def _described(self, record: Record, rows: Sequence[int]) -> Iterator[Unit]:
        return described(self.store, self.name, record, self._ledger.state.moments.copied(), rows)

    def in_memory(self) -> Experiment:
        """A copy of its own, in memory, as it is now, with contexts as given and scores from the log."""
        with self._lock:
            fold = self._current_fold()
            copy, rows = fold.experiment.in_memory(), fold.moments.rows.tolist()
        return with_details(self.store, self.name, copy, rows)

    def predictability(self) -> Predictability:
        """How well the next arm could be guessed; which arms were on offer is in the log."""
        return self.in_memory().predictability()

    def _current(self) -> Record:
        return self._current_fold().experiment._current()

    def _current_fold(self) -> Fold:
        self._check_open()
        return self._ledger.current()

    # The end

    def close(self) -> None:
        """Let go of the store; what was acknowledged is in it. Closing twice is harmless."""
        if self._closed:
            return
        self._closed = True
        fold = self._ledger.state
        if self._last_written == fold.sequence and self._snapshots.is_far(fold.sequence):
            self._save_snapshot()
        self._ledger.close()
        if self._owns_store:
            self.store.close()

    def __reduce__(self) -> NoReturn:
        """Refuse: what makes it one is its log in the store, not what this process knows of it."""
        raise NotPicklable(
            f"the live experiment {self.name!r} cannot be pickled or copied: its log is in a store",
            hint=f"where it is needed, load it: eq.load_experiment(store={self.store.url!r}, "
            f"name={self.name!r}); in_memory() is a copy that can be pickled",
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    # Helpers

    def _do(self, act: Callable[[Turn], Any], reason: str | None = None) -> Answer:
        """Have something done and stored, and keep its receipt."""
        self._check_open()
        answer = self._ledger.submit(act, self._actor.name, reason)
        self._own.receipt = answer.receipt
        written = self._ledger.take_written()
        if written is not None:
            self._last_written = written[1]
            if self._snapshots.is_due(*written):
                self._save_snapshot()
        return answer

    def _save_snapshot(self) -> None:
        """Save the state for whoever opens next. What was asked for is done, whether this works or not."""
        try:
            with self._lock:
                state = self._ledger.state
                # Who has the policy could not use what is saved without, and would lose what they have.
                if not state.sound or isinstance(state.experiment.policy, AbsentPolicy):
                    return
                arrays, meta, link = copied(state)
            self._snapshots.save(arrays, meta, link)
            if is_redacted_after(self.store, self.name, meta["sequence"]):
                drop_outdated(self.store, self.name)  # it may hold what was erased meanwhile
        except (EquipoiseError, MemoryError):
            return  # opening takes longer without

    def _check_open(self) -> None:
        if self._closed:
            raise StoreUnavailable(f"{self.name!r} is closed here", hint="load it with eq.load_experiment(…)")
