"""Requests that processes leave to each other: whoever has the lock carries out what others wait for.

A process that found the lock taken posts its requests on the store's board, and waits for the answer instead
of the lock. Whoever has the lock carries them out after its own, in the same commit. So processes that write
all the time share commits, as threads do, and who is served need not fold in what others have written.

Nothing is done twice. Every request that is posted brings the salt of the first row that tells of it. A
process that gets the lock while it still waits, because the one who served it has died or was slow, first
looks whether such a row is in the log. One that gives up withdraws what it has posted; if somebody has taken
that, and does not say what has come of it, neither can be said here (CommitUnknown).

Only what has changed the log is answered, and outcomes that are known already. Whatever else, such as what
fails, is done again by the process that wants it, and fails there.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import orjson

from equipoise.core.experiment.history.events import assignment_of
from equipoise.errors import CommitUnknown, EquipoiseError
from equipoise.live.experiment.requests.answer import Answer
from equipoise.live.experiment.requests.asking import epoch_of, tells_of_assignment
from equipoise.live.experiment.requests.calls import Ask, Tell, called
from equipoise.live.experiment.requests.combining import Request
from equipoise.live.experiment.requests.packing import fit, packed, unpacked
from equipoise.live.experiment.state.fold import Fold
from equipoise.live.log.encoding import decode
from equipoise.live.log.receipts import Receipt
from equipoise.live.stores.board import LONGEST_REQUEST, TOKEN_BYTES, Posted, Slot
from equipoise.live.stores.chain import SALT_BYTES
from equipoise.live.stores.store import Row, Store

PATIENCE = 0.005
"""Seconds that an answer is waited for before the lock is tried: who writes comes back in less."""
_GROWTH, _LONGEST = 1.5, 0.05
_WAITS = 3
"""Waits after which requests that nobody has taken are no longer left to others."""
_LAST_WAIT = 1.0
"""Seconds that an answer is waited for by who no longer waits for the lock."""
_REFUSED = b""


class Errand(NamedTuple):
    """Requests that another process has posted together."""

    posted: Posted
    requests: Sequence[Request]


class _Sent(NamedTuple):
    """Requests that were posted here and are not answered yet."""

    slot: Slot
    token: bytes
    requests: Sequence[Request]
    salts: Sequence[bytes]
    """Of the first rows that tell of them."""
    after: int
    """A row of the log after which those come that tell of them."""
    epoch: int
    line: str


class Errands:
    """What one experiment in this process leaves to others, and does for them.

    It is also who waits for the store's lock (:class:`~equipoise.live.stores.store.Waiting`).
    """

    def __init__(
        self, store: Store, name: str, state: Callable[[], Fold], look_ahead: Callable[[], None]
    ) -> None:
        self._store, self._name = store, name
        self._state, self._look_ahead = state, look_ahead
        self._slot: Slot | None = None
        self._wants_slot = False
        self._sent: _Sent | None = None
        self._batch: Sequence[Request] = ()
        self._is_left_here = False
        """Whether others cannot, or will not, carry out the batch."""
        self._patience = PATIENCE
        self.known: tuple[int, bytes] | None = None
        """The last row that an answer told of, and its hash, until it is found in the log."""
        self._waits = 0
        self._is_closed = False
        self.is_crowded = False
        """Whether others had the lock the last time."""

    # For who waits

    def begin(self, batch: Sequence[Request], *, may_leave: bool) -> None:
        """Wait for the lock for some requests, which others may carry out, or not."""
        self._batch, self._is_left_here = batch, not may_leave
        self._waits, self._patience = 0, PATIENCE

    def can_be_served(self) -> bool:
        """Whether the requests can be left to others, as the lock is theirs."""
        self.is_crowded = self._wants_slot = True
        if self._is_left_here or self._slot is None or not self._slot.is_usable:
            return False
        return self._sent is None or self._sent.requests is self._batch

    def wait_for_others(self) -> bool:
        """Leave the requests to others, and wait for some time; whether all are answered."""
        slot = self._slot
        try:
            sent = self._sent or (None if slot is None else self._post(slot))
            if sent is None or self._collect(sent, self._patience):
                self._is_left_here = True  # as far as it is not answered now
            elif self._waits >= _WAITS and sent.slot.is_posted and sent.slot.withdraw():
                self._forget(sent)
                self._is_left_here = True  # who has the lock works on something else
        except (OSError, ValueError):
            self._is_left_here = True  # the board was closed
        self._waits += 1
        self._patience = min(self._patience * random.uniform(1.0, _GROWTH), _LONGEST)
        return self._are_answered()

    def _are_answered(self) -> bool:
        return all(request.answer is not None for request in self._batch)

    def _collect(self, sent: _Sent, seconds: float) -> bool:
        """Wait for an answer, and take what it says; whether there was one."""
        data = sent.slot.wait(sent.token, seconds)
        if data is None:
            return False
        if self._take_answers(sent, data):
            self._forget(sent)
        return True

    def give_up(self) -> bool:
        """Want the requests no longer; False if somebody has taken them and does not say what has become."""
        sent = self._sent
        if sent is None or sent.requests is not self._batch:
            return True
        if sent.slot.withdraw():
            self._forget(sent)
            return True
        until = time.monotonic() + _LAST_WAIT
        with suppress(OSError, ValueError):  # the board was closed
            while time.monotonic() < until and not self._collect(sent, PATIENCE):
                pass
        return self._sent is None

    def withdraw(self) -> None:
        """Want the requests no longer, and wait for nobody."""
        if self._sent is not None and self._sent.slot.withdraw():
            self._forget(self._sent)

    def _forget(self, sent: _Sent) -> None:
        self._sent = None
        with suppress(OSError, ValueError):  # the board was closed
            sent.slot.clear()

    def prepare(self) -> None:
        """Fold in what is there already before the lock is tried for."""
        self._look_ahead()

    def _post(self, slot: Slot) -> _Sent | None:
        fold, calls = self._state(), []
        for request in self._batch:
            call = request.act.plain() if isinstance(request.act, Ask | Tell) else None
            if call is None or request.answer is not None:
                return None
            calls.append([request.actor, request.reason, call])
        known = max((fold.sequence, fold.hash), self.known or (0, b""))
        salts = [os.urandom(SALT_BYTES) for _ in calls]
        for call, salt in zip(calls, salts, strict=True):
            call.append(salt.hex())
        try:
            data = orjson.dumps([fold.epoch, fold.lines[-1], known[0], known[1].hex(), calls])
        except TypeError:
            return None  # such as whole numbers of more than 64 bits
        if len(data) > LONGEST_REQUEST or not fit(len(calls)):
            return None
        # Noted before it is posted: from then on it may be done.
        self._sent = sent = _Sent(
            slot, os.urandom(TOKEN_BYTES), self._batch, salts, known[0], fold.epoch, fold.lines[-1]
        )
        slot.post(sent.token, data)
        return sent

    def _take_answers(self, sent: _Sent, data: bytes) -> bool:
        """Answer what was done; False if that cannot be told without the lock."""
        if data == _REFUSED:
            return True
        for request, outcome in zip(sent.requests, unpacked(data, len(sent.requests)), strict=True):
            if outcome is None:
                continue  # it is done by who wants it
            last, link, count, rows = outcome
            if rows is None:
                with suppress(EquipoiseError):
                    rows = list(self._store.read(self._name, last - count, last))
            receipt = Receipt(self._name, sent.epoch, last, link, sent.line)
            if rows is None or len(rows) != count or not self._answer(request, rows, receipt):
                return False
        return True

    def _answer(self, request: Request, rows: Sequence[Row], receipt: Receipt) -> bool:
        """Give a request the answer that rows tell of; False if they do not say, or the state is too old."""
        value = None
        if isinstance(request.act, Ask):
            told = next(filter(tells_of_assignment, rows))
            if told.payload is None:
                return False
            unit = assignment_of(decode(told.payload), self._state().experiment.problem.arms)
            if len(unit.arms) < len(unit.score_values):
                return False
            value = [unit]
        request.answer = Answer(value, rows, receipt), None
        self.known = receipt.sequence, receipt.hash
        return True

    # For who has the lock

    def recall(self, newer: Callable[[int], Sequence[Row]]) -> None:
        """Ask for nothing any more; requests that the log tells of already are answered."""
        self.is_crowded = False
        sent = self._sent
        if sent is not None:
            if not sent.slot.withdraw():
                self._find(sent, newer(sent.after))
            self._forget(sent)
        if self._wants_slot and not self._is_closed and (self._slot is None or not self._slot.is_usable):
            board = self._store.board()
            self._slot = None if board is None else board.slot(self._name)
            self._wants_slot = False

    def _find(self, sent: _Sent, rows: Sequence[Row]) -> None:
        """Answer requests that rows tell of."""
        first = {row.salt: place for place, row in enumerate(rows)}
        erased = [decode(row.header) for row in rows if row.payload is None]
        for request, salt in zip(sent.requests, sent.salts, strict=True):
            if request.answer is not None:
                continue
            place, is_found = first.get(salt), False
            if place is not None:
                end = place + 1
                if isinstance(request.act, Ask):  # what was decided before comes first
                    end += next(k for k, told in enumerate(rows[place:]) if tells_of_assignment(told))
                last = rows[end - 1]
                receipt = self._state().receipt(last, epoch_of(last))
                is_found = self._answer(request, rows[place:end], receipt)
            if not is_found and any(_may_tell(header, request) for header in erased):
                request.answer = None, unknown(self._name, "a row that may tell of it was redacted")

    def take(self) -> list[Errand]:
        """What others wait for."""
        board = self._store.board()
        try:
            on_board = [] if board is None else board.posted(self._name)
        except (OSError, ValueError):
            on_board = []  # the board was closed
        found: list[Errand] = []
        for posted in on_board:
            requests = self._requests(posted)
            if requests is None:
                self._say(posted, _REFUSED)
            else:
                found.append(Errand(posted, requests))
        return found

    def _requests(self, posted: Posted) -> list[Request] | None:
        """What was posted, unless it comes from somebody who knows another log."""
        fold = self._state()
        try:
            epoch, line, sequence, link, calls = orjson.loads(posted.data)
            if (epoch, line) != (fold.epoch, fold.lines[-1]) or not fold.has(sequence, bytes.fromhex(link)):
                return None
            return [
                Request(called(call), actor, reason, bytes.fromhex(salt))
                for actor, reason, call, salt in calls
            ]
        except (ValueError, TypeError):
            return None

    def deliver(self, errands: Sequence[Errand]) -> None:
        """Tell others what their requests have come to, after the commit."""
        for posted, requests in errands:
            self._say(posted, packed([request.answer for request in requests]))

    def refuse(self, errands: Sequence[Errand]) -> None:
        """Leave what was taken, and not done, to those who want it."""
        for posted, _ in errands:
            self._say(posted, _REFUSED)

    def _say(self, posted: Posted, data: bytes) -> None:
        board = self._store.board()
        if board is not None:
            with suppress(OSError, ValueError):  # it was closed
                board.answer(posted, data)

    # The end

    def close(self) -> None:
        """Leave nothing to others."""
        slot, self._slot, self._is_closed = self._slot, None, True
        if slot is not None:
            with suppress(OSError, ValueError):
                slot.close()


def _may_tell(header: Mapping[str, Any], request: Request) -> bool:
    """Whether a row of which only the header is left may be the one that tells of a request."""
    kind = "asked" if isinstance(request.act, Ask) else "told"
    return bool(header["kind"] == kind and header["actor"] == request.actor)


def unknown(name: str, why: str) -> CommitUnknown:
    """Nobody can say whether another process has carried out a request."""
    return CommitUnknown(
        f"another process that has {name!r} took this call, and may have stored it: {why}",
        hint="repeat the call: with a unit's key it gives what was given before; else look at the log first",
    )
