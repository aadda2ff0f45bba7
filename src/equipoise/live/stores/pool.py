"""Connections that threads share, one user at a time, and that a fork does not inherit.

A child that used its parent's connection would break both: file locks belong to processes, and two of them
would talk on one socket. So a child begins with no connections, and those it was born with are never touched,
not even to close them.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from threading import BoundedSemaphore, RLock
from typing import Any, Generic, Self, TypeVar
from weakref import WeakSet

from equipoise.errors import StoreBusy, StoreUnavailable

C = TypeVar("C")

_pools: WeakSet[Pool[Any]] = WeakSet()
_untouchable: list[Any] = []


class Held(Generic[C]):
    """A connection of one's own, as long as a block runs: ``with pool.using() as held``.

    A class, and no generator, as every call of a live experiment goes through here. What may be interrupted
    on the way stands inside ``try``.
    """

    __slots__ = ("_has_room", "_pool", "_room", "connection", "sound", "was_idle")

    connection: C
    was_idle: bool
    """Whether it was made for somebody before: then the other side may have gone away since."""

    def __init__(self, pool: Pool[C]) -> None:
        self._pool, self._room = pool, pool.room
        self._has_room = False
        self.sound = False
        """Whether it is in order, outside any transaction; else it is closed."""

    def __enter__(self) -> Self:
        try:
            self._has_room = self._room.acquire(timeout=self._pool.wait)
            if not self._has_room:
                raise StoreBusy(
                    f"other threads of this program have used the store for {self._pool.wait:g} s",
                    hint="try again",
                )
            self.connection, self.was_idle = self._pool.take()
            return self
        except BaseException:
            self._leave_room()
            raise

    def __exit__(self, *exception: object) -> None:
        try:
            self._give_back()
        finally:
            self._leave_room()

    def renew(self) -> None:
        """Put a new connection in the place of one that the other side has left."""
        self.sound = False
        self._give_back()
        self.connection, self.was_idle = self._pool.take()

    @property
    def is_inherited(self) -> bool:
        """Whether this process is a child of the one that connected: there the pool has begun anew."""
        return self._room is not self._pool.room

    def _give_back(self) -> None:
        if self.is_inherited:
            _untouchable.append(self.connection)
        else:
            self._pool.give(self.connection, self.sound)

    def _leave_room(self) -> None:
        # A lock knows who has it, also where an interrupt falls between taking it and noting that.
        if self._room._is_owned() if self._pool.is_single else self._has_room:
            self._room.release()


class Pool(Generic[C]):
    """At most so many connections, made when they are needed and kept for the next user."""

    def __init__(
        self, connect: Callable[[], C], close: Callable[[C], object], *, most: int, wait: float
    ) -> None:
        self._connect, self._close, self._most = connect, close, most
        self.is_single = most == 1
        self.wait = wait
        """Seconds that are waited where all connections are taken."""
        self._closed = False
        self._start()
        _pools.add(self)

    def _start(self) -> None:
        self._idle: list[C] = []
        self.room: Any = RLock() if self.is_single else BoundedSemaphore(self._most)
        """What everybody takes before a connection."""

    def using(self) -> Held[C]:
        """A connection of one's own, waited for if all are taken."""
        return Held(self)

    def take(self) -> tuple[C, bool]:
        """A connection, and whether it was idle before."""
        if self._closed:
            raise StoreUnavailable("the store is closed", hint="open it anew")
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
