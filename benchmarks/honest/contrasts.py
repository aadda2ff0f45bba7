"""How often intervals of contrasts cover after adaptive allocation: each by itself, and all at once.

python benchmarks/honest/contrasts.py --write docs/tables/intervals/contrasts.md
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # the matrices are small

import numpy as np

import equipoise as eq
from equipoise.core.arrays import Matrix, Vector
from equipoise.core.estimates.arm_estimate import ArmEstimate
from equipoise.core.estimates.estimates import estimate_arms
from equipoise.core.estimates.inference.combinations import Combined, combined, joined, less
from equipoise.core.text_tables import markdown_table
from equipoise.lab.trial.bench import ScenarioBench
from equipoise.studies.noise import EQUAL, UNEQUAL

LEVEL = 0.95
POLICIES = ("uniform", "trace-ucb", "trace-gain")
CLASSICAL, BOTH = ("classical",), ("classical", "robust")
DOSES = (0.25, 1.0, 1.0, 4.0)


def scenario(noise: tuple[float, ...], dim: int, budget: int, growth: float = 0.0) -> eq.Scenario:
    """The first feature is constant."""
    return eq.GaussianScenario(
        noise=noise, dim=dim, budget=budget, intercept=True, heteroscedasticity=growth, estimator="ridge"
    )


WORLDS: list[tuple[str, eq.Scenario, tuple[str, ...]]] = [
    ("equal", scenario(tuple(EQUAL), 10, 115), BOTH),
    ("unequal", scenario(tuple(UNEQUAL), 10, 115), BOTH),
    ("unequal", scenario(tuple(UNEQUAL), 10, 350), BOTH),
    ("doses", scenario(DOSES, 6, 60), BOTH),
    ("doses", scenario(DOSES, 6, 240), BOTH),
    ("three", scenario((0.25, 1.0, 4.0), 3, 45), CLASSICAL),
    ("twenty", scenario(tuple(np.geomspace(0.1, 4.0, 20)), 3, 200), CLASSICAL),
    ("doses, 1 + 4x²", scenario(DOSES, 6, 240, growth=4.0), BOTH),
]


def trials_of(
    world: eq.Scenario, policy: str, trials: int, seed: int
) -> Iterator[tuple[list[ArmEstimate], Matrix, Vector]]:
    """Robust estimates at the end of every trial, the true coefficients, and the mean context."""
    bench = ScenarioBench(world, [eq.parse_policy(policy)], seed)
    (seat,) = bench.seats
    for first in range(0, trials, bench.draws.block):
        count = min(bench.draws.block, trials - first)
        bench.draws.draw(first, count)
        for place in range(count):
            seat.run_one(place, first + place)
            arms = estimate_arms(
                seat.stage, estimator="ridge", ridge=None, confidence=LEVEL, intervals="robust"
            )
            state = seat.stage.state
            seen = state.contexts[: int(state.trial["step"][0])]
            yield arms, bench.draws.world.coefs[place], np.mean(seen, axis=0)


def misses(found: Combined, truth: Vector) -> tuple[Vector, bool, float]:
    """Which intervals miss by themselves; whether all cover at once; how much wider these are."""
    errors = np.abs(found.values - truth)
    each, all_of = found.spread.half(LEVEL), found.spread.half_of_all(LEVEL)
    # What is not determined has no bounded interval, and cannot miss.
    some = found.spread.known
    ratio = float(np.median(all_of[some] / each[some])) if some.any() else np.nan
    return (errors[some] > each[some]).astype(float), bool(np.all(errors[some] <= all_of[some])), ratio


def measure(
    world: eq.Scenario, policy: str, kinds: tuple[str, ...], trials: int, seed: int
) -> dict[str, list[str]]:
    """Cells of one row a kind of interval."""
    found: dict[str, list[list[float]]] = {kind: [] for kind in kinds}
    by_pair: dict[str, list[Vector]] = {kind: [] for kind in kinds}
    dim, count = world.dim, len(world.noise)
    pairs = list(combinations(range(count), 2))
    control = [pair for pair in pairs if pair[0] == 0]
    for robust, coefs, average in trials_of(world, policy, trials, seed):
        for kind in kinds:
            arms = robust if kind == "robust" else [replace(arm, sandwich=None) for arm in robust]
            columns = [combined(arm, np.eye(dim)) for arm in arms]
            means = [combined(arm, average[None]) for arm in arms]
            families = {
                "coefficients": (joined(columns), coefs.ravel()),
                "means": (joined(means), coefs @ average),
                "pairs": (
                    joined([less(columns[j], columns[i]) for i, j in pairs]),
                    np.concatenate([coefs[j] - coefs[i] for i, j in pairs]),
                ),
                "pairs at average": (
                    joined([less(means[j], means[i]) for i, j in pairs]),
                    np.array([(coefs[j] - coefs[i]) @ average for i, j in pairs]),
                ),
                "control at average": (
                    joined([less(means[j], means[i]) for i, j in control]),
                    np.array([(coefs[j] - coefs[i]) @ average for i, j in control]),
                ),
            }
            results = {name: misses(*family) for name, family in families.items()}
            each = [
                1.0 - float(np.mean(results[name][0]))
                for name in ("coefficients", "pairs", "pairs at average")
            ]
            once = [results[name][1] for name in families]
            found[kind].append([*each, *once, results["pairs at average"][2]])
            missed = results["pairs"][0]
            if len(missed) == dim * len(pairs):
                by_pair[kind].append(missed.reshape(len(pairs), dim).mean(axis=1))
    cells = {}
    for kind in kinds:
        table = np.array(found[kind], float)
        lowest = 1.0 - np.mean(by_pair[kind], axis=0).max()
        texts = [percent(column) for column in table[:, :-1].T]
        cells[kind] = [*texts[:2], f"{100 * lowest:.1f}", *texts[2:], f"{np.nanmedian(table[:, -1]):.2f}"]
    return cells


def percent(shares: Vector) -> str:
    return f"{100 * shares.mean():.1f} ± {100 * shares.std() / np.sqrt(len(shares)):.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", type=Path, help="also write the table to this file")
    options = parser.parse_args()
    rows = []
    for name, world, kinds in WORLDS:
        for policy in POLICIES:
            for kind, cells in measure(world, policy, kinds, options.trials, options.seed).items():
                shape = f"{len(world.noise)}, {world.dim}, {int(world.budget)}"
                rows.append([name, shape, f"`{policy}`", kind, *cells])
                print(rows[-1], flush=True)
    header = ["noise", "m, d, n", "policy", "intervals", "each: coefficients", "pairs", "worst pair"]
    header += ["pairs at average", "all at once: coefficients", "means", "pairs", "pairs at average"]
    header += ["control at average", "width"]
    caption = (
        "Percent. Each: truths inside their 95 % interval, of all coefficients, of the coefficients' "
        "differences between all pairs of arms (and of the pair where that is lowest), and of the pairs' "
        "differences at the mean context. All at once: trials in which every interval of the family "
        "covered: all coefficients of all arms, all arms' means at the mean context, all pairs' "
        "coefficients, all pairs and all contrasts with the first arm at the mean context. Width: of all "
        "pairs at the mean context at once, over each by itself, median. Equal and unequal: the paper's "
        "noise; doses: 0.25, 1, 1, 4; three: 0.25, 1, 4; twenty: 0.1 to 4, geometric; 1 + 4x²: noise that "
        "grows with the second feature. "
        f"{options.trials:,} trials, seed {options.seed}, equipoise {eq.__version__}, "
        f"NUMERICS {eq.NUMERICS}. "
        f"Printed by `python benchmarks/honest/contrasts.py --trials {options.trials}`."
    )
    table = f"{markdown_table(header, rows)}\n{caption}\n"
    print(table)
    if options.write is not None:
        options.write.parent.mkdir(parents=True, exist_ok=True)
        options.write.write_text(table)


if __name__ == "__main__":
    main()
