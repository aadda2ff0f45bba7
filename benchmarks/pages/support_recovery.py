"""How often the joint support is recovered exactly, by which criterion, how fast, and how fast others are.

python benchmarks/pages/support_recovery.py --trials 30 --seed 1

Solvers are compared with celer and skglm where they are installed: pip install celer skglm
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np

from equipoise.core.arrays import Matrix, Vector
from equipoise.core.sparse import fit_lasso, recover_support
from equipoise.core.sparse.block_lasso import solve
from equipoise.core.sparse.path import weighted_task
from equipoise.core.sparse.standardised import Integers, Standardised, mean_squares, standardise
from equipoise.core.sparse.task import largest_penalty
from scenarios import arguments, markdown, show

ARMS = 10
EQUAL, UNEQUAL, WILD = (np.ones(ARMS), np.geomspace(0.1, 3.0, ARMS), np.geomspace(0.3, 30.0, ARMS))
# Of a criterion that takes ten times as long, a quarter of the trials.
SLOW, SHARE = ("cross-validation", "stability"), 0.25
# Penalties of the comparison of solvers: λ_max down to where noise enters, and the precision asked of all.
PENALTIES: Vector = np.array([0.95**step for step in range(1, 36)])
TOLERANCE = 1e-6


@dataclass(frozen=True)
class World:
    """Coefficients ±1 on a random support, Gaussian contexts and noise."""

    name: str
    rows: int = 60  # L, of each arm
    dim: int = 500
    sparsity: int = 8
    noise: Vector = field(default_factory=lambda: EQUAL)
    correlation: float = 0.0  # of neighbouring features
    overlap: float = 1.0  # share of the arms in which a feature of the support is active
    slow: bool = False  # whether slow criteria are measured here

    def draw(self, rng: np.random.Generator) -> tuple[Matrix, Vector, Integers, Integers]:
        """Contexts, outcomes, arms and the true support."""
        contexts = rng.normal(size=(ARMS * self.rows, self.dim))
        if self.correlation:
            fresh = np.sqrt(1.0 - self.correlation**2)
            for j in range(1, self.dim):
                contexts[:, j] = self.correlation * contexts[:, j - 1] + fresh * contexts[:, j]
        arms = np.tile(np.arange(ARMS), self.rows)
        support = np.sort(rng.choice(self.dim, self.sparsity, replace=False))
        coefs = rng.choice([-1.0, 1.0], size=(ARMS, self.sparsity))
        active = np.arange(ARMS)[:, None] < round(self.overlap * ARMS)
        coefs *= rng.permuted(np.tile(active, (1, self.sparsity)), axis=0)
        signal = np.einsum("rj,rj->r", contexts[:, support], coefs[arms])
        return contexts, signal + np.sqrt(self.noise[arms]) * rng.normal(size=len(arms)), arms, support


WORLDS = [
    World("the usual one", slow=True),
    *(World(f"L = {rows}", rows=rows, slow=rows in (20, 30)) for rows in (40, 30, 20, 15)),
    *(World(f"d = {dim}", dim=dim) for dim in (100, 300, 1000)),
    World("d = 1000, L = 30", dim=1000, rows=30),
    World("noise 0.1 … 3", noise=UNEQUAL, slow=True),
    World("noise 0.1 … 3, L = 20", noise=UNEQUAL, rows=20),
    World("noise 0.3 … 30, L = 40", noise=WILD, rows=40),
    World("AR(1) 0.5", correlation=0.5),
    World("AR(1) 0.8", correlation=0.8, slow=True),
    World("AR(1) 0.8, L = 30", correlation=0.8, rows=30),
    World("half of the arms", overlap=0.5),
    World("half of the arms, L = 30", overlap=0.5, rows=30, slow=True),
    World("s = 20", sparsity=20),
    World("s = 0", sparsity=0, slow=True),
    World("s = 0, L = 20", sparsity=0, rows=20),
]
METHODS: dict[str, dict[str, Any]] = {
    "s known, elimination": {},
    "s known, path": {"criterion": "path"},
    "elimination": {"criterion": "elimination"},
    "ebic": {"criterion": "ebic"},
    "cross-validation": {"criterion": "cross-validation"},
    "stability": {"criterion": "stability"},
}


def measure(world: World, trials: int, seed: int) -> list[list[str]]:
    """A row for every method."""
    found: dict[str, list[tuple[float, int, int, float]]] = {name: [] for name in METHODS}
    for trial in range(trials):
        contexts, outcomes, arms, support = world.draw(np.random.default_rng([seed, trial]))
        for name, options in METHODS.items():
            if name in SLOW and (not world.slow or trial >= SHARE * trials):
                continue
            sparsity = world.sparsity if name.startswith("s known") else None
            start = time.perf_counter()
            columns = recover_support(contexts, outcomes, arms, ARMS, sparsity=sparsity, **options).columns
            took = time.perf_counter() - start
            missed = len(np.setdiff1d(support, columns))
            extra = len(np.setdiff1d(columns, support))
            found[name].append((missed + extra == 0, missed, extra, 1e3 * took))
    rows = []
    for name, trials_of in found.items():
        if trials_of:
            exact, missed, extra, _ = np.mean(trials_of, axis=0)
            error = np.sqrt(exact * (1.0 - exact) / len(trials_of))
            took = np.median([trial[3] for trial in trials_of])
            share = f"{100 * exact:.1f} ± {100 * error:.1f} %"
            cells = [f"{len(trials_of)}", share, f"{missed:.3f}", f"{extra:.3f}", f"{took:.0f}"]
            rows.append([world.name, name, *cells])
    return rows


def fits(trials: int, seed: int) -> list[list[str]]:
    """Squared errors of coefficients: what the lasso makes of the same rows."""
    world = World("")
    methods: dict[str, dict[str, Any]] = {
        f"{'joint' if joint else 'an arm alone'}, {how}{', least squares' if refit else ''}": {
            "joint": joint,
            "refit": refit,
            "noise": world.noise if how == "σ known" else None,
        }
        for joint in (False, True)
        for how in ("cross-validated", "σ known")
        for refit in (False, True)
    }
    errors: dict[str, list[float]] = {name: [] for name in [*methods, "recovered support, least squares"]}
    times: dict[str, list[float]] = {name: [] for name in errors}
    for trial in range(trials):
        rng = np.random.default_rng([seed, trial])
        contexts, _, arms, support = world.draw(rng)
        truth = np.zeros((ARMS, world.dim))
        truth[:, support] = rng.choice([-1.0, 1.0], size=(ARMS, world.sparsity))
        outcomes = np.einsum("rj,rj->r", contexts, truth[arms]) + rng.normal(size=len(arms))

        def recovered() -> Matrix:
            columns = recover_support(contexts, outcomes, arms, ARMS).columns  # noqa: B023
            coefs = np.zeros((ARMS, world.dim))
            for i in range(ARMS):
                own = arms == i  # noqa: B023
                coefs[i, columns] = np.linalg.lstsq(contexts[own][:, columns], outcomes[own])[0]  # noqa: B023
            return coefs

        for name in errors:
            start = time.perf_counter()
            coefs = (
                fit_lasso(contexts, outcomes, arms, ARMS, **methods[name]) if name in methods else recovered()
            )
            times[name].append(1e3 * (time.perf_counter() - start))
            errors[name].append(float(np.mean(np.sum((coefs - truth) ** 2, axis=1))))
    return [
        [name, f"{np.mean(of):.3f} ± {np.std(of) / np.sqrt(len(of)):.3f}", f"{np.median(times[name]):.0f}"]
        for name, of in errors.items()
    ]


def solvers(seed: int) -> list[list[str]]:
    """Milliseconds for the same penalties on the same problem, compilation left out."""
    contexts, outcomes, arms, _ = World("").draw(np.random.default_rng([seed, 0]))
    data = standardise(contexts, outcomes, arms, ARMS)
    scale = np.sqrt(mean_squares(data.outcomes, data))
    largest = largest_penalty(weighted_task(data, scale))
    rows = []
    for name, maker in SOLVERS.items():
        try:
            path = maker(data, scale, largest * PENALTIES)
        except ImportError as error:
            rows.append([name, f"left out: {error}"])
            continue
        path()
        times = []
        for _ in range(3):
            start = time.perf_counter()
            path()
            times.append(1e3 * (time.perf_counter() - start))
        rows.append([name, f"{min(times):.1f}"])
    return rows


Path = Callable[[], object]


def ours(data: Standardised, scale: Vector, penalties: Vector) -> Path:
    def path() -> object:
        task = weighted_task(data, scale)
        return [solve(task, penalty, TOLERANCE) for penalty in penalties]

    return path


def with_celer(data: Standardised, scale: Vector, penalties: Vector) -> Path:
    design, target = block_diagonal(data, scale)
    celer_path = import_module("celer").celer_path
    alphas = penalties / len(target)
    return lambda: celer_path(design, target, "grouplasso", alphas=alphas, groups=ARMS, tol=TOLERANCE)


def with_skglm(data: Standardised, scale: Vector, penalties: Vector) -> Path:
    design, target = block_diagonal(data, scale)
    skglm = import_module("skglm")
    alphas = penalties / len(target)
    model = skglm.GroupLasso(groups=ARMS, alpha=1.0, fit_intercept=False, tol=TOLERANCE, warm_start=True)

    def path() -> object:
        model.coef_ = np.zeros(design.shape[1])
        for alpha in alphas:
            model.alpha = alpha
            model.fit(design, target)
        return model

    return path


SOLVERS: dict[str, Callable[[Standardised, Vector, Vector], Path]] = {
    "equipoise": ours,
    "celer": with_celer,
    "skglm": with_skglm,
}


def block_diagonal(data: Standardised, scale: Vector) -> tuple[Matrix, Vector]:
    """One design for all arms: the columns of a feature stand together, which makes them a group."""
    arms = len(data.counts)
    design = np.zeros((int(data.counts.sum()), arms * len(data.design)), order="F")
    target = np.zeros(len(design))
    first = 0
    for i, count in enumerate(data.counts):
        own = slice(data.starts[i], data.starts[i] + count)
        design[first : first + count, i::arms] = data.design[:, own].T
        target[first : first + count] = data.outcomes[own] / scale[i]
        first += count
    return design, target


def main() -> None:
    options = arguments(__doc__, trials=30)
    recover_support(np.eye(4), np.ones(4), np.zeros(4, dtype=int), 1)  # compiles
    run = f"--trials {options.trials} --seed {options.seed}"
    printed = f"Printed by `python benchmarks/pages/support_recovery.py {run}`."
    recovered = [row for world in WORLDS for row in measure(world, options.trials, options.seed)]
    usual = (
        f"m = {ARMS}, d = 500, s = 8, L = 60 rows an arm, coefficients ±1, noise variance 1, white contexts"
    )
    few = max(2, options.trials // 6)
    tables = [
        markdown(
            ["world", "method", "trials", "exactly recovered", "missed", "too many", "ms"],
            recovered,
            f"Joint supports; the usual world has {usual}. Missed and too many are features a trial; ms is "
            f"the median of whole calls on one core. {printed}",
        ),
        markdown(
            ["fit", "squared error of an arm's coefficients", "ms"],
            fits(few, options.seed),
            f"The usual world, {few} trials, ± one standard error. {printed}",
        ),
        markdown(
            ["solver", "ms"],
            solvers(options.seed),
            f"{len(PENALTIES)} penalties from λ_max to {PENALTIES[-1]:.2f} λ_max in the usual world, "
            f"tolerance {TOLERANCE:g} as each defines it, the best of three runs. {printed}",
        ),
    ]
    show("\n".join(tables), options.write)


if __name__ == "__main__":
    main()
