"""For ``dask worker --preload``: a worker that has a GPU, an emulated one."""

from __future__ import annotations

from zlib import crc32

from emulation.device import emulated_gpu


def dask_setup(worker):
    """Let it have one as long as it lives, whose threads take turns as those of no other worker."""
    worker.emulated = emulated_gpu(lot=crc32(str(worker.name).encode()))
    worker.emulated.__enter__()
