"""A store in memory that fails in the moment of storing."""

from __future__ import annotations

from contextlib import contextmanager

from equipoise.errors import CommitUnknown, StoreFull, StoreUnavailable
from equipoise.live.stores.memory import MemoryStore

FAULTS = {
    "lost on the way there": (CommitUnknown, False),
    "lost on the way back": (CommitUnknown, True),
    "cannot be reached": (StoreUnavailable, False),
    "full": (StoreFull, False),
    "interrupted before": (KeyboardInterrupt, False),
    "interrupted after": (KeyboardInterrupt, True),
}


class FaultyStore(MemoryStore):
    """A store in memory that fails in the moment of storing: before it is done, or after.

    Goes through ``faults``, one a commit; "" is none. All commits after them succeed.
    """

    def __init__(self):
        super().__init__(wait=5.0)
        self.faults = []
        self.commits = 0

    @contextmanager
    def writing(self, name, waiting=None):
        fault = self.faults.pop(0) if self.faults else ""
        kind, stored = FAULTS.get(fault, (None, True))
        if stored:
            with super().writing(name) as writer:
                yield writer
        else:
            try:
                with super().writing(name) as writer:
                    yield writer
                    raise _Undone
            except _Undone:
                pass
        self.commits += 1
        if kind is not None:
            raise kind(fault) if kind is KeyboardInterrupt else kind(fault, hint="try again")


class _Undone(Exception):
    """Leaves the block without storing."""
