"""Whether a GPU gives the same bits as the processor: arms, errors and coverage of every trial.

Every policy of one stage, every estimator, every piece of a scenario and a score of one's own, each with some
trials on both. Programs are compiled in several processes at once.

Usage: python benchmarks/gpu/same_bits.py [--trials N] [--processes N] [--output FILE]
"""

from __future__ import annotations

import argparse
import datetime
import multiprocessing
import os
import platform
import sys
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import equipoise as eq
from equipoise.core.arithmetic.numerics import NUMERICS
from equipoise.core.policies.base.policy import known_policies
from equipoise.core.text_tables import markdown_table
from equipoise.lab.gpu.driver import open_device

BASE: dict[str, Any] = {"noise": (0.3, 0.7, 1.5, 2.3), "dim": 4, "budget": 90}
RATES: dict[str, Any] = {"noise": (0.2, 0.1, 0.15, 0.2), "dim": 4, "budget": 90, "intercept": True}
SCENES: dict[str, Callable[[], dict[str, Any]]] = {
    "plain": lambda: BASE,
    "the paper's size": lambda: {"noise": tuple(0.3 + 0.4 * i for i in range(7)), "dim": 10, "budget": 350},
    "one feature": lambda: {"noise": (0.5, 2.0), "dim": 1, "budget": 40},
    "many features": lambda: {"noise": (0.5, 1.0, 2.0), "dim": 30, "budget": 250},
    "two columns a thread": lambda: {"noise": (0.5, 1.0, 2.0), "dim": 36, "budget": 190},
    "more than registers hold": lambda: {"noise": (0.5, 1.0, 2.0), "dim": 41, "budget": 190},
    "many arms": lambda: {"noise": tuple(0.1 * (i + 1) for i in range(60)), "dim": 2, "budget": 400},
    "very many arms": lambda: {"noise": tuple(0.01 * (i + 1) for i in range(900)), "dim": 1, "budget": 2_700},
    "intercept": lambda: {**BASE, "intercept": True},
    "correlated": lambda: {**BASE, "contexts": eq.GaussianContexts(covariance="ar1:0.5")},
    "student contexts": lambda: {**BASE, "contexts": eq.StudentContexts()},
    "skewed contexts": lambda: {**BASE, "contexts": eq.SkewedContexts()},
    "binary contexts": lambda: {**BASE, "contexts": eq.BinaryContexts()},
    "drifting contexts": lambda: {**BASE, "contexts": eq.DriftingContexts()},
    "given coefficients": lambda: {**BASE, "coef": np.eye(4).tolist()},
    "student noise": lambda: {**BASE, "noise_shape": eq.StudentNoise(dof=5)},
    "skewed noise": lambda: {**BASE, "noise_shape": eq.SkewedNoise()},
    "drift and curvature": lambda: {
        **BASE,
        **{"coef_drift": 0.5, "noise_drift": 0.7, "heteroscedasticity": 0.6, "curvature": 0.3},
    },
    "learned moment": lambda: {**BASE, "moment": "learned"},
    "delays and losses": lambda: {**BASE, "delay": eq.Delay(mean=5), "lost": 0.1},
    "losses by arm": lambda: {**BASE, "delay": eq.Delay(mean=3), "lost": (0.0, 0.1, 0.2, 0.3)},
    "costs, floors and caps": lambda: {
        **BASE,
        **{"costs": (1.0, 2.0, 1.0, 1.5), "floors": (5, 5, 5, 10), "caps": (None, 30, None, 40)},
    },
    "closed arms": lambda: {**BASE, "closures": (eq.Closure(arm="arm-1", after=30, until=60),)},
    "another objective": lambda: {**BASE, "objective": 2.0, "weights": (1.0, 2.0, 1.0, 0.5)},
    "yes and no": lambda: {**RATES, "outcomes": eq.YesNoOutcomes()},
    "counts": lambda: {**RATES, "noise": (1.0, 2.0, 3.0, 4.0), "outcomes": eq.CountOutcomes()},
}
SIZES = (
    *("the paper's size", "one feature", "many features", "two columns a thread", "more than registers hold"),
    "many arms",
)
"""Scenes that differ in how many threads work on a trial, and where its numbers lie."""
MANY = 100
"""Arms; with more, a tenth of the trials."""
ESTIMATORS = ("pooled", "ridge", "leave-one-out", "empirical-bayes")


