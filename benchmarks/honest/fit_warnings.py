"""When `estimates()` warns: in linear worlds that look crooked, and in curved ones that it was not made for.

python benchmarks/honest/fit_warnings.py --write docs/tables/fit-warnings.md

All arms share one truth, so every effect of the arms is false. A policy that sorts contexts by length, as no
policy of the package does, shows whether the warning comes where it should.
"""

from __future__ import annotations

import argparse
import os
import sys
from itertools import combinations
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # the matrices are small

import numpy as np

import equipoise as eq
from quick_trials import Task, World, answers, false_effects, findings, show


class Sorting(eq.Policy):
    """The first arms like short contexts, the last ones long ones."""

    name = "sorting"
    looks = True

    @staticmethod
    def score(arm: Any, trial: Any, settings: Any) -> Any:
        """How little an arm knows at the context, against how little it knows."""
        return (1.0 + arm.position) * arm.leverage + (1.0 - arm.position) * arm.trace


def _normal(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    return rng.normal(size=shape)


def _lognormal(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    draws: np.ndarray = np.exp(0.8 * rng.normal(size=shape))
    return draws


def _rare(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    return (rng.uniform(size=shape) < 0.1).astype(float)


def _grades(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    return rng.choice([0.0, 1.0, 2.0, 5.0], size=shape, p=[0.4, 0.3, 0.2, 0.1])


def _sites(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """Eight sites, one after the other, each with people of its own."""
    means = rng.normal(size=(8, shape[1]))
    site = np.arange(shape[0]) * 8 // shape[0]
    draws: np.ndarray = means[site] + rng.normal(size=shape)
    return draws


def _heavy(rng: np.random.Generator, contexts: np.ndarray) -> np.ndarray:
    shocks: np.ndarray = rng.standard_t(5, size=len(contexts)) / np.sqrt(5.0 / 3.0)
    return shocks


def _growing(rng: np.random.Generator, contexts: np.ndarray) -> np.ndarray:
    """A standard deviation that grows with the first feature."""
    shocks: np.ndarray = np.exp(0.5 * contexts[:, 1] - 0.25) * rng.normal(size=len(contexts))
    return shocks


def _products(contexts: np.ndarray) -> np.ndarray:
    pairs = list(combinations(range(contexts.shape[1]), 2))
    total: np.ndarray = 0.5 * sum(contexts[:, i] * contexts[:, j] for i, j in pairs) / np.sqrt(len(pairs))
    return total


LINEAR = {
    "linear, log-normal contexts": World("", (0.2, 1.0), 8, 600, _lognormal),
    "linear, rare yes/no features": World("", (0.2, 1.0, 2.0), 7, 900, _rare),
    "linear, grades 0, 1, 2, 5": World("", (0.05, 1.0), 5, 400, _grades),
    "linear, site after site": World("", (0.2, 0.5, 2.0), 6, 800, _sites),
    "linear, 18 features": World("", (0.2, 2.0), 18, 900, _normal),
    "linear, small": World("", (0.3, 1.0, 3.0), 4, 90, _normal),
    "linear, noise t with 5 degrees": World("", (0.2, 1.0), 6, 600, _normal, shape=_heavy),
    "linear, noise that grows with a feature": World("", (0.2, 1.0), 6, 600, _normal, shape=_growing),
}
CURVED = {
    "one square": World("", (0.2, 1.5), 6, 700, _normal, lambda x: 0.4 * x[:, 0] ** 2),
    "all squares, 15 features, five arms": World(
        "", (0.1, 0.3, 1.0, 2.0, 3.0), 16, 2500, _normal, lambda x: 0.3 * np.sum(x**2, axis=1) / 15**0.5
    ),
    "squares, log-normal contexts": World(
        "", (0.2, 1.5), 5, 600, _lognormal, lambda x: 0.1 * np.sum(x**2, axis=1)
    ),
    "all products": World("", (0.2, 1.5), 6, 700, _normal, _products),
    "absolute values of all features": World(
        "", (0.2, 1.5), 8, 900, _normal, lambda x: 0.5 * np.sum(np.abs(x), axis=1) / 7**0.5
    ),
    "a threshold, x > 1": World("", (0.2, 1.5), 5, 700, _normal, lambda x: np.sum(x > 1.0, axis=1)),
    "sin 2x of all features": World(
        "", (0.2, 1.5), 5, 700, _normal, lambda x: 0.5 * np.sum(np.sin(2.0 * x), axis=1)
    ),
}
WORLDS = {**LINEAR, **CURVED}
POLICIES = ["uniform", "trace-gain", "sorting"]


def measure(task: Task) -> list[str]:
    """Cells of one line of the table, in percent."""
    found = []
    for trial in range(task.first, task.first + task.trials):
        policy = Sorting() if task.policy == "sorting" else task.policy
        experiment = WORLDS[task.world].run(policy, trial)
        one = findings(experiment)
        found.append([false_effects(one.arms), one.imbalance, one.fit.p_value < 0.05, one.warned])
    return [f"{100 * share:.1f}" for share in np.mean(found, axis=0)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--worlds", nargs="+", default=list(WORLDS), choices=list(WORLDS))
    parser.add_argument("--keep", type=Path, help="a file of cells, so that a run that was stopped goes on")
    parser.add_argument("--write", type=Path, help="also write the table to this file")
    options = parser.parse_args()
    first = options.seed * 1_000_000
    tasks = [Task(world, policy, first, options.trials) for world in options.worlds for policy in POLICIES]
    rows = []
    for task, cells in zip(tasks, answers(measure, tasks, options.processes, options.keep), strict=True):
        world = WORLDS[task.world]
        size = [str(len(world.noise)), str(world.dim), f"{world.units:,}"]
        rows.append([task.world, *size, f"`{task.policy}`", *cells])
        print(*rows[-1], sep=" | ", file=sys.stderr, flush=True)
    header = ["world", "arms", "d", "n", "policy", "false effects", "imbalance", "lack of fit", "warned"]
    caption = (
        "Percent of trials: pairs of arms whose intercepts differ at the 5 % level, though no arm has an "
        "effect; experiments in which printed estimates name arms with contexts unlike everybody's; lack of "
        "fit at the 5 % level; and warnings. `sorting` is a policy of the script that sends short contexts "
        "to the first arms and long ones to the last. Curves are added to the sum of the features: 0.4x², "
        "0.3·Σx²/√15, 0.1·Σx², 0.5·Σxᵢxⱼ over the root of their number, half "
        "the sum of absolute values over √7, Σ1(x > 1), "
        "0.5·Σsin 2x. "
        f"{options.trials:,} trials: a share of 5 % has standard error "
        f"{100 * (0.05 * 0.95 / options.trials) ** 0.5:.1f}. Seed {options.seed}, equipoise "
        f"{eq.__version__}, NUMERICS {eq.NUMERICS}. Printed by `python benchmarks/honest/fit_warnings.py "
        f"--trials {options.trials}`."
    )
    show(header, rows, caption, options.write)


if __name__ == "__main__":
    main()
