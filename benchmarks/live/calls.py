"""What a pair of calls, ask and tell, costs by itself, layer by layer.

Four places, each with what the one before has and one thing more: an experiment in memory; the log, in a
store in memory; SQLite on a RAM disk; SQLite on the disk. They take turns, a short block each. A cost is
the smallest of its blocks: others who use the machine only add to it. On the disk a program sleeps in every
commit and comes back to cold caches, so that the same work takes more of the processor's time.

Usage: python benchmarks/live/calls.py [--rounds N] [--folder DIR] [--memory-folder DIR] [--output FILE]
"""

from __future__ import annotations

import argparse
import os
import platform
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import clients
import equipoise as eq
from equipoise.core.text_tables import markdown_table

PAIRS = 200
"""Pairs of a block, one by one."""
BATCH = 100
HEADER = ["", "processor", "clock", "processor, batches of 100", "clock, batches of 100"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=25, help="blocks of every place")
    parser.add_argument("--folder", type=Path, help="on the disk; by default the system's")
    parser.add_argument("--memory-folder", type=Path, default=Path("/dev/shm"), help="on a RAM disk")
    parser.add_argument("--output", type=Path, help="a file for the same text")
    options = parser.parse_args()
    before = os.getloadavg()[0]
    with (
        tempfile.TemporaryDirectory(dir=options.folder) as disk,
        tempfile.TemporaryDirectory(dir=options.memory_folder) as ram,
    ):
        experiments: dict[str, Any] = {
            "`Experiment`, nothing stored": eq.Experiment(clients.problem(), "trace-gain"),
            "a log in memory": clients.create("memory:"),
            "SQLite on a RAM disk": clients.create(f"sqlite:///{ram}/trial.db"),
            "SQLite on the disk": clients.create(f"sqlite:///{disk}/trial.db"),
        }
        rows = measured(experiments, options.rounds)
    text = markdown_table(HEADER, rows) + (
        f"\nMicroseconds a pair, the least of {options.rounds} blocks; m = 3, d = {clients.DIM}, "
        f"`trace-gain`. equipoise {eq.__version__}, Python {platform.python_version()}, {os.cpu_count()} "
        f"cores, load {before:.1f} before and {os.getloadavg()[0]:.1f} after. "
        "Printed by `python benchmarks/live/calls.py`.\n"
    )
    print(text)
    if options.output:
        options.output.write_text(text)


def measured(experiments: dict[str, Any], rounds: int) -> list[list[str]]:
    """A row of costs for every place."""
    for experiment in experiments.values():
        clients.pairs(experiment, PAIRS, "first")
        clients.batch(experiment, BATCH)
    costs: dict[str, list[list[float]]] = {place: [] for place in experiments}
    for _ in range(rounds):
        for place, experiment in experiments.items():
            singly = cost(PAIRS, partial(clients.pairs, experiment, PAIRS, "one"))
            together = cost(BATCH, partial(clients.batch, experiment, BATCH))
            costs[place].append([*singly, *together])
    return [[place, *(f"{least:,.0f}" for least in np.min(found, axis=0))] for place, found in costs.items()]


def cost(number: int, act: Callable[[], object]) -> tuple[float, float]:
    """Microseconds of the processor, and on the clock, that one of so many takes."""
    begin = time.process_time(), time.perf_counter()
    act()
    return (
        (time.process_time() - begin[0]) / number * 1e6,
        (time.perf_counter() - begin[1]) / number * 1e6,
    )


if __name__ == "__main__":
    main()
