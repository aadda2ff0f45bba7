"""What a thread does while it waits for another writer, in stores that can let it.

Under a store's lock nobody else can write. So whoever waits for it should do beforehand what needs no lock.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class _Own(threading.local):
    act: Callable[[], int] | None = None


_own = _Own()


@contextmanager
def meanwhile(act: Callable[[], int]) -> Iterator[None]:
    """Let this thread do something from time to time while it waits for a store's lock inside the block.

    ``act`` tells how much there was to do.
    """
    before, _own.act = _own.act, act
    try:
        yield
    finally:
        _own.act = before


def pass_time() -> int:
    """Called by stores while a thread waits: do what it has to do meanwhile, and tell how much that was."""
    act, _own.act = _own.act, None  # which may wait for something itself
    try:
        return 0 if act is None else act()
    finally:
        _own.act = act
