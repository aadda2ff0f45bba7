"""A board on which processes of one machine leave requests for whichever of them has the store's lock.

Who finds the lock taken posts what it wants done. Whoever has the lock takes what is posted, does it together
with its own work, and after the commit writes the answer beside it and wakes the one who waits.

The board decides nothing. What is posted is looked at under the store's lock alone, and cleared when it is
taken, so that nobody takes it twice; who no longer wants it withdraws it, and is told if it was taken. A slot
is got under that lock, and is used again only when what was posted in it is answered or withdrawn, or by who
has had the lock since: until then somebody may be reading it. An answer is believed if it bears the token of
what was posted and its digest holds. Where none comes, because the one who took the request died, say, who
asked takes the lock, and looks in the log for what was done. So whatever happens to the board, nothing is
done twice or lost; it only saves time.

It is a file in the system's shared memory, for processes of one user and one version of this package. The
last one removes it, or who comes next where all were killed. What was asked and answered is overwritten with
zeros as soon as it is read.
"""

from __future__ import annotations

import mmap
import os
import socket
import struct
import threading
import time
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple, Self
from weakref import WeakSet

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

FOLDER = Path("/dev/shm")
TOKEN_BYTES = 16
SLOTS = 64
LONGEST_REQUEST, LONGEST_ANSWER = 3000, 5000
"""Bytes of what is asked, and of what is answered."""

