"""The GPU: its memory, its programs and its errors, through NVIDIA's driver."""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from equipoise.errors import DeviceUnavailable

_OLDEST = (7, 0)
"""Compute capability from which threads of a warp may go their own ways."""
_BROKEN = frozenset(
    f"CUDA_ERROR_{name}"
    for name in (
        *("ECC_UNCORRECTABLE", "NVLINK_UNCORRECTABLE", "CONTAINED", "ILLEGAL_ADDRESS", "LAUNCH_TIMEOUT"),
        *("ASSERT", "HARDWARE_STACK_ERROR", "ILLEGAL_INSTRUCTION", "MISALIGNED_ADDRESS"),
        *("INVALID_ADDRESS_SPACE", "INVALID_PC", "LAUNCH_FAILED", "EXTERNAL_DEVICE"),
    )
)
"""After one of these, all that this process asks of the GPU fails in the same way."""
_REFUSALS = frozenset(
    f"CUDA_ERROR_{name}"
    for name in (
        *("INVALID_IMAGE", "NO_BINARY_FOR_GPU", "INVALID_SOURCE", "NOT_FOUND", "INVALID_PTX"),
        *("UNSUPPORTED_PTX_VERSION", "INSUFFICIENT_LOADER_VERSION"),
    )
)
"""What is said of machine code that is damaged, or another driver's."""


class CodeRefused(DeviceUnavailable):
    """Machine code that the driver does not load."""


def devices() -> int:
    """How many GPUs there are; 0 where there is no driver for them."""
    try:
        return int(_call("cuDeviceGetCount"))
    except DeviceUnavailable:
        return 0


@cache
def open_device(number: int = 0) -> Device:
    """A GPU of this machine, by its number."""
    return Device(number)


class Device:
    """One GPU, and this process's context on it."""

    def __init__(self, number: int) -> None:
        count = int(_call("cuDeviceGetCount"))
        if number >= count:
            raise DeviceUnavailable(
                f"there is no GPU number {number}: this machine has {count or 'none'}",
                hint="use device='cpu', or a machine with an NVIDIA GPU",
            )
        self._device = _call("cuDeviceGet", number)
        name = _call("cuDeviceGetName", 256, self._device)
        self.name = name.split(b"\0")[0].decode()
        self.capability = (
            self._attribute("COMPUTE_CAPABILITY_MAJOR"),
            self._attribute("COMPUTE_CAPABILITY_MINOR"),
        )
        if self.capability < _OLDEST:
            raise DeviceUnavailable(
                f"{self.name} is too old: it has compute capability {'.'.join(map(str, self.capability))}, "
                f"and {'.'.join(map(str, _OLDEST))} is needed",
                hint="use device='cpu'",
            )
        self.processors = self._attribute("MULTIPROCESSOR_COUNT")
        self.shared_bytes = self._attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN")
        self._context = _call("cuDevicePrimaryCtxRetain", self._device)

    @property
    def target(self) -> str:
        """What programs are compiled for."""
        return f"sm_{self.capability[0]}{self.capability[1]}"

    def use(self) -> None:
        """Let this thread's calls go to this GPU."""
        _call("cuCtxSetCurrent", self._context)

    def free_bytes(self) -> int:
        """Memory that nobody uses."""
        self.use()
        free, _ = _call("cuMemGetInfo")
        return int(free)

    def allocate(self, size: int) -> Buffer:
        """Memory, with anything in it."""
        self.use()
        return Buffer(size, self._context)

    def upload(self, array: Any) -> Buffer:
        """A copy of an array."""
        buffer = self.allocate(array.nbytes)
        buffer.write(array)
        return buffer

    @property
    def description(self) -> str:
        """What machine code depends on."""
        return f"{self.name}, {self.target}, driver {_call('cuDriverGetVersion')}"

    def assemble(self, ptx: str) -> bytes:
        """Machine code, made by the driver."""
        import ctypes

        self.use()
        data, kind = ptx.encode() + b"\0", _driver().CUjitInputType.CU_JIT_INPUT_PTX
        linking = _call("cuLinkCreate", 0, [], [])
        try:
            _call("cuLinkAddData", linking, kind, data, len(data), b"program", 0, [], [])
            address, size = _call("cuLinkComplete", linking)
            return ctypes.string_at(int(address), size)
        finally:
            _driver().cuLinkDestroy(linking)  # in a GPU that is broken it fails, too, and says nothing new

    def load(self, machine_code: bytes) -> Program:
        """A program of such machine code."""
        self.use()
        return Program(machine_code)

    def _attribute(self, name: str) -> int:
        attributes = _driver().CUdevice_attribute
        return int(
            _call("cuDeviceGetAttribute", getattr(attributes, f"CU_DEVICE_ATTRIBUTE_{name}"), self._device)
        )


