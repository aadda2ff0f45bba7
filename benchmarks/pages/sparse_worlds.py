"""Sparse arms that share all, some or none of their features: errors, features found, bounds passed.

python benchmarks/pages/sparse_worlds.py --trials 6 --write docs/tables/sparse-worlds.md
python benchmarks/pages/sparse_worlds.py --trials 6 --further

`uniform-lasso` is a cross-validated lasso of every arm, on as many penalties as scikit-learn's LassoCV takes.
"""

from __future__ import annotations

import argparse
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import equipoise as eq
from equipoise.core.arithmetic.numerics import NUMERICS
from equipoise.core.arrays import Matrix, Vector
from equipoise.errors import SupportWarning
from scenarios import markdown, show

EQUAL, UNEQUAL = np.ones(8), np.geomspace(0.2, 4.0, 8)
CONFIDENCE = 0.95


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
    World("partly shared, AR 0.8", 3, 3, correlation=0.8),
    World("partly shared, n = 600", 3, 3, budget=600),
    World("shared, d = 100, n = 800", 5, 0, dim=100, budget=800),
]
METHODS = ["sparse-trace-ucb", "sparse-trace-ucb:shared=true", "uniform-lasso", "sparse-oracle"]


@dataclass(frozen=True)
class Trial:
    """What one method made of one draw."""

    errors: Vector  # [m]
    missed: float  # features an arm
    false: float
    passed: float  # share of arms whose error is above error_bound; NaN where there is none
    seconds: float


def run(world: World, method: str, seed: int, trial: int) -> Trial:
    coefs, contexts, noise = world.draw(np.random.default_rng([seed, trial]))
    start = time.perf_counter()
    bounds: Vector = np.full(len(coefs), np.nan)
    estimates = experiment(world, method, coefs, contexts, noise, seed=trial).estimates(confidence=CONFIDENCE)
    found, chosen = np.array([arm.coef for arm in estimates]), np.zeros(coefs.shape, bool)
    for i, arm in enumerate(estimates):
        chosen[i, arm.columns] = True
    if method.startswith("sparse-trace-ucb"):
        bounds = np.array([arm.error_bound for arm in estimates])
    gap, matters = found - coefs, coefs != 0.0
    errors = np.einsum("ij,jk,ik->i", gap, world.moment(), gap)
    return Trial(
        errors=errors,
        missed=float(np.mean(np.sum(matters & ~chosen, axis=1))),
        false=float(np.mean(np.sum(chosen & ~matters, axis=1))),
        passed=float(np.mean(errors > bounds)) if np.all(np.isfinite(bounds)) else np.nan,
        seconds=time.perf_counter() - start,
    )


def experiment(
    world: World, method: str, coefs: Matrix, contexts: Matrix, noise: Matrix, *, seed: int
) -> eq.Experiment:
    """All units asked and told, one after the other."""
    policy = eq.parse_policy(method)
    if method == "sparse-oracle":
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


def row(world: World, method: str, trials: list[Trial]) -> list[str]:
    errors = np.array([trial.errors for trial in trials])
    worst = int(np.argmax(errors.mean(axis=0)))
    stderr = errors[:, worst].std(ddof=1) / np.sqrt(len(trials))
    mean, passed = errors.mean(axis=1), np.mean([trial.passed for trial in trials])
    return [
        world.name,
        f"`{method}`",
        f"{errors.mean(axis=0)[worst]:.3f} ± {stderr:.3f}",
        f"{mean.mean():.3f} ± {mean.std(ddof=1) / np.sqrt(len(trials)):.3f}",
        f"{np.mean([trial.missed for trial in trials]):.2f}",
        f"{np.mean([trial.false for trial in trials]):.2f}",
        "–" if np.isnan(passed) else f"{100 * passed:.0f} %",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--further", action="store_true", help="other noise, coefficients, sizes instead")
    parser.add_argument("--write", type=Path, help="also write the table to this file")
    options = parser.parse_args()
    warnings.simplefilter("ignore", SupportWarning)
    rows = []
    for world in FURTHER if options.further else WORLDS:
        for method in METHODS:
            rows.append(
                row(world, method, [run(world, method, options.seed, t) for t in range(options.trials)])
            )
            print(" | ".join(rows[-1]), flush=True)
    caption = (
        "m = 8 arms, d = 400 features of which 6 matter to an arm, n = 1500, AR(1) 0.5, coefficients ±1 "
        "(weak: ±0.3), noise variances 0.2 … 4 (equal: 1), where not said otherwise; "
        f"{options.trials} trials. Worst: largest mean error of an arm, with the standard error of that "
        "arm's mean. Missed and false: features an arm, of its model. Above the bound: share of arms whose "
        f"error is above `error_bound` at {100 * CONFIDENCE:.0f} %. The oracle knows the noise and the union "
        "of the features. Printed by `python benchmarks/pages/sparse_worlds.py --trials "
        f"{options.trials} --seed {options.seed}`, equipoise {eq.__version__}, NUMERICS {NUMERICS}."
    )
    header = ["world", "method", "worst error", "mean error", "missed", "false", "above the bound"]
    show(markdown(header, rows, caption), options.write)


if __name__ == "__main__":
    main()
