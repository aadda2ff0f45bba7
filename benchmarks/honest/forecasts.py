"""Whether bands of forecasts cover: experiments are forecast half-way, run to their end, and looked at.

python benchmarks/honest/forecasts.py --write docs/tables/worlds/forecasts.md
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

import equipoise as eq
from equipoise.core.arrays import Matrix, Vector
from quick_trials import show

DIM, POLICY = 5, "trace-gain"
# Of so many draws and the number to be forecast every order is as likely: 114 of 120 places are 95 %.
DRAWS, WITHIN_95, WITHIN_80 = 119, (3, 116), (12, 107)
UNEQUAL = (0.05, 0.5, 1.0, 4.0)


@dataclass(frozen=True)
class World:
    """What experiments are run in."""

    name: str
    noise: tuple[float, ...] = UNEQUAL
    units: int = 120
    size: float = 1.0
    awaited: int = 0
    learned: bool = False
    arms_alike: int = 0
    shock: Callable[[np.random.Generator], float] = np.random.Generator.standard_normal
    curvature: float = 0.0


def student(rng: np.random.Generator) -> float:
    """Noise of unit variance with heavy tails, three degrees of freedom."""
    return float(rng.standard_t(3) / np.sqrt(3.0))


WORLDS = (
    World("equal noise", noise=(1.0, 1.0, 1.0, 1.0)),
    World("unequal noise"),
    World("one wild arm", noise=(0.1, 0.1, 0.1, 10.0)),
    World("Σ learned", learned=True),
    World("20 outcomes awaited", awaited=20),
    World("few units, n = 60", units=60),
    World("small coefficients", size=0.1, noise=(1.0, 1.0, 1.0, 1.0)),
    World("arms alike", arms_alike=4, noise=(1.0, 1.0, 1.0, 1.0)),
    World("three arms alike, one not", arms_alike=3, noise=(1.0, 1.0, 1.0, 1.0)),
    World("heavy tails", shock=student),
    World("curved truth", curvature=1.0),
)


class Run:
    """One experiment in a world."""

    def __init__(self, world: World, seed: int) -> None:
        self.world, self.rng = world, np.random.default_rng(seed)
        m = len(world.noise)
        self.coefs: Matrix = world.size * self.rng.normal(size=(m, DIM))
        self.coefs[: world.arms_alike] = self.coefs[0]
        moment = None if world.learned else np.eye(DIM)
        problem = eq.Problem(arms=m, dim=DIM, budget=world.units, moment=moment)
        self.experiment = eq.Experiment(problem, policy=POLICY, seed=seed)
        self.waiting: dict[int, float] = {}

    def go_on(self, until: int, awaited: int = 0) -> None:
        """Ask until so many units are assigned; the outcomes of the last few do not come yet."""
        world, experiment = self.world, self.experiment
        self.tell_all()
        while experiment.asked < until:
            x = self.rng.normal(size=DIM)
            unit = experiment.ask(x)
            i = experiment.problem.index(unit.arm)
            bend = world.curvature * (x[0] ** 2 - 1.0) / np.sqrt(2.0)
            y = x @ self.coefs[i] + bend + np.sqrt(world.noise[i]) * world.shock(self.rng)
            self.waiting[unit.id] = float(y)
            if experiment.asked <= until - awaited:
                self.tell_all()

    def tell_all(self) -> None:
        """Tell what is awaited."""
        for unit, outcome in self.waiting.items():
            self.experiment.tell(unit, outcome)
        self.waiting.clear()

    def errors(self) -> Vector:
        """What the arms' errors really are now."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = np.array([arm.coef for arm in self.experiment.estimates()])
        gaps = found - self.coefs
        return np.asarray((gaps * gaps).sum(axis=1))


def ranks(world: World, runs: int) -> tuple[dict[str, Matrix], int]:
    """Draws below what came, a row a run, the objective first and then the arms; runs without a forecast."""
    found: dict[str, list[list[int]]] = {"pooled": [], "unshrunk": []}
    refused = 0
    for seed in range(runs):
        run = Run(world, seed)
        run.go_on(world.units // 2, world.awaited)
        try:
            forecasts = {
                truth: eq.forecast(run.experiment, trials=DRAWS, seed=seed, looks=1, truth=truth, workers=1)
                for truth in found
            }
        except eq.errors.NotIdentified:
            refused += 1
            continue
        run.go_on(world.units)
        errors = run.errors()
        for truth, forecast in forecasts.items():
            course = forecast.courses[0]
            below = np.count_nonzero(course.errors[:, -1] < errors, axis=0)
            worst = np.count_nonzero(course.values[:, -1] < errors.max())
            found[truth].append([int(worst), *below.tolist()])
    return {truth: np.array(each) for truth, each in found.items()}, refused


def share(hits: npt.NDArray[np.bool_]) -> str:
    """Percent, with its standard error; arms of one run count as one."""
    by_run = 100.0 * np.asarray(hits, float).reshape(len(hits), -1).mean(axis=1)
    return f"{by_run.mean():.1f} ± {by_run.std(ddof=1) / np.sqrt(len(by_run)):.1f}"


def inside(places: Matrix, ends: tuple[int, int]) -> str:
    """How often what came lies inside."""
    return share((places >= ends[0]) & (places <= ends[1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--write", type=Path, help="also write the table to this file")
    options = parser.parse_args()
    rows = []
    for world in WORLDS:
        found, refused = ranks(world, options.runs)
        pooled, unshrunk = found["pooled"], found["unshrunk"]
        rows.append(
            [
                world.name,
                inside(pooled[:, :1], WITHIN_80),
                inside(pooled[:, :1], WITHIN_95),
                share(pooled[:, :1] < (DRAWS + 1) // 2),
                inside(pooled[:, 1:], WITHIN_80),
                inside(pooled[:, 1:], WITHIN_95),
                inside(unshrunk[:, :1], WITHIN_95),
                str(refused),
            ]
        )
        print(*rows[-1], sep=" | ", flush=True)
    header = [
        *("world", "worst arm: in 80 %", "in 95 %", "below the median", "each arm: in 80 %", "in 95 %"),
        *("worst arm, unshrunk: in 95 %", "refused"),
    ]
    caption = (
        "Percent of experiments whose errors at the end lay inside the bands that were forecast half-way. "
        f"m = 4, d = {DIM}, n = 120 and noise {', '.join(f'{each:g}' for each in UNEQUAL)} unless said; "
        f"standard normal contexts and coefficients, `{POLICY}`, default estimator; {options.runs} "
        f"experiments a world, {DRAWS} trials a forecast. Below the median should be 50. The last column "
        'but one is `truth="unshrunk"`; the last counts experiments in which an arm had no model yet. '
        f"equipoise {eq.__version__}, NUMERICS {eq.NUMERICS}. "
        "Printed by `python benchmarks/honest/forecasts.py`."
    )
    show(header, rows, caption, options.write)


if __name__ == "__main__":
    main()
