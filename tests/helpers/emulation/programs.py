"""Programs of a GPU on this processor: translated from PTX, built by gcc."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
import threading
from functools import cache
from pathlib import Path

from emulation.translation import to_c
from equipoise.core.jit.nvptx import TABLE

WORDS = 3
_at_work = threading.Lock()
_STATUSES = {1: "threads wait for others that never come", 2: "memory beside the processors that nobody has"}


def why_not() -> str | None:
    """What keeps programs from running here."""
    return None if shutil.which("gcc") else "programs of a GPU are emulated by programs that gcc builds"


@cache
def _built(ptx: str, *, counted: bool) -> ctypes.CDLL:
    with tempfile.TemporaryDirectory() as folder:
        source, built = Path(folder) / "program.c", Path(folder) / "program.so"
        source.write_text(to_c(ptx, counted=counted))
        # Nothing is fused but what is written so.
        options = "-O1", "-w", "-march=native", "-ffp-contract=off", "-fno-strict-aliasing"
        subprocess.run(["gcc", *options, "-shared", "-fPIC", "-o", built, source, "-lm"], check=True)
        return ctypes.CDLL(str(built))


class EmulatedProgram:
    """A kernel that warps of this processor run."""

    def __init__(self, ptx: str, *, counted: bool = False) -> None:
        self._program = _built(ptx, counted=counted)

    def launch(self, table, blocks, threads, shared, words, *, lot=1, own_ways=False):
        """Run it as on a GPU; ``lot`` decides which threads come first.

        They go in step, or each its own way up to where they wait for each other.
        """
        assert _at_work.acquire(blocking=False), "a program is run while another one runs"
        try:
            constants = getattr(self._program, TABLE, None)
            if constants is not None:  # some programs need none
                ctypes.memmove(
                    ctypes.addressof(ctypes.c_char.in_dll(self._program, TABLE)),
                    table.ctypes.data,
                    table.nbytes,
                )
            arguments = (ctypes.c_int64 * WORDS)(*map(int, words))
            sizes = ctypes.c_uint64(shared), ctypes.c_uint64(lot)
            status = self._program.run(arguments, blocks, threads, *sizes, int(own_ways))
        finally:
            _at_work.release()
        if status:
            raise AssertionError(_STATUSES[status])
        return 1.0
