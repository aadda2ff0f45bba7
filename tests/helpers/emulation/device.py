"""What the lab takes for a GPU: its memory is this process's."""

from __future__ import annotations

import ctypes
import json
from contextlib import ExitStack, contextmanager
from functools import cache
from unittest import mock

import numpy as np

from emulation.programs import EmulatedProgram
from equipoise.core.jit.nvptx import lowered
from equipoise.lab.gpu import ahead, bench, offers


@contextmanager
def emulated_gpu(*, lot=1, shared_bytes=232_448):
    """Let ``device="cuda"`` be an emulated GPU, whose threads take turns as a lot decides."""
    device = EmulatedDevice(lot, shared_bytes)
    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(bench, "to_ptx", _text_of))
        stack.enter_context(mock.patch.dict(bench._PROGRAMS, clear=True))
        for module in (ahead, bench, offers):
            stack.enter_context(mock.patch.object(module, "open_device", return_value=device))
        yield device


def _text_of(function, words, target, **options):
    """What stands for a program's assembly language: that of LLVM."""
    return json.dumps(lowered(function, words))


class EmulatedDevice:
    """A GPU of one processor."""

    name, target, description = "emulated", "sm_90", "emulated"
    capability, processors = (9, 0), 1

    def __init__(self, lot, shared_bytes):
        self._lot = lot
        self.shared_bytes = shared_bytes

    def use(self):
        """There is no other."""

    def free_bytes(self):
        """Enough for some trials."""
        return 2**28

    def allocate(self, size):
        """Memory, with anything in it."""
        return EmulatedBuffer(size)

    def upload(self, array):
        """A copy of an array."""
        buffer = self.allocate(array.nbytes)
        buffer.write(array)
        return buffer

    def assemble(self, text):
        """What is kept of a program."""
        return text.encode()

    def load(self, code):
        """A program whose threads take turns as this device's do."""
        return _Launcher(_compiled(code), self._lot)


@cache
def _compiled(code):
    return EmulatedProgram(*json.loads(code))


class _Launcher:
    def __init__(self, program, lot):
        self._program, self._lot = program, lot

    def launch(self, *arguments):
        return self._program.launch(*arguments, lot=self._lot)


class EmulatedBuffer:
    """Memory that begins with nonsense, as that of a GPU."""

    def __init__(self, size):
        self._bytes = np.full(max(int(size), 32), 0xA5, np.uint8)
        self.address = self._bytes.ctypes.data

    def write(self, array):
        """Copy an array there."""
        values = np.ascontiguousarray(array)
        ctypes.memmove(self.address, values.ctypes.data, values.nbytes)

    def read(self, array):
        """Fill an array from there."""
        ctypes.memmove(array.ctypes.data, self.address, array.nbytes)

    def repeat(self, array, times, stride):
        """Write an array many times, ``stride`` bytes apart."""
        one = np.zeros(stride, np.uint8)
        one[: array.nbytes] = np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8)
        self.write(np.tile(one, times))
