"""How processes wait for SQLite's lock: served by who has it; else one of them near it, the others away.

What can be left to others is posted on a board (:mod:`equipoise.live.stores.board`), and waited for there.
The rest is for what cannot.

SQLite has no queue: who finds the lock taken must try again later. Where many processes write without a
pause, tries eat the processors, and a writer that is let in for a single commit must each time fold in first
what all the others have written. So a process that waits first takes the *seat* next to the lock, and
there reads what is new and tries for the lock; the others only look now and then whether the seat is free.
And whoever has just written itself leaves whoever writes now some time to go on, as that one knows all rows.

The seat is a ``flock`` on the write-ahead log, on which SQLite itself takes no locks: there is no other file
to find, to share and to remove. The system takes the seat from a process that dies. It only decides who tries
how often: who does not get it tries all the same now and then. So a seat that is never given back, or a
system without ``flock``, costs time and nothing else.
"""

from __future__ import annotations

import os
import random
import time

from equipoise.live.stores.store import Waiting

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_SHORTEST, _GROWTH, _LONGEST = 0.0002, 1.5, 0.002
"""Seconds between two tries in the seat: at first, how they grow, and at last."""
_JUST, _GO_ON = 0.05, 0.008
"""A process that has written less than so many seconds ago leaves whoever writes now so many to go on."""
_AWAY = 0.03
"""Seconds between two looks at the seat."""
_OLD = 0.25
"""Seconds of waiting after which looks are twice as frequent: nobody is to wait much longer than others."""
_ALL_THE_SAME = 1.0
"""Seconds after which a process that does not get the seat tries for the lock."""


class Seat:
    """The place next to the lock of a file, which one of those that wait has."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._file: int | None = None
        self._asked = False
        self.is_taken = False
        """Whether it is ours."""
        self.last = float("-inf")
        """When it was last left."""

    def take(self) -> bool:
        """Get it, unless another process has it; where there are no seats everybody has one."""
        self._asked = True  # before it is ours: an interrupt may come between
        try:
            if fcntl is not None:
                if self._file is None:
                    self._file = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            pass
        self.is_taken = True
        return True

    def leave(self) -> None:
        """Let another one have it: the lock is ours, or no longer wanted."""
        self.last = time.monotonic()
        if self._asked:
            if fcntl is not None and self._file is not None:
                fcntl.flock(self._file, fcntl.LOCK_UN)
            self._asked = self.is_taken = False

    def close(self) -> None:
        """Close its file, which none of SQLite's locks is on."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


class Patience:
    """Waits for other processes, a bounded time, and lets a Ctrl-C through: SQLite calls it when it is busy.

    It tries more and more seldom.
    """

    def __init__(self, wait: float) -> None:
        self._wait = wait
        self._began = 0.0
        self._pace = _SHORTEST
        self.seat: Seat | None = None
        """Where to wait for the lock for writing; None for all else."""
        self.waiting: Waiting | None = None
        """Who wants the lock for writing."""

    def __call__(self, tries: int) -> bool:
        """Whether to try once more."""
        now = time.monotonic()
        if tries == 0:
            self._began = now
            has_just_written = self.seat is not None and now - self.seat.last < _JUST
            self._pace = _GO_ON if has_just_written else _SHORTEST
        if now >= self._began + self._wait:
            return False
        if self.waiting is not None and self.waiting.can_be_served():
            if self.waiting.wait_for_others():
                return False
        elif self.seat is None or self.seat.is_taken:
            self._sleep(self._pace)
            self._pace = min(self._pace * _GROWTH, _LONGEST)
        else:
            self._find_seat(self.seat, now)
        if self.waiting is not None:
            self.waiting.prepare()  # before every try: whoever writes goes on writing
        return True

    def _find_seat(self, seat: Seat, now: float) -> None:
        until = now + _ALL_THE_SAME
        while not seat.take() and now < min(until, self._began + self._wait):
            self._sleep(_AWAY / (1 + (now - self._began) / _OLD))
            now = time.monotonic()

    def _sleep(self, seconds: float) -> None:
        left = self._began + self._wait - time.monotonic()
        time.sleep(max(min(random.uniform(0.5, 1.0) * seconds, left), 0.0))