_EXPERIMENT_BYTES, _DIGEST_BYTES, _ADDRESS_BYTES = 16, 8, 16
_REQUEST = struct.Struct(f"{TOKEN_BYTES}s{_EXPERIMENT_BYTES}sB{_ADDRESS_BYTES}sI{_DIGEST_BYTES}s")
_ANSWER = struct.Struct(f"{TOKEN_BYTES}sI{_DIGEST_BYTES}s")
_ANSWER_AT = _REQUEST.size + LONGEST_REQUEST
_SLOT_BYTES = -(-(_ANSWER_AT + _ANSWER.size + LONGEST_ANSWER) // mmap.PAGESIZE) * mmap.PAGESIZE
_SIZE = mmap.PAGESIZE + SLOTS * _SLOT_BYTES
_NOTHING = bytes(_SLOT_BYTES)
_POSTED = 1
_FLOCK = struct.Struct("hhqqi4x")
"""``struct flock`` of a system of 64 bits."""
_TRIES, _MOMENT = 20, 0.001
"""How often something is tried that others are about to finish; seconds between where that takes longer."""
_boards: WeakSet[Board] = WeakSet()


class Posted(NamedTuple):
    """What somebody wants done."""

    slot: int
    token: bytes
    data: bytes


class Board:
    """The board of one file; of every process that uses it one."""

    def __init__(self, key: str) -> None:
        name = blake2b(key.encode(), digest_size=16).hexdigest()
        self._path = FOLDER / f"{_own_prefix()}{name}"
        self._file = _opened(self._path)
        self._map = mmap.mmap(self._file, _SIZE)
        self._own: dict[int, Slot] = {}
        self._guard = threading.Lock()
        self._bell: socket.socket | None = None
        self.is_open = True
        """Whether it can be used; not after a fork, which opens one of its own."""
        _boards.add(self)

    @classmethod
    def offered(cls, key: str) -> Self | None:
        """The board of that key, or None where the system has none: then everybody waits for the lock."""
        if fcntl is None or not hasattr(fcntl, "F_OFD_SETLK") or struct.calcsize("P") != 8:
            return None
        try:
            _sweep()
            return cls(key)
        except (OSError, ValueError):
            return None  # no shared memory, no space in it, or a file that is not ours

    # For who asks

    def slot(self, experiment: str) -> Slot | None:
        """A slot of one's own, or None if all are taken; for whoever has the store's lock."""
        with self._guard:
            numbers = range(SLOTS) if self.is_open else ()
            for number in numbers:
                if number not in self._own and self._lock(number):
                    try:
                        self._own[number] = slot = Slot(self, number, experiment)
                    except OSError:
                        self._unlock(number)
                        return None
                    # What one who died has left; nobody else looks at it, as the store's lock is ours.
                    self._map[number] = 0
                    self._wipe(number)
                    return slot
        return None

    # For who has the store's lock

    def posted(self, experiment: str) -> list[Posted]:
        """What is posted about an experiment, each only once."""
        if _POSTED not in self._map[:SLOTS]:
            return []
        found, wanted = [], _name_of(experiment)
        for number in range(SLOTS):
            if self._map[number] != _POSTED:
                continue
            if not self._is_alive(number):
                if self._claim(number):
                    self._wipe(number)
                continue
            start = _start(number)
            if _REQUEST.unpack_from(self._map, start)[1] == wanted and self._claim(number):
                # Read only now: until it was ours it could be withdrawn, and something else posted.
                token, _, _, _, length, digest = _REQUEST.unpack_from(self._map, start)
                start += _REQUEST.size
                data = self._map[start : start + min(length, LONGEST_REQUEST)]
                if digest == _digest(token, data):
                    found.append(Posted(number, token, data))
        return found

    def answer(self, posted: Posted, data: bytes) -> None:
        """Answer what was taken, when it is committed; at most ``LONGEST_ANSWER`` bytes."""
        start = _start(posted.slot)
        token, _, length, address, _, _ = _REQUEST.unpack_from(self._map, start)
        if token != posted.token:
            return  # it is no longer waited for
        written = _ANSWER.pack(token, len(data), _digest(token, data)) + data
        place = start + _ANSWER_AT
        self._map[place : place + len(written)] = written
        if self._map[start : start + TOKEN_BYTES] != token == self._map[place : place + TOKEN_BYTES]:
            self._map[place : place + len(written)] = bytes(len(written))  # nobody waits any more
        if self._bell is None:
            self._bell = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            self._bell.setblocking(False)
        with suppress(OSError):  # who asked looks by itself after a while
            self._bell.sendto(b"!", address[:length])

    def clear_unused(self) -> None:
        """Leave nothing in slots that nobody has: some of those who had them were killed."""
        with self._guard:
            for number in range(SLOTS) if self.is_open else ():
                if number not in self._own and self._lock(number):
                    self._map[number] = 0
                    self._wipe(number)
                    self._unlock(number)

    # The end

    def close(self) -> None:
        """Leave; the last one takes the file away."""
        with self._guard:
            if not self.is_open:
                return
            for slot in self._own.values():
                slot.is_withdrawn = self._is_claimed(slot.number)
            file = self._leave()
            with suppress(OSError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self._path.unlink()
            os.close(file)

    def __del__(self) -> None:
        with suppress(Exception):
            self.close()

    def leave_to_parent(self) -> None:
        """In the child of a fork: what is the parent's stays the parent's."""
        self._guard = threading.Lock()
        if self.is_open:
            os.close(self._leave())  # the locks are on the file as the parent has it open

    def _leave(self) -> int:
        """Let go of all but the file, which is given back: its number may soon be another file's."""
        file, self._file, self.is_open = self._file, -1, False
        self._own = {}
        self._map.close()
        if self._bell is not None:
            self._bell.close()
        return file

    # Slots

    def _post(self, slot: Slot, token: bytes, data: bytes) -> None:
        start = _start(slot.number)
        head = _REQUEST.pack(
            token, slot.experiment, len(slot.address), slot.address, len(data), _digest(token, data)
        )
        self._map[start : start + len(head) + len(data)] = head + data
        self._map[slot.number] = _POSTED

    def _answered(self, slot: Slot, token: bytes) -> bytes | None:
        start = _start(slot.number) + _ANSWER_AT
        found, length, digest = _ANSWER.unpack_from(self._map, start)
        if found != token or length > LONGEST_ANSWER:
            return None
        start += _ANSWER.size
        data = self._map[start : start + length]
        return data if digest == _digest(token, data) else None

    def _claim(self, number: int) -> bool:
        """Clear what is posted; of those who want to, one is told that it has."""
        with self._guard:
            return self._is_claimed(number)

    def _is_claimed(self, number: int) -> bool:
        # Locks of one process do not keep its threads apart: the guard does.
        if not any(self._lock(SLOTS + number) for _ in range(_TRIES)):
            return False  # whoever has it was stopped in the middle
        try:
            was_posted = self._map[number] == _POSTED
            if was_posted:  # or something may have been posted since
                self._map[number] = 0
            return was_posted
        finally:
            self._unlock(SLOTS + number)

    def _wipe(self, number: int) -> None:
        start = _start(number)
        self._map[start : start + _SLOT_BYTES] = _NOTHING

    def _give_back(self, slot: Slot) -> None:
        with self._guard:
            if self.is_open and self._own.get(slot.number) is slot:
                slot.is_withdrawn = self._is_claimed(slot.number)
                self._wipe(slot.number)
                del self._own[slot.number]
                self._unlock(slot.number)

    def _lock(self, number: int) -> bool:
        try:
            fcntl.fcntl(self._file, fcntl.F_OFD_SETLK, _byte(fcntl.F_WRLCK, number))
        except OSError:
            return False
        return True

    def _unlock(self, number: int) -> None:
        with suppress(OSError):
            fcntl.fcntl(self._file, fcntl.F_OFD_SETLK, _byte(fcntl.F_UNLCK, number))

    def _is_alive(self, number: int) -> bool:
        """Whether whose slot it is still has it: the system takes it from who dies."""
        if number in self._own:
            return True
        found = fcntl.fcntl(self._file, fcntl.F_OFD_GETLK, _byte(fcntl.F_WRLCK, number))
        return bool(_FLOCK.unpack(found)[0] != fcntl.F_UNLCK)


class Slot:
    """A place on the board for one request at a time, and the bell of who waits for its answer."""

    def __init__(self, board: Board, number: int, experiment: str) -> None:
        self.number = number
        self.experiment = _name_of(experiment)
        self._board = board
        self._bell = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            self._bell.bind("")  # a name that the system chooses, which is no file
            self.address: bytes = self._bell.getsockname()
            if not 0 < len(self.address) <= _ADDRESS_BYTES:
                raise OSError("no name that others can call")
        except BaseException:
            self._bell.close()
            raise
        self.is_withdrawn = True
        """Whether what was last posted was withdrawn, and not taken."""

    @property
    def is_usable(self) -> bool:
        """Whether its board can be used."""
        return self._board.is_open

    def post(self, token: bytes, data: bytes) -> None:
        """Ask for something; at most ``LONGEST_REQUEST`` bytes."""
        self.is_withdrawn = False
        self._board._post(self, token, data)

    def wait(self, token: bytes, seconds: float) -> bytes | None:
        """The answer to what was posted; None if there is none within some time, or somebody rang idly."""
        data = self._board._answered(self, token)
        if data is None:
            self._bell.settimeout(seconds)
            with suppress(OSError):
                self._bell.recv(1)
            data = self._board._answered(self, token)
        return data

    def withdraw(self) -> bool:
        """Ask no longer; False if somebody has taken it, who may do it or have done it."""
        if self._board.is_open:
            self.is_withdrawn = self._board._claim(self.number)
        return self.is_withdrawn

    def clear(self) -> None:
        """Leave nothing of what was asked, when it is answered or withdrawn."""
        self._board._wipe(self.number)

    def close(self) -> None:
        """Give it back."""
        self._board._give_back(self)
        self._bell.close()

    def __del__(self) -> None:
        with suppress(Exception):
            self._bell.close()


def _opened(path: Path) -> int:
    """The file, which is there as long as somebody has it open."""
    for _ in range(_TRIES):
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            found = os.fstat(file)
            if found.st_uid != os.geteuid() or found.st_mode & 0o7777 != 0o600 or found.st_nlink > 1:
                raise OSError("the file is somebody else's")
            if _is_shared(file):
                os.posix_fallocate(file, 0, _SIZE)  # memory that is not there would end the process later
                with suppress(OSError):
                    if os.path.samestat(path.stat(), found):
                        return file
        except BaseException:
            os.close(file)
            raise
        os.close(file)  # the last one before takes it away just now
        time.sleep(_MOMENT)
    raise OSError("the file comes and goes")


def _is_shared(file: int) -> bool:
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


def _start(slot: int) -> int:
    return mmap.PAGESIZE + slot * _SLOT_BYTES


def _name_of(experiment: str) -> bytes:
    return blake2b(experiment.encode(), digest_size=_EXPERIMENT_BYTES).digest()


def _digest(token: bytes, data: bytes) -> bytes:
    return blake2b(data, digest_size=_DIGEST_BYTES, key=token).digest()


def _byte(kind: int, number: int) -> bytes:
    return _FLOCK.pack(kind, os.SEEK_SET, number, 1, 0)


def _after_fork() -> None:
    for board in list(_boards):
        board.leave_to_parent()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
