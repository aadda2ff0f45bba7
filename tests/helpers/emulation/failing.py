"""A stand-in for ``cuda.bindings.driver`` whose calls fail as they are told to.

It keeps account of what it lends, thread by thread, and runs no program: what it is good for is what is done
about errors.
"""

from __future__ import annotations

import ctypes
import enum
import os
import re
import threading
from collections import defaultdict
from contextlib import contextmanager
from types import SimpleNamespace
from unittest import mock

import numpy as np

from equipoise.lab.gpu import driver, kept

_NAMES = (
    *(
        "SUCCESS",
        "ERROR_OUT_OF_MEMORY",
        "ERROR_INVALID_CONTEXT",
        "ERROR_INVALID_IMAGE",
        "ERROR_INVALID_VALUE",
    ),
    *("ERROR_ILLEGAL_ADDRESS", "ERROR_LAUNCH_OUT_OF_RESOURCES", "ERROR_DEINITIALIZED"),
)
Status = enum.Enum("CUresult", [f"CUDA_{name}" for name in _NAMES])
FINE = Status.CUDA_SUCCESS
CONTEXT = "the GPU's context"


@contextmanager
def failing_driver(**arguments):
    """Let ``device="cuda"`` be a GPU of which nothing works but memory."""
    stand_in, process = StandIn(**arguments), os.getpid()
    driver.open_device.cache_clear()
    with (
        mock.patch.object(driver, "_driver", return_value=stand_in),
        mock.patch.object(driver, "_process", return_value=process),
        mock.patch.dict(kept.PROGRAMS, clear=True),
    ):
        yield stand_in
    driver.open_device.cache_clear()


class StandIn:
    """Functions of a driver; ``failing`` has the statuses that some give next, one after the other."""

    CUresult = Status
    CUjitInputType = SimpleNamespace(CU_JIT_INPUT_PTX=1)
    CUfunction_attribute = SimpleNamespace(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES=8)

    def __init__(self, free=2**28):
        self.failing = defaultdict(list)
        self.broken = None  # what every call says from some moment on
        self.lent = {}  # memory by address
        self.events, self.links, self.modules = set(), set(), {}
        self.calls = []
        self._free, self._thread, self._numbers = free, threading.local(), iter(range(1, 10**9))
        self.CUdevice_attribute = SimpleNamespace(
            CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR=9,
            CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR=0,
            CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT=1,
            CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN=232_448,
        )

    def __getattr__(self, name):
        own = "_" + re.sub("(?<=[a-z])(?=[A-Z])", "_", name.removeprefix("cu")).lower()  # _mem_alloc
        found = getattr(type(self), own, None)
        if found is None:
            raise AttributeError(name)

        def call(*arguments):
            self.calls.append(name)
            if self.failing[name]:
                status = self.failing[name].pop(0)
                if isinstance(status, BaseException):
                    raise status
                if status is Status.CUDA_ERROR_ILLEGAL_ADDRESS:
                    self.broken = status
                if status is not FINE:
                    return (status,)
            if self.broken is not None:
                return (self.broken,)
            needs_context = name.startswith(("cuMem", "cuModule", "cuEvent", "cuLaunch", "cuLink"))
            if needs_context and not self.stack:
                return (Status.CUDA_ERROR_INVALID_CONTEXT,)
            return FINE, *found(self, *arguments)

        return call

    @property
    def stack(self):
        """Contexts of this thread, the current one last."""
        return self._thread.__dict__.setdefault("stack", [])

    def _device_get_count(self):
        return (1,)

    def _device_get(self, number):
        return (number,)

    def _device_get_name(self, length, device):
        return (b"stand-in\0",)

    def _device_get_attribute(self, attribute, device):
        return (attribute,)

    def _driver_get_version(self):
        return (1,)

    def _device_primary_ctx_retain(self, device):
        return (CONTEXT,)

    def _ctx_set_current(self, context):
        self.stack[-1:] = [context]
        return ()

    def _ctx_push_current(self, context):
        self.stack.append(context)
        return ()

    def _ctx_pop_current(self):
        return (self.stack.pop(),)

    def _mem_get_info(self):
        return self._free, self._free

    def _mem_alloc(self, size):
        memory = np.zeros(size, np.uint8)
        self.lent[memory.ctypes.data] = memory
        return (memory.ctypes.data,)

    def _mem_free(self, address):
        del self.lent[address]
        return ()

    def _memcpy_hto_d(self, target, source, size):
        ctypes.memmove(target, source, size)
        return ()

    _memcpy_dto_h = _memcpy_dto_d = _memcpy_hto_d

    def _link_create(self, *arguments):
        self.links.add(link := next(self._numbers))
        return (link,)

    def _link_add_data(self, *arguments):
        return ()

    def _link_complete(self, link):
        self._code = ctypes.create_string_buffer(b"machine code")
        return ctypes.addressof(self._code), len(b"machine code")

    def _link_destroy(self, link):
        self.links.remove(link)
        return ()

    def _module_load_data(self, code):
        self.modules[module := next(self._numbers)] = np.zeros(2**15, np.uint8)
        return (module,)

    def _module_unload(self, module):
        del self.modules[module]
        return ()

    def _module_get_function(self, module, name):
        return (module,)

    def _module_get_global(self, module, name):
        return self.modules[module].ctypes.data, self.modules[module].nbytes

    def _func_set_attribute(self, *arguments):
        return ()

    def _event_create(self, flags):
        self.events.add(event := next(self._numbers))
        return (event,)

    def _event_destroy(self, event):
        self.events.remove(event)
        return ()

    def _event_record(self, *arguments):
        return ()

    _launch_kernel = _event_synchronize = _event_record

    def _event_elapsed_time(self, begin, end):
        return (1.0,)
