"""How long the programs of Figure 1 take to compile for a GPU, by one process that has none.

All programs of the panels, as ``reproduce`` has them compiled, first with Numba's part of each done anew,
then once for all that differ in the numbers of arms and features alone, as for a first study; then with that
part on disk, as for a study of other numbers of features. What a driver does with the assembly
language is left to ``ptxas``, where that is installed: a driver may be quicker or slower. Time of the
processor, not of the clock.

Usage: python benchmarks/gpu/compiling.py [--dims D,D,…] [--output FILE]
"""

from __future__ import annotations

import argparse
import datetime
import gc
import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import equipoise as eq
from equipoise.core.arithmetic.numerics import NUMERICS
from equipoise.core.text_tables import markdown_table
from equipoise.lab.gpu import kept
from equipoise.lab.gpu.ahead import tasks as telling
from equipoise.lab.gpu.ahead.recipes import recipe_of
from equipoise.studies.paper.figure1 import PANELS, compared_policies

Job = tuple[eq.Scenario, str, str]


class Gpu:
    """What programs need to know of a GPU: an H200's. Keeps what it is given to assemble."""

    name = description = "none"
    target, processors, shared_bytes = "sm_90", 132, 232_448

    def __init__(self) -> None:
        self.programs: list[str] = []

    def assemble(self, ptx: str) -> bytes:
        """Machine code of nothing."""
        self.programs.append(ptx)
        return b""

    def load(self, code: bytes) -> None:
        """Nobody will run it."""


def jobs(dims: Sequence[int]) -> list[Job]:
    """Scenario, policy and what for, as helpers are told."""
    arenas = {arena.dim: arena for panel in PANELS.values() for arena in panel.sweep.arenas}
    points = [(arenas[dim], compared_policies()) for dim in (dims or arenas)]
    with mock.patch.object(telling, "split", lambda arena, policies, device, *, elsewhere: set(policies)):
        needed = [telling.tasks_of(*point, "cuda") for point in points]
    tasks = telling.each_once(needed)
    return [(eq.Scenario.from_dict(task["scenario"]), task["policy"], task["what"]) for task in tasks]


def compiled(todo: Sequence[Job], drafts: dict[str, bytes], *, anew: bool) -> tuple[float, list[str]]:
    """Seconds, and the programs; ``drafts`` are on disk, and ``anew`` is every program a process's first."""
    gpu: Any = Gpu()
    with (
        mock.patch.dict(kept.DRAFTS, clear=True),
        mock.patch.dict(kept.PROGRAMS, clear=True),
        mock.patch.object(kept, "storage", SimpleNamespace(read=drafts.get, write=drafts.__setitem__)),
    ):
        begin = time.process_time()
        for scenario, policy, what in todo:
            if anew:
                kept.DRAFTS.clear()
            recipe = recipe_of(gpu, scenario, eq.parse_policy(policy), what)
            assert recipe is not None
            recipe.program()
        return time.process_time() - begin, gpu.programs


class Forgotten(dict[str, bytes]):
    """A disk that keeps nothing."""

    def __setitem__(self, name: str, content: bytes) -> None:
        """It is gone."""


def assembled(programs: Sequence[str]) -> float | None:
    """Seconds of ``ptxas``, if there is one."""
    if shutil.which("ptxas") is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"{place}.ptx" for place in range(len(programs))]
        for file, ptx in zip(files, programs, strict=True):
            file.write_text(ptx)
        begin = resource.getrusage(resource.RUSAGE_CHILDREN)
        for file in files:
            subprocess.run(["ptxas", f"-arch={Gpu.target}", file, "-o", file.with_suffix(".o")], check=True)
        end = resource.getrusage(resource.RUSAGE_CHILDREN)
        return end.ru_utime + end.ru_stime - begin.ru_utime - begin.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--dims", default="", help="numbers of features, of those in the panels")
    parser.add_argument("--output", type=Path, help="a file for the same text")
    options = parser.parse_args()
    todo = jobs([int(part) for part in options.dims.split(",") if part])
    gc.disable()  # as in the processes that compile for a study
    compiled(todo[:1], Forgotten(), anew=True)  # what every process needs first
    before, _ = compiled(todo, Forgotten(), anew=True)
    drafts: dict[str, bytes] = {}
    now, programs = compiled(todo, drafts, anew=False)
    found, _ = compiled(todo, {name: text for name, text in drafts.items() if "draft" in name}, anew=True)
    driver = assembled(programs)
    lines = [
        ["Numba's part of each anew", f"{len(todo)}", f"{before:.1f}", "1.00"],
        ["Numba's part once for all sizes", f"{len(todo)}", f"{now:.1f}", f"{now / before:.2f}"],
        ["Numba's part found on disk", f"{len(todo)}", f"{found:.1f}", f"{found / before:.2f}"],
    ]
    if driver is not None:
        lines.append(["machine code, by ptxas", f"{len(todo)}", f"{driver:.1f}", f"{driver / before:.2f}"])
    text = markdown_table(["", "programs", "s of one processor", "of the first"], lines)
    text += (
        f"\nPrograms of the six panels, for an H200. equipoise {eq.__version__}, numerics {NUMERICS}, "
        f"Numba {metadata.version('numba')}, {datetime.datetime.now(datetime.UTC):%Y-%m-%d}. "
        "Printed by `python benchmarks/gpu/compiling.py`, on a processor.\n"
    )
    print(text)
    if options.output:
        options.output.write_text(text)


if __name__ == "__main__":
    main()
