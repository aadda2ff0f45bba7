"""Requests of many threads, carried out together by whichever of them has the lock.

A thread puts its request into the queue. The first in the queue takes the lock and carries out all requests
that wait, in their order; the others wait until they are answered, or until they are the first. So those that
were answered come back with new requests while the next commit is under way. There is no thread in the
background.

A request stays in the queue until it is answered. So a thread that is interrupted while it works for the
others loses none of theirs: the next one that gets the lock goes on with them. A request of a thread that is
interrupted while it waits leaves the queue, unless it is being carried out just then. After a fork the
child forgets requests of threads that only its parent has.
"""

from __future__ import annotations

import copy
import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from equipoise.core.experiment.locking import new_lock
from equipoise.errors import EquipoiseError, WriteInProgress

MOST = 1024
"""Requests that are carried out together."""
PATIENCE = 1.0
"""Seconds after which a thread looks by itself."""


_process = os.getpid()
"""This process, as it was last asked for: after every fork, not in every call."""


def _after_fork() -> None:
    global _process
    _process = os.getpid()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class Request:
    """What one thread wants done."""

    __slots__ = ("act", "actor", "answer", "gate", "process", "reason", "salt")

    def __init__(
        self, act: Callable[..., Any], actor: str, reason: str | None, salt: bytes | None = None
    ) -> None:
        self.act = act
        self.actor = actor
        self.reason = reason
        self.salt = salt
        """Of the first row that tells of it; None: a new one."""
        self.process = _process
        self.answer: tuple[Any, BaseException | None] | None = None
        """(result, error) once it is known."""
        self.gate = threading.Lock()
        self.gate.acquire()

    def wake(self) -> None:
        """Let the thread look whether it is answered, or the first."""
        try:
            self.gate.release()
        except RuntimeError:
            return  # it has been woken, and did not get to it yet


class Combiner:
    """A queue of requests, and the lock that whoever works on them has.

    ``carry_out`` gets requests and answers all of them, or raises: then all of them get that error. It may
    also be interrupted, and is given those without an answer again.
    """

    def __init__(self, carry_out: Callable[[Sequence[Request]], None]) -> None:
        self.lock = new_lock(outer=True)
        self._carry_out = carry_out
        self._waiting: deque[Request] = deque()
        # Held by the thread at work, to tell a call from a signal handler that has interrupted it.
        self._working = threading.Lock()
        self._worker = 0

    def submit(self, request: Request) -> Any:
        """Have a request carried out, and give its result or raise its error."""
        if self._worker == threading.get_ident() and self._working.locked():
            self.change()  # refuses: this call comes from a signal handler
        waiting = self._waiting
        waiting.append(request)
        try:
            first = waiting[0]
            if first is not request and first.process == request.process:
                # Whoever is first wakes the next one. Should an interrupt have kept it from that, time does.
                request.gate.acquire(timeout=PATIENCE)
            while request.answer is None:
                with self.lock:
                    if request.answer is None:
                        with self.change():
                            self._work(request)
        except BaseException:
            self._forget(request)
            self._wake_next()
            raise
        result, error = request.answer
        if error is not None:
            raise _own_copy(error) from error.__cause__
        return result

    def change(self) -> Any:
        """For whoever has the lock: what to hold beside it while what is guarded may be half-changed."""
        if self._working.locked():
            raise WriteInProgress(
                "the experiment is in the middle of a change that this call has interrupted",
                hint="in a signal handler only note what is to be done, and do it afterwards",
            )
        self._worker = threading.get_ident()  # before it is held: who holds it is always known
        return self._working

    def _work(self, own: Request) -> None:
        """Carry out what waits, for the thread whose request is its own."""
        batch = [own] if len(self._waiting) == 1 else self._batch(own.process)
        try:
            self._carry_out(batch)
        except Exception as error:
            for request in batch:
                if request.answer is None:
                    request.answer = None, error
        # First out of the queue, then the look for the next: whoever comes in between finds itself the first.
        for request in batch:
            if request.answer is not None:
                self._forget(request)
        for request in batch:
            if request is not own and request.answer is not None:
                request.wake()
        if self._waiting:
            self._wake_next()

    def _batch(self, process: int) -> list[Request]:
        """The requests that wait, without those of a parent's threads."""
        batch = []
        for request in tuple(self._waiting)[:MOST]:
            if request.process != process:
                self._forget(request)
            else:
                batch.append(request)
        return batch

    def _wake_next(self) -> None:
        try:
            following = self._waiting[0]
        except IndexError:
            return  # nobody waits
        following.wake()

    def _forget(self, request: Request) -> None:
        try:
            self._waiting.remove(request)
        except ValueError:
            return  # it is no longer there


def _own_copy(error: BaseException) -> BaseException:
    """An error of this thread's own: several threads may raise it, each with its own traceback."""
    return copy.copy(error) if isinstance(error, EquipoiseError) else error
