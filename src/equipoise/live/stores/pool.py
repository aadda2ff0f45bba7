"""Connections that threads share, one user at a time, and that a fork does not inherit.

A child that used its parent's connection would break both: file locks belong to processes, and two of them
would talk on one socket. So a child begins with no connections, and those it was born with are never touched,
not even to close them. Connections of a library that keeps in memory which locks its process has are closed
before a fork: the child would take its parent's locks for its own, and have none.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from threading import RLock
from typing import Any, Generic, Self, TypeVar
from weakref import WeakSet

from equipoise.core.experiment.locking import before_forks, new_lock
from equipoise.errors import StoreBusy, StoreUnavailable

C = TypeVar("C")

_LOOK = 0.001
"""Seconds after which somebody who found all places taken looks again."""
_pools: WeakSet[Pool[Any]] = WeakSet()
_untouchable: list[Any] = []


class Held(Generic[C]):
    """A connection of one's own, as long as a block runs: ``with pool.using() as held``.

    A class, and no generator, as every call of a live experiment goes through here.
    """

    __slots__ = ("_places", "_pool", "_stay", "connection", "sound", "was_idle")

    connection: C
    was_idle: bool
    """Whether it was made for somebody before: then the other side may have gone away since."""

    def __init__(self, pool: Pool[C]) -> None:
        self._pool = pool

    def __enter__(self) -> Self:
        self._places = self._pool.places
        self.sound = False
        """Whether it is in order, outside any transaction; else it is closed."""
        # Python ends a generator that is dropped, so that no interrupt, wherever it falls, keeps a place.
        self._stay = staying(self._places, self._pool.wait)
        try:
            if not next(self._stay):
                raise StoreBusy(
                    f"other threads of this program have used the store for {self._pool.wait:g} s",
                    hint="try again",
                )
            self.connection, self.was_idle = self._pool.take()
            return self
        except BaseException:
            self._stay.close()
            raise

    def __exit__(self, *exception: object) -> None:
        try:
            self._give_back()
        finally:
            self._stay.close()

    def renew(self) -> None:
        """Put a new connection in the place of one that the other side has left."""
        self.sound = False
        self._give_back()
        self.connection, self.was_idle = self._pool.take()

    @property
    def is_inherited(self) -> bool:
        """Whether this process is a child of the one that connected: there the pool has begun anew."""
        return self._places is not self._pool.places

    def _give_back(self) -> None:
        if self.is_inherited:
            _untouchable.append(self.connection)
        else:
            self._pool.give(self.connection, self.sound)


def staying(places: Sequence[RLock], wait: float) -> Generator[bool, None, None]:
    """Have one of some places until the end: whether there was one in time.

    Places are locks of Python's own, which no interrupt leaves half-taken, and which know who has them, also
    where an interrupt falls between taking one and noting that.
    """
    until, place = time.monotonic() + wait, places[0]
    try:
        if len(places) == 1:
            yield place.acquire(timeout=wait)
            return
        while True:
            for place in places:
                if place.acquire(blocking=False):
                    yield True
                    return
            if time.monotonic() >= until:
                yield False
                return
            time.sleep(_LOOK)
    finally:
        # Not by suppress(): that is a call in which an interrupt could come before the release.
        try:  # noqa: SIM105
            place.release()
        except RuntimeError:
            pass  # it is not ours


class Pool(Generic[C]):
    """At most so many connections, made when they are needed and kept for the next user."""

    def __init__(
        self,
        connect: Callable[[], C],
        close: Callable[[C], object],
        *,
        most: int,
        wait: float,
        closes_before_forks: bool = False,
    ) -> None:
        self._connect, self._close, self._most = connect, close, most
        self.wait = wait
        """Seconds that are waited where all connections are taken."""
        self.closes_before_forks = closes_before_forks
        """Whether a fork waits until no other thread has a connection, and closes all of them."""
        self._closed = False
        self._start()
        _pools.add(self)

    def _start(self) -> None:
        self._idle: list[C] = []
        make = new_lock if self.closes_before_forks else RLock
        self.places = [make() for _ in range(self._most)]
        """One of them everybody takes before a connection."""

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


def _before_fork() -> None:
    for pool in list(_pools):
        if pool.closes_before_forks:
            pool.empty()


def _after_fork() -> None:
    for pool in _pools:
        pool.leave_to_parent()


before_forks(_before_fork)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
