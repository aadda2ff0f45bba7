"""Memory that processes of one user on one machine share, with locks that go with the process that has them.

It is a file in the system's shared memory, which has room for all of it from the beginning: memory that is
not there when it is written to would end the process. The last one that has it open removes it, or who comes
next where all were killed. Locks are of single bytes of the file ("open file description" locks): the system
takes them from a process that dies, and a fork does not inherit them.
"""

from __future__ import annotations

import mmap
import os
import struct
import time
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

FOLDER = Path("/dev/shm")

_FLOCK = struct.Struct("hhqqi4x")
"""``struct flock`` of a system of 64 bits."""
_TRIES, _MOMENT = 20, 0.001
"""How often a file is opened that others take away just then, and seconds between."""


class SharedMemory:
    """A block of memory that is the same for all who open it by a key; OSError where that cannot be."""

    def __init__(self, key: str, size: int) -> None:
        if fcntl is None or not hasattr(fcntl, "F_OFD_SETLK") or struct.calcsize("P") != 8:
            raise OSError("this system has no locks that go with a process")
        _sweep()
        name = blake2b(key.encode(), digest_size=16).hexdigest()
        self.path = FOLDER / f"{_own_prefix()}{name}"
        self._file = _opened(self.path, size)
        try:
            self.map = mmap.mmap(self._file, size)
        except BaseException:
            os.close(self._file)
            raise
        self.is_open = True

    def lock(self, number: int) -> bool:
        """Get a lock unless somebody else has it; threads that share this object are not kept apart."""
        try:
            fcntl.fcntl(self._file, fcntl.F_OFD_SETLK, _byte(fcntl.F_WRLCK, number))
        except (OSError, ValueError):  # ValueError: it was closed
            return False
        return True

    def unlock(self, number: int) -> None:
        """Give a lock back."""
        with suppress(OSError, ValueError):
            fcntl.fcntl(self._file, fcntl.F_OFD_SETLK, _byte(fcntl.F_UNLCK, number))

    def is_locked(self, number: int) -> bool:
        """Whether somebody else has a lock."""
        found = fcntl.fcntl(self._file, fcntl.F_OFD_GETLK, _byte(fcntl.F_WRLCK, number))
        return bool(_FLOCK.unpack(found)[0] != fcntl.F_UNLCK)

    def close(self) -> None:
        """Leave; the last one takes the file away."""
        file = self._leave()
        with suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.path.unlink()
        os.close(file)

    def leave_to_parent(self) -> None:
        """In the child of a fork: leave everything as it is."""
        os.close(self._leave())  # the locks are on the file as the parent has it open

    def _leave(self) -> int:
        """Let go of all but the file, which is given back: its number may soon be another file's."""
        file, self._file, self.is_open = self._file, -1, False
        self.map.close()
        return file


def _opened(path: Path, size: int) -> int:
    """The file, which is there as long as somebody has it open."""
    for _ in range(_TRIES):
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            found = os.fstat(file)
            if found.st_uid != os.geteuid() or found.st_mode & 0o7777 != 0o600 or found.st_nlink > 1:
                raise OSError("the file is somebody else's")
            if _lock_shared(file):
                os.posix_fallocate(file, 0, size)
                with suppress(OSError):
                    if os.path.samestat(path.stat(), found):
                        return file
        except BaseException:
            os.close(file)
            raise
        os.close(file)  # the last one before takes it away just now
        time.sleep(_MOMENT)
    raise OSError("the file comes and goes")


def _lock_shared(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _sweep() -> None:
    """Take files away that nobody uses: all who did were killed."""
    for path in FOLDER.glob(f"{_own_prefix()}*"):
        with suppress(OSError):
            file = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink()
            finally:
                os.close(file)


def _own_prefix() -> str:
    return f"equipoise-{os.geteuid()}-"


def _byte(kind: int, number: int) -> bytes:
    return _FLOCK.pack(kind, os.SEEK_SET, number, 1, 0)
