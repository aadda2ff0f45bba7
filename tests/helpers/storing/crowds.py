"""Experiments that leave requests to each other.

Two stores on one file stand for two processes: they share nothing but the file and the board.
"""

from __future__ import annotations

import threading
import time
from collections import Counter

import pytest

from equipoise.live.stores.board import _POSTED as POSTED
from equipoise.live.stores.board import SLOTS, Board

needs_boards = pytest.mark.skipif(
    Board.offered("any") is None, reason="this system has no memory that processes can share"
)


def crowd(live):
    """As if the experiment had found the lock taken before, so that it leaves to others what it can."""
    errands = live._ledger._errands
    errands._wants_slot = True
    live.note("a slot is got under the lock")
    assert errands._slot is not None
    errands.is_crowded = True
    return errands


class Called:
    """What a call in a thread comes to."""

    def __init__(self, act):
        self._act, self._value, self._error = act, None, None
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self):
        try:
            self._value = self._act()
        except BaseException as error:
            self._error = error

    def get(self):
        self._thread.join(60)
        assert not self._thread.is_alive()
        if self._error is not None:
            raise self._error
        return self._value


def posted(live):
    """Wait until something is posted."""
    board = live.store.board()
    for _ in range(60_000):
        if POSTED in board._map[:SLOTS]:
            return
        time.sleep(0.001)
    raise AssertionError("nothing was posted")


def kinds(live):
    return Counter(entry.kind for entry in live.log())


class Interrupted(BaseException):
    pass


def served_together(leader, follower, acts):
    """What acts of threads of the follower come to that find each other waiting, while the leader writes."""
    combiner, errands = follower._ledger.combiner, follower._ledger._errands
    errands.is_crowded = False
    with follower._lock:
        calls = [Called(act) for act in acts]
        while len(combiner._waiting) < len(calls):
            time.sleep(0.001)
        errands.is_crowded = True
    until = time.monotonic() + 60
    while any(call._thread.is_alive() for call in calls):
        assert time.monotonic() < until
        leader.note("here I am")
        time.sleep(0.002)
    return [call.get() for call in calls]
