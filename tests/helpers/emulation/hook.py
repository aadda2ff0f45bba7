"""Processes that find an emulated GPU: by Python's own hook, since they import nothing of these helpers."""

from __future__ import annotations

import os
import sys

_HOOK = """
import os, sys
if "equipoise.lab.gpu.ahead" in sys.orig_argv:
    from emulation.device import EmulatedDevice
    from equipoise.lab.gpu import bench, driver, offers
    from equipoise.lab.gpu.ahead import recipes
    device, recipe_of = EmulatedDevice(1, False, 232_448), recipes.recipe_of
    EmulatedDevice.load = lambda device, code: None
    for module in (bench, driver, offers):
        module.open_device = lambda number=0: device
    def watched(*arguments):
        open(os.path.join({folder!r}, f"{{os.getpid()}}.at-work"), "w").close()
        return recipe_of(*arguments)
    recipes.recipe_of = watched
"""


def hooked(folder):
    """What is in the environment of a process whose helpers, those that compile, have an emulated GPU.

    Each leaves a file ``*.at-work`` in the folder, which has all machine code, too.
    """
    (folder / "sitecustomize.py").write_text(_HOOK.format(folder=str(folder)))
    path = [str(folder), *filter(None, sys.path)]
    kernels = {"EQUIPOISE_KERNELS": str(folder / "kernels"), "PYTHONPATH": os.pathsep.join(path)}
    return {**os.environ, **kernels}
