"""How long the programs of Figure 1 take to compile for a GPU, by one process that has none.

All programs of the panels, as ``reproduce`` has them compiled, first with Numba's part of each done anew,
then once for all that differ in the numbers of arms and features alone. What a driver does with the assembly
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
from unittest import mock

import equipoise as eq
from equipoise.core.arithmetic.numerics import NUMERICS
from equipoise.core.jit.nvptx import to_ptx
from equipoise.core.text_tables import markdown_table
from equipoise.lab.gpu import kept
from equipoise.lab.gpu.ahead import tasks as telling
from equipoise.lab.gpu.programs.drawing import draw_program, drawing_layout
from equipoise.lab.gpu.seat import Seat
from equipoise.lab.trial.world import Draws
from equipoise.studies.paper.figure1 import PANELS, compared_policies

Job = tuple[eq.Scenario, str, str]


class Gpu:
    """What programs need to know of a GPU: an H200's."""

    name, target, processors, shared_bytes = "none", "sm_90", 132, 232_448


def jobs(dims: Sequence[int]) -> list[Job]:
    """Scenario, policy and what for, as helpers are told; those with one draft follow each other."""
    arenas = {arena.dim: arena for panel in PANELS.values() for arena in panel.sweep.arenas}
    points = [(arenas[dim], compared_policies()) for dim in (dims or arenas)]
    with mock.patch.object(telling, "split", lambda arena, policies, device, *, elsewhere: set(policies)):
        needed = [telling.tasks_of(*point, "cuda") for point in points]
    tasks = sorted(telling.each_once(needed), key=lambda task: task["family"])
    return [(eq.Scenario.from_dict(task["scenario"]), task["policy"], task["what"]) for task in tasks]


def ptx_of(job: Job) -> str:
    scenario, policy, what = job
    draws = Draws(scenario, 0, block=1)
    if what != "draws":
        return Seat(scenario, eq.parse_policy(policy), 0, draws, Gpu()).ptx(what)  # type: ignore[arg-type]
    layout = drawing_layout(draws.world)
    draft = kept.kept_draft(("draws",), lambda: draw_program(layout))
    return to_ptx(draft, layout, Gpu.target)


def compiled(todo: Sequence[Job], *, anew: bool) -> tuple[float, list[str]]:
    """Seconds, and the programs."""
    found = []
    with mock.patch.dict(kept.DRAFTS, clear=True):
        begin = time.process_time()
        for job in todo:
            if anew:
                kept.DRAFTS.clear()
            found.append(ptx_of(job))
        return time.process_time() - begin, found


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
    ptx_of(todo[0])  # what every process needs first
    (before, _), (now, programs) = (compiled(todo, anew=anew) for anew in (True, False))
    driver = assembled(programs)
    lines = [
        ["Numba's part of each anew", f"{len(todo)}", f"{before:.1f}", "1.00"],
        ["Numba's part once for all sizes", f"{len(todo)}", f"{now:.1f}", f"{now / before:.2f}"],
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
