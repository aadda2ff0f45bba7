"""What intervals, effects and tests are worth when outcomes are not linear: coverage of the best linear fit.

python benchmarks/honest/misspecification.py --write docs/tables/misspecification.md

Every arm has the same curve in all features, so there is no effect of the arms to be found. Single worlds and
policies can be named: --worlds curved --policies trace-gain.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import sys
from collections.abc import Callable, Iterable
from itertools import combinations
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # the matrices are small

import numpy as np

import equipoise as eq
from quick_trials import Task, World, answers, false_effects, findings, show

CURVE = 0.3
MAIN = [
    "uniform",
    "trace-ucb",
    "trace-gain",
    "trace-gain:chance=0.3",
]
OTHERS = [
    "trace-gain:chance=0.1",
    "neyman-balanced",
    "complete",
    "permuted-blocks",
    "efron",
    "wei-urn",
    "minimisation",
    "da-optimal",
    "balancing-walk",
    "var-ucb",
    "ch-as",
    "b-as",
    "gafs-max",
    "gfsp-max",
]


def _squares(contexts: np.ndarray) -> np.ndarray:
    """A curve of mean 0 that does not grow with the number of features."""
    curve: np.ndarray = CURVE * np.sum(contexts**2 - 1.0, axis=1) / np.sqrt(contexts.shape[1])
    return curve


def _products(contexts: np.ndarray) -> np.ndarray:
    """All products of two features, likewise; no line knows anything of them."""
    total, squares = np.sum(contexts, axis=1), np.sum(contexts**2, axis=1)
    products: np.ndarray = CURVE * (total**2 - squares) / contexts.shape[1]
    return products


def _normal(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    return rng.normal(size=shape)


def _exponential(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    return rng.exponential(size=shape) - 1.0


def _rare(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """Present in one unit of twenty, in units of its deviation."""
    present = rng.random(shape) < 0.05
    return np.asarray((present - 0.05) / np.sqrt(0.05 * 0.95))


def _world(
    words: str,
    noise: tuple[float, ...],
    dim: int,
    units: int,
    *,
    curve: Callable[[np.ndarray], np.ndarray] | None = None,
    draw: Callable[[np.random.Generator, tuple[int, int]], np.ndarray] = _normal,
) -> World:
    return World(words, noise, dim, units, moment=np.eye(dim), draw=draw, curve=curve)


TWO, FOUR = (0.1, 2.0), (0.01, 0.1, 1.0, 3.0)
WORLDS = {
    "linear": _world("linear, normal contexts, two arms", TWO, 11, 1000),
    "curved": _world("curved, normal contexts, two arms", TWO, 11, 1000, curve=_squares),
    "skewed": _world(
        "curved, exponential contexts, two arms", TWO, 11, 1000, curve=_squares, draw=_exponential
    ),
    "four": _world("curved, normal contexts, four arms", FOUR, 6, 2000, curve=_squares),
    "rare": _world("products of rare binary features, two arms", TWO, 6, 1000, curve=_products, draw=_rare),
    "quiet": _world(
        "the same, one arm nearly without noise", (0.02, 2.0), 5, 1000, curve=_products, draw=_rare
    ),
}


def best_fit(name: str) -> np.ndarray:
    """β* of every arm: 1, and what the squares of skewed features (E[x³] = 2) add to the slopes."""
    dim = WORLDS[name].dim
    fit = np.ones(dim)
    if name == "skewed":
        fit[1:] += CURVE * 2.0 / np.sqrt(dim - 1)
    return fit


def measure(task: Task) -> list[str]:
    """Cells of one line of the table, in percent."""
    truth = best_fit(task.world)
    usual, robust, weighted, other = [], [], [], []
    for trial in range(task.first, task.first + task.trials):
        experiment = WORLDS[task.world].run(task.policy, trial)
        found = findings(experiment)
        robust.append(covered(found.arms, truth))
        usual.append(covered([dataclasses.replace(arm, sandwich=None) for arm in found.arms], truth))
        other.append([false_effects(found.arms), found.fit.p_value < 0.05, found.warned])
        try:
            fits = experiment.weighted_estimates()
        except eq.errors.NoPropensities:
            continue
        pairs = combinations([arm.arm for arm in fits], 2)
        effects = np.mean([fits.contrast(*pair).p_values[0] < 0.05 for pair in pairs])
        weighted.append((covered(fits, truth), effects))
    cells = [*_worst(usual), *_worst(robust), *(f"{100 * share:.0f}" for share in np.mean(other, axis=0))]
    if not weighted:
        return [*cells, "–", "–", "–"]
    effects = np.mean([share for _, share in weighted])
    return [*cells, *_worst([inside for inside, _ in weighted]), f"{100 * effects:.0f}"]


def covered(arms: Iterable[Any], truth: np.ndarray) -> np.ndarray:
    """[m, d] whether intervals cover."""
    ends = np.array([arm.intervals for arm in arms])
    inside: np.ndarray = (ends[:, :, 0] <= truth) & (truth <= ends[:, :, 1])
    return inside


def _worst(found: list[np.ndarray]) -> list[str]:
    """Coverage of the intercept and of the slopes, of the arm where it is lowest."""
    inside = np.array(found)
    intercept, slopes = inside[:, :, 0].mean(axis=0), inside[:, :, 1:].mean(axis=(0, 2))
    return [f"{100 * intercept.min():.1f}", f"{100 * slopes.min():.1f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=1000, help="of the first policies")
    parser.add_argument("--other-trials", type=int, default=300, help="of the others")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--worlds", nargs="+", default=list(WORLDS), choices=list(WORLDS))
    parser.add_argument("--policies", nargs="+", default=[*MAIN, *OTHERS])
    parser.add_argument("--keep", type=Path, help="a file of cells, so that a run that was stopped goes on")
    parser.add_argument("--write", type=Path, help="also write the table to this file")
    options = parser.parse_args()
    tasks = [
        Task(
            world,
            policy,
            options.seed * 1_000_000,
            options.trials if policy in MAIN else options.other_trials,
        )
        for world in options.worlds
        for policy in options.policies
    ]
    rows = []
    for task, cells in zip(tasks, answers(measure, tasks, options.processes, options.keep), strict=True):
        rows.append([WORLDS[task.world].words, f"`{task.policy}`", f"{task.trials:,}", *cells])
        print(*rows[-1], sep=" | ", file=sys.stderr, flush=True)
    header = [
        "world",
        "policy",
        "trials",
        "intercept",
        "slopes",
        "robust: intercept",
        "slopes",
        "false effects",
    ]
    header += ["lack of fit", "warned", "weighted: intercept", "slopes", "false effects"]
    few, many = (f"{100 * (0.05 * 0.95 / n) ** 0.5:.1f}" for n in (options.other_trials, options.trials))
    caption = (
        "Percent. Coverage of the best linear fit by 95 % intervals, classical, robust and weighted by "
        "propensities, of the arm where it is lowest; pairs of "
        "arms whose intercepts differ at the 5 % level, though no arm has an effect; trials in which lack of "
        "fit was found at the 5 % level, and in which `estimates()` warned. Two arms: noise 0.1 and 2, "
        "d = 11, n = 1,000; four arms: noise 0.01, 0.1, 1 and 3, d = 6, n = 2,000; curved: "
        "0.3·Σ(xⱼ² − 1)/√(d − 1) added; products: 0.3·Σxᵢxⱼ/(d − 1) over i ≠ j, of features that one unit of "
        "twenty has, d = 6; the last world has noise 0.02 and 2, "
        "d = 5. A share p of N trials has standard error √(p(1 − p)/N): at 5 and "
        f"95 % {many} points with {options.trials:,} trials, {few} with {options.other_trials:,}; for slopes "
        "it is smaller, since every trial has several. The lowest of several arms lies below each arm's own "
        f"coverage by chance alone. Seed {options.seed}, equipoise {eq.__version__}, NUMERICS {eq.NUMERICS}. "
        f"Printed by `python benchmarks/honest/misspecification.py --trials {options.trials} "
        f"--other-trials {options.other_trials}`."
    )
    show(header, rows, caption, options.write)


if __name__ == "__main__":
    main()
