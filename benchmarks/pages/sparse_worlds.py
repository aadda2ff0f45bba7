"""Sparse arms that share all, some or none of their features: errors, features found, bounds passed.

python benchmarks/pages/sparse_worlds.py --trials 20 --write docs/tables/sparse-worlds.md
python benchmarks/pages/sparse_worlds.py --trials 8 --further --write docs/tables/sparse/further.md
python benchmarks/pages/sparse_worlds.py --trials 8 --screens --write docs/tables/sparse/screens.md

`LassoCV` is scikit-learn's, of every arm, on units that were dealt out in turn.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LassoCV

import equipoise as eq
from equipoise.core.arithmetic.numerics import NUMERICS
from equipoise.core.arrays import Matrix, Vector
from equipoise.errors import SupportWarning
from equipoise.lab.results.words import loss_words
from scenarios import markdown, show

EQUAL, UNEQUAL = np.ones(8), np.geomspace(0.2, 4.0, 8)
CONFIDENCE = 0.95
LARGEST, MEAN = loss_words("expected_max"), loss_words("mean")


@dataclass(frozen=True)
class World:
    """Gaussian contexts and noise; ``shared`` features of all arms, ``own`` ones of each."""

    name: str
    shared: int
    own: int
    scale: float = 1.0
    noise: Vector = field(default_factory=lambda: UNEQUAL)
    correlation: float = 0.5  # of neighbouring features
    dim: int = 400
    budget: int = 1500
    normal: bool = False  # coefficients are normal instead of ±1

    def moment(self) -> Matrix:
        """Σ."""
        places = np.arange(self.dim)
        return self.correlation ** np.abs(np.subtract.outer(places, places))

    def draw(self, rng: np.random.Generator) -> tuple[Matrix, Matrix, Matrix]:
        """Coefficients [m, d], contexts [n, d] and the noise that unit and arm would meet [n, m]."""
        arms = len(self.noise)
        coefs, places = np.zeros((arms, self.dim)), rng.permutation(self.dim)
        for i in range(arms):
            first = self.shared + i * self.own
            mine = np.concatenate([places[: self.shared], places[first : first + self.own]])
            signs = rng.choice([-1.0, 1.0], size=len(mine))
            coefs[i, mine] = self.scale * (rng.normal(size=len(mine)) if self.normal else signs)
        contexts = rng.normal(size=(self.budget, self.dim)) @ np.linalg.cholesky(self.moment()).T
        return coefs, contexts, rng.normal(size=(self.budget, arms)) * np.sqrt(self.noise)


WORLDS = [
    World("shared", 6, 0),
    World("partly shared", 3, 3),
    World("disjoint", 0, 6),
    World("shared, weak", 6, 0, scale=0.3),
    World("partly shared, weak", 3, 3, scale=0.3),
    World("disjoint, weak", 0, 6, scale=0.3),
]
FURTHER = [
    World("partly shared, equal noise", 3, 3, noise=EQUAL),
    World("disjoint, weak, equal noise", 0, 6, scale=0.3, noise=EQUAL),
    World("partly shared, normal coefficients", 3, 3, normal=True),
    World("partly shared, AR 0.8, n = 600", 3, 3, correlation=0.8, budget=600),
    World("shared, d = 100, n = 500", 5, 0, dim=100, budget=500),
    World("disjoint, ±0.35, d = 150, 5 arms", 0, 4, 0.35, np.geomspace(0.3, 3.0, 5), 0.3, 150, 700),
    World("disjoint, 10 of ±0.2, d = 300, 6 arms", 0, 10, 0.2, np.geomspace(0.1, 1.0, 6), 0.2, 300, 1200),
    World("partly shared, ±0.5, d = 250, 5 arms", 3, 2, 0.5, np.array([0.5, 0.5, 2, 2, 6]), 0.7, 250, 900),
]
OURS, BASELINE, ORACLE = "sparse-trace-ucb", "LassoCV", "sparse-oracle"
METHODS = [OURS, f"{OURS}:shared=true", BASELINE, ORACLE]
SMALLER = [
    World("shared", 4, 0, 1.0, np.geomspace(0.3, 3.0, 5), 0.3, 150, 700),
    World("partly shared", 2, 2, 1.0, np.geomspace(0.3, 3.0, 5), 0.3, 150, 700),
    World("disjoint, weak", 0, 4, 0.35, np.geomspace(0.3, 3.0, 5), 0.3, 150, 700),
]
# Shares of n/m that L is set to.
SHARES = (0.125, 0.25, 0.5, 0.75, 0.9)


@dataclass(frozen=True)
class Trial:
    """What one method made of one draw; NaN where it makes no such promise."""

    errors: Vector  # [m]
    missed: float  # features an arm
    false: float
    covered: float  # share of the intervals of chosen features that hold the true coefficient
    passed: float  # share of arms whose error is above error_bound
    seconds: float


def run(world: World, method: str, seed: int, trial: int) -> Trial:
    coefs, contexts, noise = world.draw(np.random.default_rng([seed, trial]))
    start = time.perf_counter()
    covered = passed = np.nan
    if method == BASELINE:
        found = lasso_cv(coefs, contexts, noise)
        chosen = found != 0.0
    else:
        going = experiment(world, method, coefs, contexts, noise, seed=trial)
        estimates = going.estimates(confidence=CONFIDENCE)
        found, chosen = np.array([arm.coef for arm in estimates]), np.zeros(coefs.shape, bool)
        inside = []
        for i, arm in enumerate(estimates):
            chosen[i, arm.columns] = True
            low, high = arm.intervals[arm.columns].T
            inside += [*((low <= coefs[i, arm.columns]) & (coefs[i, arm.columns] <= high))]
        covered = float(np.mean(inside)) if inside else np.nan
    gap, matters = found - coefs, coefs != 0.0
    errors = np.einsum("ij,jk,ik->i", gap, world.moment(), gap)
    if method.startswith(OURS):
        passed = float(np.mean(errors > np.array([arm.error_bound for arm in estimates])))
    return Trial(
        errors=errors,
        missed=float(np.mean(np.sum(matters & ~chosen, axis=1))),
        false=float(np.mean(np.sum(chosen & ~matters, axis=1))),
        covered=covered,
        passed=passed,
        seconds=time.perf_counter() - start,
    )


def experiment(
    world: World, method: str, coefs: Matrix, contexts: Matrix, noise: Matrix, *, seed: int
) -> eq.Experiment:
    """All units asked and told, one after the other."""
    policy = eq.parse_policy(method)
    if method == ORACLE:
        union = tuple(np.flatnonzero(coefs.any(axis=0)).tolist())
        policy = eq.SparseOracle(noise=tuple(world.noise), support=union)
    problem = eq.Problem(
        len(coefs), world.dim, budget=world.budget, moment=world.moment(), allow_small_budget=True
    )
    going = eq.Experiment(problem, policy, seed=seed)
    for t, x in enumerate(contexts):
        unit = going.ask(x)
        i = problem.index(unit.arm)
        going.tell(unit.id, float(x @ coefs[i] + noise[t, i]))
    return going


def lasso_cv(coefs: Matrix, contexts: Matrix, noise: Matrix) -> Matrix:
    """Coefficients of every arm by scikit-learn, on units dealt out in turn."""
    found = np.zeros(coefs.shape)
    for i in range(len(coefs)):
        rows = np.arange(i, len(contexts), len(coefs))
        X, y = contexts[rows], contexts[rows] @ coefs[i] + noise[rows, i]
        # The small α of LassoCV's grid, three decades of 33 steps, take nearly all the time. Another decade
        # is searched only where the best of those before is at their end.
        for decades in (1, 2, 3):
            fit = LassoCV(cv=5, fit_intercept=False, eps=0.1**decades, alphas=33 * decades + 1).fit(X, y)
            if fit.alpha_ > 1.01 * fit.alphas_[-1]:
                break
        found[i] = fit.coef_
    return found


def worst(trials: Sequence[Trial]) -> Vector:
    """[trials] errors of the arm whose mean error is largest."""
    errors = np.array([trial.errors for trial in trials])
    return errors[:, int(np.argmax(errors.mean(axis=0)))]


def mean(trials: Sequence[Trial]) -> Vector:
    """[trials] errors, averaged over arms."""
    return np.array([trial.errors.mean() for trial in trials])


def with_error(values: Vector, digits: int = 3, unit: str = "") -> str:
    told = values[~np.isnan(values)]
    if len(told) < 2:
        return "–"
    return f"{told.mean():.{digits}f} ± {told.std(ddof=1) / np.sqrt(len(told)):.{digits}f}{unit}"


def ratio(ours: Vector, theirs: Vector) -> str:
    """Of two means over the same draws, with its standard error."""
    value = ours.mean() / theirs.mean()
    stderr = (ours - value * theirs).std(ddof=1) / np.sqrt(len(ours)) / theirs.mean()
    return f"{value:.2f} ± {stderr:.2f}"


def row(world: World, method: str, trials: Sequence[Trial]) -> list[str]:
    def share(name: str) -> str:
        return with_error(100.0 * np.array([getattr(trial, name) for trial in trials]), 1, " %")

    return [
        world.name,
        f"`{method}`",
        with_error(worst(trials)),
        with_error(mean(trials)),
        f"{np.mean([trial.missed for trial in trials]):.2f}",
        f"{np.mean([trial.false for trial in trials]):.2f}",
        share("covered"),
        share("passed"),
    ]


def compare(worlds: Sequence[World], options: argparse.Namespace) -> str:
    """Both tables: what the methods reach, and ours over LassoCV and the oracle."""
    rows, ratios = [], []
    for world in worlds:
        trials = {}
        for method in METHODS:
            trials[method] = [run(world, method, options.seed, t) for t in range(options.trials)]
            rows.append(row(world, method, trials[method]))
            print(" | ".join(rows[-1]), f"| {np.mean([t.seconds for t in trials[method]]):.1f} s", flush=True)
        ratios.append(
            [
                world.name,
                *(
                    ratio(of(trials[OURS]), of(trials[other]))
                    for other in (BASELINE, ORACLE)
                    for of in (worst, mean)
                ),
            ]
        )
    header = ["world", "method", LARGEST, MEAN, "missed", "false", "covered", "above the bound"]
    caption = (
        "Where not said otherwise: m = 8 arms, d = 400 features of which 6 matter to an arm, n = 1500, "
        "AR(1) 0.5, coefficients ±1 (weak: ±0.3), noise variances 0.2 … 4 (equal: 1). Largest mean error: "
        "that of an arm, with the standard error of that arm's mean; mean error: over arms. Missed and "
        "false: features an arm, of its model. Covered: 95 % intervals of the features chosen that hold the "
        "true coefficient. Above the bound: arms whose error is above `error_bound` at 95 %. `LassoCV` is "
        "scikit-learn's, of every arm, on units dealt out in turn; the oracle knows the noise and the union "
        "of the features."
    )
    over = [f"{which} / {other}" for other in ("LassoCV", "oracle") for which in ("worst", "mean")]
    second = markdown(["world", *over], ratios, f"The same for `{OURS}`, as ratios. {origin(options)}")
    return markdown(header, rows, caption) + "\n" + second


def sweep(options: argparse.Namespace) -> str:
    """The length of the screening, and outcomes that are not reused."""
    rows = []
    for world in SMALLER:
        share = world.budget / len(world.noise)
        lengths = [int(part * share) for part in SHARES]
        for more in [*(f"screen={length}" for length in lengths), f"screen={lengths[2]}:reuse=false"]:
            method = f"{OURS}:{more}"
            trials = [run(world, method, options.seed, t) for t in range(options.trials)]
            missed = f"{np.mean([trial.missed for trial in trials]):.2f}"
            rows.append(
                [world.name, f"`{more}`", with_error(worst(trials)), with_error(mean(trials)), missed]
            )
            print(" | ".join(rows[-1]), flush=True)
    caption = (
        "m = 5 arms, d = 150 features of which 4 matter to an arm, n = 700, AR(1) 0.3, coefficients ±1 "
        "(weak: ±0.35), noise variances 0.3 … 3. An arm's share of the budget is 140 units; L is "
        f"{', '.join(f'{s:.3g}' for s in SHARES)} of it. {origin(options)}"
    )
    return markdown(["world", f"`{OURS}:…`", LARGEST, MEAN, "missed"], rows, caption)


def origin(options: argparse.Namespace) -> str:
    more = " --further" if options.further else " --screens" if options.screens else ""
    return (
        f"{options.trials} trials. Printed by `python benchmarks/pages/sparse_worlds.py --trials "
        f"{options.trials} --seed {options.seed}{more}`, equipoise {eq.__version__}, NUMERICS {NUMERICS}."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--further", action="store_true", help="other noise, coefficients, sizes instead")
    parser.add_argument("--screens", action="store_true", help="other lengths of the screening instead")
    parser.add_argument("--write", type=Path, help="also write the table to this file")
    options = parser.parse_args()
    warnings.simplefilter("ignore", SupportWarning)
    warnings.simplefilter("ignore", ConvergenceWarning)
    table = sweep(options) if options.screens else compare(FURTHER if options.further else WORLDS, options)
    show(table, options.write)


if __name__ == "__main__":
    main()
