"""Connections that threads share, one user at a time, and that a fork does not inherit.

A child that used its parent's connection would break both: file locks belong to processes, and two of them
would talk on one socket. So a child begins with no connections, and those it was born with are never touched,
not even to close them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import BoundedSemaphore, RLock
from typing import Any, Generic, TypeVar
from weakref import WeakSet

from equipoise.errors import StoreBusy, StoreUnavailable

C = TypeVar("C")

_pools: WeakSet[Pool[Any]] = WeakSet()
_untouchable: list[Any] = []


class Held(Generic[C]):
    """A connection while it is used."""

    def __init__(self, pool: Pool[C]) -> None:
        self._pool = pool
        self._process = os.getpid()
        self.sound = False
        """Whether it is in order, outside any transaction; else it is closed."""
        self.connection, self.was_idle = pool.take()

    def renew(self) -> None:
        """Put a new connection in the place of one that the other side has left."""
        self.sound = False
        self.leave()
        self.connection, self.was_idle = self._pool.take()

    @property
    def is_inherited(self) -> bool:
        """Whether this process is a child of the one that connected."""
        return self._process != os.getpid()

    def leave(self) -> None:
        """Give the connection back, or close it."""
        if self.is_inherited:
            _untouchable.append(self.connection)
        else:
            self._pool.give(self.connection, self.sound)


class Pool(Generic[C]):
    """At most so many connections, made when they are needed and kept for the next user."""

    def __init__(
        self, connect: Callable[[], C], close: Callable[[C], object], *, most: int, wait: float
    ) -> None:
        self._connect, self._close, self._most, self._wait = connect, close, most, wait
        self._closed = False
        self._start()
        _pools.add(self)

    def _start(self) -> None:
        self._idle: list[C] = []
        # A lock knows who has it, also where an interrupt falls between taking it and noting that.
        self._room: Any = RLock() if self._most == 1 else BoundedSemaphore(self._most)

    @contextmanager
    def using(self) -> Iterator[Held[C]]:
        """A connection of one's own, waited for if all are taken."""
        room = self._room
        taken = False
        try:
            taken = room.acquire(timeout=self._wait)
            if not taken:
                raise StoreBusy(
                    f"other threads of this program have used the store for {self._wait:g} s",
                    hint="try again",
                )
            if self._closed:
                raise StoreUnavailable("the store is closed", hint="open it anew")
            held = Held(self)
            try:
                yield held
            finally:
                held.leave()
        finally:
            if room._is_owned() if self._most == 1 else taken:
                room.release()

    def take(self) -> tuple[C, bool]:
        """A connection, and whether it was idle before: then the other side may have gone away since."""
        try:
            return self._idle.pop(), True
        except IndexError:
            return self._connect(), False

    def give(self, connection: C, sound: bool) -> None:
        """Keep a connection for the next user, or close it."""
        if sound and not self._closed:
            self._idle.append(connection)
        else:
            self._close(connection)

    def empty(self) -> None:
        """Close the connections that nobody uses now."""
        while self._idle:
            self._close(self._idle.pop())

    def close(self) -> None:
        """Close what is idle now, and the rest when it is given back."""
        self._closed = True
        self.empty()

    def __del__(self) -> None:
        # A store that was forgotten; at the end of the program there may be nothing left to close it with.
        with suppress(Exception):
            self.empty()

    def leave_to_parent(self) -> None:
        """In the child of a fork: begin anew."""
        _untouchable.append(self._idle)
        self._start()


def _after_fork() -> None:
    for pool in _pools:
        pool.leave_to_parent()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
