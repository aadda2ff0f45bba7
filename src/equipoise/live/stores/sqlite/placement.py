"""Whether files are still where they were opened, at the price of one look at their folder.

What is committed to a file that was removed is lost, so this is asked before every commit. The folder answers
it: its times change when anything in it is removed, renamed or put there. The files themselves are looked for
only when it has changed, and not by ``stat`` where that can be avoided: whoever asks Linux (from 6.13) when a
file was last written makes its next write note the time exactly, and the sync after it waits for that, too.
There the system is asked what a file that is held open is called now. What the folder does not know of is not
noticed: a file that is mounted over one of them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

Place = tuple[int, int]

_SETTLED = 100_000_000
"""Nanoseconds after which a second change cannot bear the time of the first: the clock that folders are
stamped by ticks every few milliseconds. Where it has whole seconds alone it is never relied on."""
_SECOND = 1_000_000_000


def place_of(path: str | Path) -> Place | None:
    """Which file is there: another one under the same name has another place."""
    try:
        return _place(os.stat(path))  # noqa: PTH116
    except OSError:
        return None


def _place(found: os.stat_result) -> Place:
    return found.st_dev, found.st_ino


class Placement:
    """Files of one folder, each with the place that it must keep."""

    def __init__(self, folder: str | Path, files: Sequence[tuple[str, Place]]) -> None:
        self._folder = str(folder)
        self._files = [_PlacedFile(path, place) for path, place in files]
        self._known: tuple[int, ...] | None = None
        """The folder when all files were last found in it; None: it may have changed since, unnoticed."""

    def holds(self) -> bool:
        """Whether all files are where they were."""
        try:
            found = os.stat(self._folder)  # noqa: PTH116 - in every commit
        except OSError:
            return False
        folder = found.st_ino, found.st_dev, found.st_mtime_ns, found.st_ctime_ns
        if folder == self._known:
            return True
        if not all(file.is_in_place() for file in self._files):
            self._known = None
            return False
        self._known = folder if _is_settled(max(found.st_mtime_ns, found.st_ctime_ns)) else None
        return True

    def close(self) -> None:
        """Let go of the files."""
        for file in self._files:
            file.close()


class _PlacedFile:
    """A file, held open where the system then says what it is called."""

    def __init__(self, path: str, place: Place) -> None:
        self._path, self._place = path, place
        self._descriptor: int | None = None
        self._name: str | None = None
        """What the system calls the open file; None where it does not say."""
        with suppress(OSError, AttributeError):  # AttributeError: a system without O_PATH
            # O_PATH: closing it leaves the locks alone that SQLite has on the same file in this process.
            self._descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
            self._link = f"/proc/self/fd/{self._descriptor}"
            name = os.readlink(self._link)  # noqa: PTH115
            if _place(os.fstat(self._descriptor)) == place == place_of(path):
                self._name = name

    def is_in_place(self) -> bool:
        with suppress(OSError):
            if self._name is not None and os.readlink(self._link) == self._name:  # noqa: PTH115
                return True
        return place_of(self._path) == self._place  # also where a folder was moved and a link put there

    def close(self) -> None:
        descriptor, self._descriptor, self._name = self._descriptor, None, None
        if descriptor is not None:
            os.close(descriptor)


def _is_settled(changed: int) -> bool:
    return changed % _SECOND != 0 and time.time_ns() - changed > _SETTLED