@eq.register("least-known")
def least_known(arm: Any, trial: Any, settings: Any) -> float:
    """A score of one's own."""
    return float(arm.noise_variance * arm.trace / (1.0 + arm.count))


class Case(NamedTuple):
    """A policy somewhere."""

    policy: str
    scene: str
    estimator: str


def cases() -> list[Case]:
    """All that is tried."""
    names = [name for name, kind in known_policies().items() if not kind.staged]
    found = [
        Case(name, "plain", "ridge")
        for name in (*names, "trace-gain:chance=0.3", "trace-ucb:width=chi-square")
    ]
    found += [Case("trace-ucb", "the paper's size", estimator) for estimator in ESTIMATORS]
    found += [Case("trace-ucb", "many arms", "pooled")]
    found += [Case("oracle", scene, "ridge") for scene in SIZES]  # whose turns are known
    for policy in ("trace-ucb", "trace-gain"):
        found += [Case(policy, scene, "ridge") for scene in SCENES if scene != "plain"]
    return list(dict.fromkeys(found))


def compare(case: Case, trials: int) -> list[str]:
    """A line of the table."""
    scenario = eq.Scenario(**SCENES[case.scene](), estimator=case.estimator)
    here, there = (
        eq.simulate(scenario, [case.policy], trials=trials, seed=3, device=device)[case.policy]
        for device in ("cpu", "cuda")
    )
    differ = np.zeros(trials, bool)
    for mine, other in zip(here.ledger, there.ledger, strict=True):
        same = (mine == other) | (np.isnan(mine) & np.isnan(other))
        differ |= ~same.reshape(trials, -1).all(axis=1)
    return [case.policy, case.scene, case.estimator, f"{trials:,}", f"{np.count_nonzero(differ):,}"]


def arms(case: Case) -> int:
    """How many its scene has."""
    return len(SCENES[case.scene]()["noise"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--trials", type=int, default=2_000)
    parser.add_argument("--processes", type=int, default=min(12, os.cpu_count() or 1))
    parser.add_argument("--output", type=Path, help="a file for the same text")
    options = parser.parse_args()
    chosen = cases()
    running: dict[Case, Future[list[str]]] = {}
    with ProcessPoolExecutor(options.processes, multiprocessing.get_context("spawn")) as pool:
        # What takes longest first.
        for case in sorted(chosen, key=arms, reverse=True):
            trials = max(1, options.trials // 10) if arms(case) > MANY else options.trials
            running[case] = pool.submit(compare, case, trials)
        for future in as_completed(running.values()):
            # Said at once: somebody may end this before it is through.
            print("; ".join(future.result()), file=sys.stderr, flush=True)
    lines = [running[case].result() for case in chosen]
    bad = sum(line[-1] != "0" for line in lines)
    device = open_device()
    text = markdown_table(["policy", "scenario", "estimator", "trials", "trials that differ"], lines)
    text += (
        f"\n{len(lines) - bad} of {len(lines)} cases have the same bits: arms, errors, coverage. "
        f"{device.name}, compute capability {'.'.join(map(str, device.capability))}; equipoise "
        f"{eq.__version__}, numerics {NUMERICS}, Numba {metadata.version('numba')}, llvmlite "
        f"{metadata.version('llvmlite')}, Python {platform.python_version()}, "
        f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}. "
        "Printed by `python benchmarks/gpu/same_bits.py`.\n"
    )
    print(text)
    if options.output:
        options.output.write_text(text)
    raise SystemExit(bool(bad))


if __name__ == "__main__":
    main()
