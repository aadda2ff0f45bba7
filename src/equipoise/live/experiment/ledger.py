"""The way into the log: requests are carried out on the state, stored in one commit, and only then answered.

Under the store's lock the state catches up with rows that others have written. Then requests are carried out
in their order, and what they did is appended and committed. Answers, errors too, are given after the commit.

A request that fails half-way, or whose events cannot be written down, spoils the state: it gets its error,
and the others are carried out again without it.

A commit that fails may have happened all the same: the connection was lost on the way back. Its rows are
known by their hashes, so the next attempt, which has the store's lock, looks for them: if they are there,
the answers that were ready are given; if not, the requests are carried out again, on the state as it then is.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

from equipoise.errors import (
    CommitUnknown,
    EquipoiseError,
    ReceiptUnknown,
    StoreBusy,
    StoreDamaged,
    StoreUnavailable,
)
from equipoise.live.experiment.requests.answer import Answer
from equipoise.live.experiment.requests.combining import Combiner, Request
from equipoise.live.experiment.requests.errands import Errand, Errands, unknown
from equipoise.live.experiment.requests.turn import Turn
from equipoise.live.experiment.state.fold import Fold
from equipoise.live.stores.sql import RESTORE
from equipoise.live.stores.store import Head, Row, Store, Writer

ATTEMPTS, PAUSE = 3, 0.05
"""How often a commit is tried where the store cannot be reached, and seconds before the next try."""


_NO_ROWS: Sequence[Row] = ()
_Answers = list[tuple[Request, tuple[Answer, Exception | None]]]


class _Unsettled(NamedTuple):
    """Answers that are true if their rows are in the log."""

    rows: Sequence[Row]
    answers: _Answers


class _Spoiled(Exception):
    """A request has changed the state and cannot be stored."""

    def __init__(self, request: Request, error: Exception) -> None:
        super().__init__(str(error))
        self.request, self.error = request, error


class Ledger:
    """One experiment in one store, with its state at hand."""

    def __init__(self, store: Store, fold: Fold, load: Callable[[], Fold]) -> None:
        self.store = store
        self.name = fold.name
        self.combiner = Combiner(self._carry_out)
        self._fold = fold
        self._load = load
        self._seen = fold.sequence, fold.hash
        self._errands = Errands(store, fold.name, lambda: self._fold, self._look_ahead)
        self._written: tuple[int, int] | None = None
        self._unsettled: _Unsettled | None = None
        self._in_doubt = False
        """Whether the store was lost while it took the rows that are unsettled."""
        self._replaced = False

    @property
    def lock(self) -> Any:
        """What readers hold as long as they look at the state."""
        return self.combiner.lock

    @property
    def state(self) -> Fold:
        """The state as this process last knew it; for whoever has the lock."""
        return self._fold

    def submit(self, act: Callable[[Turn], Any], actor: str, reason: str | None = None) -> Answer:
        """Have something done to the experiment, and stored."""
        answer: Answer = self.combiner.submit(Request(act, actor, reason))
        return answer

    def current(self) -> Fold:
        """The state after all rows that are in the log now; for whoever has the lock."""
        with self.combiner.change():
            self._catch_up(self.store.head(self.name), partial(self.store.read, self.name))
            return self._fold

    def take_written(self) -> tuple[int, int] | None:
        """The first and the last row that this process has written since this was last asked."""
        written, self._written = self._written, None
        return written

    def close(self) -> None:
        """Leave nothing to others any more."""
        self._errands.close()

    # A commit

    def _carry_out(self, batch: Sequence[Request]) -> None:
        try:
            self._try_to_carry_out(batch)
        except Exception as error:
            if not self._errands.give_up():
                raise unknown(self.name, str(error)) from error
            if any(request.answer is None for request in batch):
                raise
        except BaseException:
            self._errands.withdraw()
            raise

    def _try_to_carry_out(self, batch: Sequence[Request]) -> None:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                self._commit(batch)
                return
            except StoreUnavailable as error:
                self._in_doubt = self._in_doubt or isinstance(error, CommitUnknown)
                if attempt == ATTEMPTS:
                    raise self._given_up(error) from error
                time.sleep(PAUSE * attempt)

    def _commit(self, batch: Sequence[Request]) -> None:
        errands = self._errands
        # What may be in the log already is not left to others, who would do it again.
        errands.begin(batch, may_leave=self._unsettled is None)
        while True:
            taken: Sequence[Errand] = ()
            try:
                if errands.is_crowded and errands.can_be_served() and errands.wait_for_others():
                    return
                with self.store.writing(self.name, errands) as writer:
                    self._catch_up(writer.head, writer.newer)
                    errands.recall(writer.newer)
                    if self._unsettled is not None:
                        self._settle(writer, self._unsettled)
                    self._fold.sound = False
                    taken = errands.take()
                    waiting = [request for request in batch if request.answer is None]
                    for errand in taken:
                        waiting += errand.requests
                    rows, answers = self._perform(waiting, writer)
                    self._unsettled = _Unsettled(rows, answers) if rows else None
                self._give(answers)
                self._note_written(rows)
                if taken:
                    errands.deliver(taken)
                return
            except StoreBusy:
                if any(request.answer is None for request in batch):
                    raise
                return  # others have carried it out
            except _Spoiled as spoiled:
                spoiled.request.answer = None, spoiled.error
                # The lock is free: who waits may do it itself, so that it must not be done here.
                errands.refuse(taken)

    def _note_written(self, rows: Sequence[Row]) -> None:
        if rows:
            first = rows[0].sequence if self._written is None else self._written[0]
            self._written = first, rows[-1].sequence

    def _look_ahead(self) -> None:
        """Fold in what is there already while the head is waited for; what goes wrong is met again after."""
        with suppress(EquipoiseError):
            self._catch_up(self.store.head(self.name), partial(self.store.read, self.name))

    def _perform(self, requests: Sequence[Request], writer: Writer) -> tuple[Sequence[Row], _Answers]:
        """Carry out requests, and append what each did before the next."""
        fold, turn = self._fold, Turn(self._fold, writer)
        events = fold.events
        rows: list[Row] = []
        answers: _Answers = []
        for request in requests:
            value, error, new = None, None, _NO_ROWS
            try:
                value = request.act(turn)
                if events:
                    new = fold.following(events, request.actor, request.reason, turn.now, request.salt)
            except StoreUnavailable:
                raise  # which is tried again
            except Exception as problem:
                if problem in turn.failures:
                    raise  # of the database, for the store to say what it means
                if events:
                    raise _Spoiled(request, problem) from problem
                error = problem
            if new:
                fold.come_to(events, new)
                writer.append(new)
                rows += new
                events.clear()
            answers.append((request, (Answer(value, new, fold.last_receipt()), error)))
        if turn.erased:
            writer.erase(turn.erased)
        return rows, answers

    def _give(self, answers: _Answers) -> None:
        for request, answer in answers:
            request.answer = answer
        self._seen = self._fold.sequence, self._fold.hash
        self._unsettled, self._in_doubt = None, False
        self._fold.sound = True

    def _settle(self, writer: Writer, unsettled: _Unsettled) -> None:
        """Find out whether a commit whose end nobody saw has happened, and give its answers if so."""
        rows, answers = unsettled
        there = list(islice(writer.newer(rows[-1].sequence - 1), 1))
        if there and there[0].hash == rows[-1].hash:
            self._give(answers)
            self._note_written(rows)
        self._unsettled, self._in_doubt = None, False

    def _given_up(self, error: EquipoiseError) -> EquipoiseError:
        """The error for everybody who waits, after the last attempt."""
        is_unknown = self._unsettled is not None and self._in_doubt
        self._unsettled, self._in_doubt = None, False
        if not is_unknown:
            return error
        return CommitUnknown(
            f"the store of {self.name!r} was lost during a commit, and cannot be asked whether it happened: "
            f"{error.message}",
            hint="repeat the call when the store is back: with a unit's key it gives what was given before",
        )

    # Catching up

    def _catch_up(self, head: Head, newer: Callable[..., Iterable[Row]]) -> None:
        """Fold in what others have written; ``newer`` gives the rows after one, or up to another."""
        if self._replaced:
            raise self._was_replaced()
        if self._errands.known is not None:
            self._find_known(self._errands.known, newer)
        if self._fold.sound and (head.sequence, head.hash) == (self._fold.sequence, self._fold.hash):
            return
        # A sound state says itself how far it has come: an interrupt may have come after some rows.
        if self._fold.sound:
            self._seen = self._fold.sequence, self._fold.hash
        sequence, link = self._seen
        rows = iter(newer(sequence - 1))
        known = next(rows, None)
        if known is None or known.hash != link:
            self._replaced = True
            raise self._was_replaced()
        if not self._fold.sound:
            self._fold = self._load()
            rows = iter(newer(self._fold.sequence))
        self._fold.catch_up(rows)
        self._seen = self._fold.sequence, self._fold.hash
        # Who reads without the lock may have found more than the head told of.
        if self._fold.sequence <= head.sequence and self._seen != (head.sequence, head.hash):
            raise StoreDamaged(
                f"the head of {self.name!r} says that the log ends with row {head.sequence}, of hash "
                f"{head.hash.hex()[:12]}…, and it ends with row {self._seen[0]}, of hash "
                f"{self._seen[1].hex()[:12]}…",
                hint=RESTORE,
            )

    def _find_known(self, known: tuple[int, bytes], newer: Callable[..., Iterable[Row]]) -> None:
        """Find the row that the last answer of another process told of."""
        sequence, link = known
        row = next(iter(newer(sequence - 1, sequence)), None)
        if row is None or row.hash != link:
            self._seen, self._replaced = known, True
            raise self._was_replaced()
        self._errands.known = None

    def _was_replaced(self) -> ReceiptUnknown:
        return ReceiptUnknown(
            f"row {self._seen[0]} of {self.name!r} was known here, and the log has none or another one there "
            "now: it was restored from a backup, or exchanged",
            hint="what was acknowledged after the backup is gone and must be entered again; then go on with "
            "eq.load_experiment(…)",
        )
