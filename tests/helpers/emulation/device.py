"""What the lab takes for a GPU: its memory is this process's."""

from __future__ import annotations

import ctypes
from contextlib import ExitStack, contextmanager
from unittest import mock

import numpy as np

from emulation.programs import EmulatedProgram
from equipoise.lab.gpu import bench, kept, offers
from equipoise.lab.gpu.ahead import rounds

_ALIGNED = 256
"""Where a driver lets memory begin: multiples of so many bytes."""


@contextmanager
def emulated_gpu(*, lot=1, own_ways=False, shared_bytes=232_448, counted=False):
    """Let ``device="cuda"`` be an emulated GPU, whose threads take turns as a lot decides."""
    device = EmulatedDevice(lot, own_ways, shared_bytes, counted=counted)
    with ExitStack() as stack:
        stack.enter_context(mock.patch.dict(kept.PROGRAMS, clear=True))
        for module in (bench, offers, rounds):
            stack.enter_context(mock.patch.object(module, "open_device", return_value=device))
        yield device


class EmulatedDevice:
    """A GPU of one processor."""

    name, target, description = "emulated", "sm_90", "emulated"
    capability, processors = (9, 0), 1

    def __init__(self, lot, own_ways, shared_bytes, *, counted=False):
        self._how = {"lot": lot, "own_ways": own_ways}
        self.shared_bytes, self._counted = shared_bytes, counted
        self.programs = []
        """All that it has loaded, one after the other."""

    def use(self):
        """There is no other."""

    def free_bytes(self):
        """Enough for some trials."""
        return 2**34

    def allocate(self, size):
        """Memory, with anything in it."""
        return EmulatedBuffer(size)

    def upload(self, array):
        """A copy of an array."""
        buffer = self.allocate(array.nbytes)
        buffer.write(array)
        return buffer

    def assemble(self, ptx):
        """What is kept of a program."""
        return ptx.encode()

    def load(self, code):
        """A program whose threads take turns as this device's do."""
        self.programs.append(EmulatedProgram(code.decode(), counted=self._counted))
        return _Launcher(self.programs[-1], self._how)


class _Launcher:
    def __init__(self, program, how):
        self._program, self._how = program, how

    def launch(self, *arguments):
        return self._program.launch(*arguments, **self._how)


class EmulatedBuffer:
    """Memory that begins with nonsense, as that of a GPU."""

    def __init__(self, size):
        self.size = max(int(size), 32)
        self._bytes = np.full(self.size + _ALIGNED, 0xA5, np.uint8)
        self.address = -(-self._bytes.ctypes.data // _ALIGNED) * _ALIGNED

    def free(self):
        """Give it back."""
        self._bytes = None

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
