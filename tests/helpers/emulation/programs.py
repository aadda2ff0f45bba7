"""Programs of a GPU on this processor: translated from PTX, built by gcc."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
import threading
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from emulation.assembly import parse
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


class Counts(NamedTuple):
    """What warps have done; those of one run are the difference of two."""

    times: np.ndarray  # how often each block of instructions, in the order of the program
    threads: np.ndarray  # by how many threads in all
    sectors: int  # pieces of 32 bytes of far memory
    lines: int  # of 128 bytes, which the first cache looks for one after the other
    near_turns: int  # of the banks of near memory
    near_accesses: int

    def __sub__(self, other: Counts) -> Counts:
        return Counts(*(mine - theirs for mine, theirs in zip(self, other, strict=True)))


class EmulatedProgram:
    """A kernel that warps of this processor run."""

    def __init__(self, ptx: str, *, counted: bool = False) -> None:
        self._program = _built(ptx, counted=counted)
        self.ptx = ptx

    def counts(self) -> Counts:
        """What its launches have done since it was built."""
        blocks = sum(len(function.blocks) for function in parse(self.ptx).functions.values())
        many = (ctypes.c_uint64 * blocks).in_dll
        one = ctypes.c_uint64.in_dll
        return Counts(
            *(np.array(many(self._program, name), np.int64) for name in ("done_times", "done_by")),
            *(one(self._program, name).value for name in ("sectors", "lines", "near_turns", "near_accesses")),
        )

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
