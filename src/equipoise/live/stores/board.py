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

What was asked and answered is overwritten with zeros when that is settled: when the answer is read, or the
request withdrawn, or the slot given back.
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
from typing import NamedTuple, Self
from weakref import WeakSet

from equipoise.live.stores.shared_memory import SharedMemory

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
_TRIES = 20
"""How often something is tried that others are about to finish."""
_boards: WeakSet[Board] = WeakSet()


class Posted(NamedTuple):
    """What somebody wants done."""

    slot: int
    token: bytes
    data: bytes


class Board:
    """The board of one file; of every process that uses it one."""

    def __init__(self, key: str) -> None:
        self._memory = SharedMemory(key, _SIZE)
        self._map = self._memory.map
        self._own: dict[int, Slot] = {}
        self._guard = threading.Lock()
        self._bell = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._bell.setblocking(False)
        _boards.add(self)

    @classmethod
    def offered(cls, key: str) -> Self | None:
        """The board of that key, or None where the system has none: then everybody waits for the lock."""
        try:
            return cls(key)
        except (OSError, ValueError):
            return None  # no shared memory, no space in it, or a file that is not ours

    @property
    def is_open(self) -> bool:
        """Whether it can be used; not after a fork, which opens one of its own."""
        return self._memory.is_open

    # For who asks

    def slot(self, experiment: str) -> Slot | None:
        """A slot of one's own, or None if all are taken; for whoever has the store's lock."""
        with self._guard:
            numbers = range(SLOTS) if self.is_open else ()
            for number in numbers:
                if number not in self._own and self._memory.lock(number):
                    try:
                        self._own[number] = slot = Slot(self, number, experiment)
                    except OSError:
                        self._memory.unlock(number)
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
        is_wanted = self._map[start : start + TOKEN_BYTES] == token
        is_there = self._map[place : place + TOKEN_BYTES] == token
        if is_there and not is_wanted:
            self._map[place : place + len(written)] = bytes(len(written))  # nobody waits any more
        with suppress(OSError):  # who asked looks by itself after a while
            self._bell.sendto(b"!", address[:length])

    def clear_unused(self) -> None:
        """Leave nothing in slots that nobody has: some of those who had them were killed.

        What the dead have posted is left to who has the store's lock: while it is cleared here, it would look
        like something that is still wanted.
        """
        with self._guard:
            for number in range(SLOTS) if self.is_open else ():
                if number not in self._own and not self._map[number] and self._memory.lock(number):
                    self._wipe(number)
                    self._memory.unlock(number)

    # The end

    def close(self) -> None:
        """Leave; the last one takes the file away."""
        with self._guard:
            if self.is_open:
                for slot in self._own.values():
                    slot.is_withdrawn = self._claim_guarded(slot.number)
                    self._wipe(slot.number)
                self._own = {}
                self._bell.close()
                self._memory.close()

    def __del__(self) -> None:
        with suppress(Exception):
            self.close()

    def leave_to_parent(self) -> None:
        """In the child of a fork: what is the parent's stays the parent's."""
        self._guard = threading.Lock()
        if self.is_open:
            self._own = {}
            self._bell.close()
            self._memory.leave_to_parent()

    # Slots

    def _post(self, slot: Slot, token: bytes, data: bytes) -> None:
        head = _REQUEST.pack(
            token, slot.experiment, len(slot.address), slot.address, len(data), _digest(token, data)
        )
        start = _start(slot.number)
        with self._guard:
            slot.is_withdrawn = not self._has(slot)
            if not slot.is_withdrawn:
                self._map[start : start + len(head) + len(data)] = head + data
                self._map[slot.number] = _POSTED

    def _is_posted(self, slot: Slot) -> bool:
        with self._guard:
            return self._has(slot) and self._map[slot.number] == _POSTED

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
            return self._claim_guarded(number)

    def _claim_guarded(self, number: int) -> bool:
        # Locks of one process do not keep its threads apart: the guard does.
        if not any(self._memory.lock(SLOTS + number) for _ in range(_TRIES)):
            return False  # whoever has it was stopped in the middle
        try:
            was_posted = self._map[number] == _POSTED
            if was_posted:  # or something may have been posted since
                self._map[number] = 0
            return was_posted
        finally:
            self._memory.unlock(SLOTS + number)

    def _wipe(self, number: int) -> None:
        start = _start(number)
        self._map[start : start + _SLOT_BYTES] = _NOTHING

    def _has(self, slot: Slot) -> bool:
        """Whether a slot is still its owner's; for who has the guard."""
        return self.is_open and self._own.get(slot.number) is slot

    def _withdraw(self, slot: Slot) -> None:
        with self._guard:
            if self._has(slot):
                slot.is_withdrawn = self._claim_guarded(slot.number)

    def _clear(self, slot: Slot) -> None:
        with self._guard:
            if self._has(slot):
                self._wipe(slot.number)

    def _give_back(self, slot: Slot) -> None:
        with self._guard:
            if self._has(slot):
                slot.is_withdrawn = self._claim_guarded(slot.number)
                self._wipe(slot.number)
                del self._own[slot.number]
                self._memory.unlock(slot.number)

    def _is_alive(self, number: int) -> bool:
        """Whether whose slot it is still has it: the system takes it from who dies."""
        return number in self._own or self._memory.is_locked(number)


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
        """Whether it is still ours, on a board that can be used."""
        return self._board._has(self)

    def post(self, token: bytes, data: bytes) -> None:
        """Ask for something; at most ``LONGEST_REQUEST`` bytes."""
        self._board._post(self, token, data)

    def wait(self, token: bytes, seconds: float) -> bytes | None:
        """The answer to what was posted; None if there is none within some time."""
        until = time.monotonic() + seconds
        while (data := self._board._answered(self, token)) is None:
            left = until - time.monotonic()
            if left <= 0.0:
                return None
            self._bell.settimeout(left)
            with suppress(TimeoutError):
                self._bell.recv(1)  # it may have rung for an answer that was read before
        return data

    @property
    def is_posted(self) -> bool:
        """Whether nobody has taken yet what was posted."""
        return self._board._is_posted(self)

    def withdraw(self) -> bool:
        """Ask no longer; False if somebody has taken it, who may do it or have done it."""
        self._board._withdraw(self)  # where it is no longer ours, closing has done it
        return self.is_withdrawn

    def clear(self) -> None:
        """Leave nothing of what was asked, when it is answered or withdrawn."""
        self._board._clear(self)

    def close(self) -> None:
        """Give it back."""
        self._board._give_back(self)
        self._bell.close()

    def __del__(self) -> None:
        with suppress(Exception):
            self._bell.close()


def _start(slot: int) -> int:
    return mmap.PAGESIZE + slot * _SLOT_BYTES


def _name_of(experiment: str) -> bytes:
    return blake2b(experiment.encode(), digest_size=_EXPERIMENT_BYTES).digest()


def _digest(token: bytes, data: bytes) -> bytes:
    return blake2b(data, digest_size=_DIGEST_BYTES, key=token).digest()


def _after_fork() -> None:
    for board in list(_boards):
        board.leave_to_parent()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
