"""How long studies take on a GPU: a sweep of 200 scenarios, and the six panels of the paper's Figure 1.

Everything is compiled first (``EQUIPOISE_KERNELS`` should name an empty folder), by several processes: that
is what somebody waits once who has never run it.

Usage: python benchmarks/gpu/studies.py [--quick] [--panels] [--output FILE]
"""

from __future__ import annotations

import argparse
import datetime
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import numpy as np

import equipoise as eq
from equipoise.core.arithmetic.numerics import NUMERICS
from equipoise.core.text_tables import markdown_table
from equipoise.lab.gpu.ahead import compile_ahead
from equipoise.lab.gpu.driver import open_device
from equipoise.studies.paper.figure1 import PANELS, compared_policies

POLICIES = ("uniform", "trace-ucb", "trace-gain")


def swept(trials: int) -> tuple[int, float]:
    """200 scenarios: 20 noises of one arm, 10 budgets; decisions, and seconds of the GPU."""
    scenario = eq.GaussianScenario(
        noise=tuple(0.3 + 0.4 * i for i in range(7)), dim=10, budget=350, estimator="ridge"
    )
    axes = {"noise[6]": np.geomspace(0.5, 20.0, 20).round(3).tolist(), "budget": range(170, 351, 20)}
    found = eq.sweep(scenario, policies=POLICIES, trials=trials, seed=1, device="cuda", workers=1, **axes)
    results = [result for _, point in found for result in point.policies.values()]
    return sum(result.decisions for result in results), sum(result.seconds for result in results)


def panels(trials: float) -> tuple[int, float]:
    """The sweeps of all six panels, five policies, at a share of the paper's numbers of trials."""
    decisions, seconds = 0, 0.0
    for each in dict.fromkeys(panel.sweep for panel in PANELS.values()):
        for scenario in each.arenas:
            number = max(1, round(trials * each.trials))
            found = eq.simulate(
                scenario, compared_policies(), trials=number, seed=1, device="cuda", workers=1
            )
            decisions += sum(result.decisions for result in found.policies.values())
            seconds += sum(result.seconds for result in found.policies.values())
    return decisions, seconds


def panels_compiled() -> None:
    """The programs of all panels, by several processes."""
    arenas = [arena for panel in PANELS.values() for arena in panel.sweep.arenas]
    compile_ahead([(arena, compared_policies()) for arena in arenas], "cuda")


def timed(what: str, quick: Callable[[], object], whole: Callable[[], tuple[int, float]]) -> list[str]:
    """A line of the table: first with few trials, which compiles, then whole."""
    begin = time.perf_counter()
    quick()
    compiled = time.perf_counter() - begin
    begin = time.perf_counter()
    decisions, device = whole()
    took = time.perf_counter() - begin
    return [what, f"{decisions / 1e9:.2f}", f"{compiled:.0f}", f"{took:.1f}", f"{device:.1f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="few trials: only to see that it runs")
    parser.add_argument("--panels", action="store_true", help="the panels, too: 99 programs are compiled")
    parser.add_argument("--output", type=Path, help="a file for the same text")
    options = parser.parse_args()
    share = 0.01 if options.quick else 1.0
    trials = round(30_000 * share)
    lines = [
        timed(
            f"sweep: 200 scenarios, m = 7, d = 10, {len(POLICIES)} policies, {trials:,} trials",
            lambda: swept(1),
            lambda: swept(trials),
        )
    ]
    if options.panels:
        lines.append(
            timed("six panels, 5 policies, the paper's trials", panels_compiled, lambda: panels(share))
        )
    header = [
        "study",
        "10⁹ decisions",
        "to compile, s",
        "then, s",
        "of it the GPU, s",
    ]
    text = markdown_table(header, lines)
    text += (
        f"\n{open_device().name}; equipoise {eq.__version__}, numerics {NUMERICS}, "
        f"Numba {metadata.version('numba')}, {datetime.datetime.now(datetime.UTC):%Y-%m-%d}. "
        "Printed by `python benchmarks/gpu/studies.py --panels`.\n"
    )
    print(text)
    if options.output:
        options.output.write_text(text)


if __name__ == "__main__":
    main()
