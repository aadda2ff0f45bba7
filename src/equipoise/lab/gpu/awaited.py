"""A GPU for processes that compile: it is opened while they work already.

To open a GPU takes a second or more where many processes do so at once. What programs depend on is told by
the process that wants them; the driver is needed only when the first one is put together.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from equipoise.lab.gpu import driver
from equipoise.lab.gpu.driver import Device, Program

_TOLD = "name", "capability", "processors", "shared_bytes", "description"


def facts_of(device: Device) -> dict[str, Any]:
    """What another process has to know of a GPU, as plain data."""
    return {name: getattr(device, name) for name in _TOLD}


class AwaitedDevice(Device):
    """The first GPU of this machine, described by another process."""

    description = ""

    def __init__(self, facts: Mapping[str, Any]) -> None:
        for name in _TOLD:
            setattr(self, name, facts[name])
        self._opened = ThreadPoolExecutor(1).submit(driver.open_device)

    def use(self) -> None:
        """Wait until it is open."""
        self._opened.result().use()

    def assemble(self, ptx: str) -> bytes:
        """Machine code, made by the driver."""
        return self._opened.result().assemble(ptx)

    def load(self, machine_code: bytes) -> Program:
        """A program of such machine code."""
        return self._opened.result().load(machine_code)
