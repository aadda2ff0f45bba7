"""Locks that signals, exceptions and forks leave as they should be.

``with lock:`` enters and leaves in one step of the interpreter each, so an interrupt finds the lock either
not taken yet, or taken and about to be given back. A fork copies memory as it is: before one, the thread
that forks takes every lock, first those that are held while others are taken, so that no other thread is in
the middle of a change, and both processes give them back. Of the others a thread may have one and wait for
another, in any order, as who copies from one store to another does: so these are all given back, and taken
again, where one is not to be had soon. What must not be open in two processes is closed meanwhile
(:func:`before_forks`).
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable
from itertools import compress, repeat, starmap, takewhile
from operator import methodcaller
from typing import Any
from weakref import WeakValueDictionary

# In the order in which they were made, so that two threads that fork do not wait for each other.
_outer: WeakValueDictionary[int, Any] = WeakValueDictionary()
_inner: WeakValueDictionary[int, Any] = WeakValueDictionary()
_SOON = 0.1
"""Seconds that who has some locks waits for the next."""
_acquire, _release = methodcaller("acquire"), methodcaller("release")
_acquire_soon = methodcaller("acquire", timeout=_SOON)
_before: list[Callable[[], object]] = []


def new_lock(*, outer: bool = False) -> Any:
    """A lock that the thread that has it may take again, and that no fork leaves behind.

    ``outer`` is one that is held while others are taken; who forks takes it before them, as everybody does.
    """
    lock = threading.RLock()
    (_outer if outer else _inner)[id(lock)] = lock
    return lock


def before_forks(act: Callable[[], object]) -> None:
    """Have something done before every fork, while no other thread has any of these locks."""
    _before.append(act)


class _Taken(threading.local):
    """The locks that this thread has taken to fork."""

    def __init__(self) -> None:
        self.locks: list[Any] = []


_taken = _Taken()


def _before_fork() -> None:
    _taken.locks.clear()
    _take(_living(_outer), _acquire)
    while True:
        locks = _living(_inner)
        taken = _take(locks, _acquire_soon)
        if taken == len(locks):
            break
        _give_back(taken)
        with locks[taken]:
            pass
    for act in _before:
        act()


def _living(locks: WeakValueDictionary[int, Any]) -> list[Any]:
    return [lock for lock in (reference() for reference in locks.valuerefs()) if lock is not None]


def _take(locks: list[Any], acquire: Callable[[Any], bool]) -> int:
    """Take locks up to the first that is not to be had: how many."""
    before = len(_taken.locks)
    # Without a step of the interpreter between taking a lock and noting it, where an interrupt could fall.
    _taken.locks.extend(compress(locks, takewhile(bool, map(acquire, locks))))
    return len(_taken.locks) - before


def _give_back(count: int) -> None:
    """Give the last ones back, without such a step either."""
    deque(map(_release, starmap(_taken.locks.pop, repeat((), count))), maxlen=0)


def _after_fork() -> None:
    _give_back(len(_taken.locks))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