class Buffer:
    """Memory of a GPU, which is given back when nobody has it any more, or somebody says so."""

    def __init__(self, size: int, context: Any) -> None:
        self.size = max(int(size), 32)
        pointer = _call("cuMemAlloc", self.size)
        self.address = int(pointer)
        self._give_back = weakref.finalize(self, _free, context, pointer)

    def free(self) -> None:
        """Give it back now; once more does nothing."""
        self._give_back()

    def write(self, array: Any, at: int = 0) -> None:
        """Copy an array there."""
        if array.nbytes:
            values = np.ascontiguousarray(array)
            _call("cuMemcpyHtoD", self.address + at, values.ctypes.data, values.nbytes)

    def read(self, array: Any) -> None:
        """Fill an array from there."""
        if array.nbytes:
            assert array.flags.c_contiguous
            _call("cuMemcpyDtoH", array.ctypes.data, self.address, array.nbytes)

    def repeat(self, array: Any, times: int, stride: int) -> None:
        """Write an array many times, ``stride`` bytes apart."""
        if not array.nbytes:
            return
        one = np.zeros(stride, np.uint8)
        one[: array.nbytes] = np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8)
        done = min(times, max(1, 2**16 // stride))
        self.write(np.tile(one, done))
        while done < times:
            more = min(done, times - done)
            _call("cuMemcpyDtoD", self.address + done * stride, self.address, more * stride)
            done += more


class Program:
    """A kernel in the memory of a GPU."""

    def __init__(self, machine_code: bytes) -> None:
        from equipoise.core.jit.nvptx import ENTRY, TABLE

        self._module = _call("cuModuleLoadData", machine_code)
        try:
            self._function = _call("cuModuleGetFunction", self._module, ENTRY.encode())
            self._table, self._room = _call("cuModuleGetGlobal", self._module, TABLE.encode())
        except DeviceUnavailable:
            _driver().cuModuleUnload(self._module)
            raise

    def launch(
        self, table: npt.NDArray[np.int64], blocks: int, threads: int, shared: int, words: Sequence[int]
    ) -> float:
        """Run it with a table and some whole numbers, wait for its end, and give the milliseconds it took."""
        import ctypes

        driver = _driver()
        assert table.nbytes <= self._room
        _call("cuMemcpyHtoD", self._table, table.ctypes.data, table.nbytes)
        if shared:
            limit = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            _call("cuFuncSetAttribute", self._function, limit, shared)
        arguments = tuple(int(word) for word in words), (ctypes.c_int64,) * len(words)
        with _event() as begin, _event() as end:
            _call("cuEventRecord", begin, 0)
            _call("cuLaunchKernel", self._function, blocks, 1, 1, threads, 1, 1, shared, 0, arguments, 0)
            _call("cuEventRecord", end, 0)
            _call("cuEventSynchronize", end)
            return float(_call("cuEventElapsedTime", begin, end))


@contextmanager
def _event() -> Iterator[Any]:
    """A mark in the order of what a GPU does."""
    event = _call("cuEventCreate", 0)
    try:
        yield event
    finally:
        _driver().cuEventDestroy(event)  # what went wrong before is what is said


@cache
def _driver() -> Any:
    """NVIDIA's driver, ready, for this process and none that is forked from it."""
    try:
        from cuda.bindings import driver
    except ImportError as error:
        raise DeviceUnavailable(
            "a GPU needs the package cuda-bindings", hint="pip install 'equipoise[gpu]'"
        ) from error
    try:
        (status,) = driver.cuInit(0)
    except Exception as error:  # whatever it stumbles over where there is no driver
        raise DeviceUnavailable(
            f"there is no NVIDIA driver here: {error}", hint="use device='cpu', or install NVIDIA's driver"
        ) from error
    if status != driver.CUresult.CUDA_SUCCESS:
        raise DeviceUnavailable(
            f"NVIDIA's driver does not start: {status.name}", hint="use device='cpu'; nvidia-smi says more"
        )
    _process()
    return driver


@cache
def _process() -> int:
    """The process that the driver was started in."""
    return os.getpid()


def _call(name: str, *arguments: Any) -> Any:
    """What a function of the driver gives; an error of ours if it fails."""
    driver = _driver()
    if os.getpid() != _process():
        raise DeviceUnavailable(
            "this process was forked from one that uses the GPU, and cannot use it",
            hint="start processes by 'spawn', or use device='cpu' there",
        )
    status, *found = getattr(driver, name)(*arguments)
    if status == driver.CUresult.CUDA_SUCCESS:
        return found[0] if len(found) == 1 else tuple(found)
    raise _failure(name, status.name)


def _failure(name: str, status: str) -> DeviceUnavailable:
    """What is said where a function of the driver fails."""
    what = f"the GPU failed: {name} says {status}"
    if status == "CUDA_ERROR_OUT_OF_MEMORY":
        return DeviceUnavailable(
            "the GPU's memory is full", hint="others may use it: see nvidia-smi; or use device='cpu'"
        )
    if status in _BROKEN:
        return DeviceUnavailable(
            what,
            hint="this process cannot use the GPU any more: start it again; with checkpoint= the run goes on "
            "where it stopped; or use device='cpu'",
        )
    kind = CodeRefused if status in _REFUSALS else DeviceUnavailable
    return kind(what, hint="use device='cpu'; nvidia-smi may say more")


def _free(context: Any, pointer: Any) -> None:
    """Give memory back, in whatever thread the garbage is found, or when the interpreter ends.

    Nobody can be told if that fails: then the driver has taken it back already, or will with the process.
    """
    if os.getpid() != _process():
        return
    with suppress(Exception):
        driver = _driver()
        (status,) = driver.cuCtxPushCurrent(context)
        if status == driver.CUresult.CUDA_SUCCESS:
            try:
                driver.cuMemFree(pointer)
            finally:
                driver.cuCtxPopCurrent()
