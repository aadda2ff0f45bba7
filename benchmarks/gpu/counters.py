"""What binds trials on a GPU, by its own counters: needs Nsight Compute (``ncu``) and leave to read them.

Usage: python benchmarks/gpu/counters.py [--output FILE]
"""

from __future__ import annotations

import argparse
import csv
import datetime
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import equipoise as eq
from equipoise.core.arithmetic.numerics import NUMERICS
from equipoise.core.text_tables import markdown_table
from equipoise.lab.gpu.driver import open_device

STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
METRICS = {
    "registers a thread": ("launch__registers_per_thread", "", 1.0),
    "near memory a block, KB": ("launch__shared_mem_per_block_dynamic", "", 1e-3),
    "warps at work, of those a processor can have": (
        "sm__warps_active.avg.pct_of_peak_sustained_active",
        " %",
        1.0,
    ),
    "cycles in which an instruction is issued": (
        "smsp__issue_active.avg.pct_of_peak_sustained_active",
        " %",
        1.0,
    ),
    "double-precision units": ("sm__inst_executed_pipe_fp64.avg.pct_of_peak_sustained_active", " %", 1.0),
    "near memory, of its peak": (
        "l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_elapsed",
        " %",
        1.0,
    ),
    "first cache, of its peak": ("l1tex__throughput.avg.pct_of_peak_sustained_elapsed", " %", 1.0),
    "second cache, of its peak": ("lts__throughput.avg.pct_of_peak_sustained_elapsed", " %", 1.0),
    "the GPU's own memory, of its peak": ("dram__throughput.avg.pct_of_peak_sustained_elapsed", " %", 1.0),
    "hits in the first cache": ("l1tex__t_sector_hit_rate.pct", " %", 1.0),
    "cycles that a warp waits for caches and memory, an instruction": (
        STALL.format("long_scoreboard"),
        "",
        1.0,
    ),
    "for near memory": (STALL.format("short_scoreboard"), "", 1.0),
    "for results of arithmetic": (STALL.format("wait"), "", 1.0),
    "for instructions": (STALL.format("no_instruction"), "", 1.0),
}
SKIPPED = {"trace-ucb": "7", "trace-gain": "5"}
"""Launches before these trials: only those of policies that do not look at contexts are opened."""
CASES = [("trace-ucb", 10), ("trace-gain", 10), ("trace-ucb", 30)]


def work(policy: str, dim: int) -> None:
    """Trials to be looked at, after those that compile."""
    scenario = eq.GaussianScenario(
        noise=tuple(0.3 + 0.4 * i for i in range(7)), dim=dim, budget=350, estimator="ridge"
    )
    for _ in range(2):
        eq.simulate(scenario, [policy], trials=8_448, seed=1, device="cuda", workers=1)


def counted(policy: str, dim: int) -> dict[str, float]:
    """The counters of the second run's trials; every run draws before, and judges afterwards."""
    names = ",".join(name for name, _, _ in METRICS.values())
    command = ["ncu", "--csv", "--metrics", names, "--launch-skip", SKIPPED[policy], "--launch-count", "1"]
    inner = [sys.executable, str(Path(__file__).resolve()), "--work", policy, "--dim", str(dim)]
    text = subprocess.run([*command, *inner], check=True, capture_output=True, text=True).stdout
    lines = text[text.index('"ID"') :].splitlines()
    return {row["Metric Name"]: float(row["Metric Value"].replace(",", "")) for row in csv.DictReader(lines)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--output", type=Path, help="a file for the same text")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    parser.add_argument("--dim", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(options.work, options.dim)
        return
    found = [counted(*case) for case in CASES]
    rows = [
        [what, *(f"{each[name] * scale:.3g}{unit}" for each in found)]
        for what, (name, unit, scale) in METRICS.items()
    ]
    text = markdown_table(["", *(f"{policy}, d = {dim}" for policy, dim in CASES)], rows)
    text += (
        f"\nm = 7, n = 350, 8,448 trials, ridge. {open_device().name}; equipoise {eq.__version__}, "
        f"numerics {NUMERICS}, Numba {metadata.version('numba')}, "
        f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}. Printed by `python benchmarks/gpu/counters.py`.\n"
    )
    print(text)
    if options.output:
        options.output.write_text(text)


if __name__ == "__main__":
    main()
