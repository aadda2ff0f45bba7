"""Whether forecasts keep what they say: experiments are forecast, run to their end, and looked at.

python benchmarks/honest/forecasts.py --write docs/tables/worlds/forecasts.md
python benchmarks/honest/forecasts.py --early --runs 80 --write docs/tables/worlds/forecasts-early.md
python benchmarks/honest/forecasts.py --losses --runs 80 --write docs/tables/worlds/forecasts-losses.md
python benchmarks/honest/forecasts.py --targets --runs 60 --write docs/tables/worlds/forecasts-targets.md
python benchmarks/honest/forecasts.py --sparse --runs 30 --write docs/tables/worlds/forecasts-sparse.md
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

import equipoise as eq
from equipoise.core.arrays import Matrix, Vector
from quick_trials import show

# Of so many draws and the number to be forecast every order is as likely: 114 of 120 places are 95 %.
DRAWS, SPARSE_DRAWS = 119, 39
UNEQUAL = (0.05, 0.5, 1.0, 4.0)
EQUAL = (1.0, 1.0, 1.0, 1.0)
# A target is this share of the median that is forecast for the planned end.
AIM = 0.8


@dataclass(frozen=True)
class World:
    """What experiments are run in."""

    name: str
    noise: tuple[float, ...] = UNEQUAL
    units: int = 120
    at: float = 0.5
    """The share of the units after which the forecast is made."""
    dim: int = 5
    size: float = 1.0
    awaited: int = 0
    learned: bool = False
    arms_alike: int = 0
    shock: Callable[[np.random.Generator], float] = np.random.Generator.standard_normal
    curvature: float = 0.0
    lost: tuple[float, ...] = ()
    """Chances that outcomes of the arms never come; none unless given."""
    delay: float = 0.0
    """Mean of further units until an outcome comes or is given up, geometric."""
    matter: int = 0
    """Features of an arm that matter, of which half are those of all arms; 0: all."""
    policy: str = "trace-gain"

    @property
    def draws(self) -> int:
        """Trials of a forecast; those that choose features take long."""
        return SPARSE_DRAWS if self.matter else DRAWS


def student(rng: np.random.Generator) -> float:
    """Noise of unit variance with heavy tails, three degrees of freedom."""
    return float(rng.standard_t(3) / np.sqrt(3.0))


WORLDS = (
    World("equal noise", noise=EQUAL),
    World("unequal noise"),
    World("one wild arm", noise=(0.1, 0.1, 0.1, 10.0)),
    World("Σ learned", learned=True),
    World("few units, n = 60", units=60),
    World("small coefficients", size=0.1, noise=EQUAL),
    World("arms alike", arms_alike=4, noise=EQUAL),
    World("three arms alike, one not", arms_alike=3, noise=EQUAL),
    World("heavy tails", shock=student),
    World("curved truth", curvature=1.0),
)
UNEVEN = (0.0, 0.1, 0.2, 0.4)
LOSSES = (
    World("20 outcomes awaited", awaited=20),
    World("10 % lost", lost=(0.1,) * 4),
    World("0, 10, 20, 40 % lost", lost=UNEVEN),
    World("the same, after 15 units", lost=UNEVEN, delay=15.0),
)
EARLY = tuple(
    replace(world, name=f"{world.name}, at {units}", at=units / world.units)
    for world in (
        *(World("equal noise", noise=EQUAL), World("unequal noise"), World("Σ learned", learned=True)),
        *(World("arms alike", arms_alike=4, noise=EQUAL), World("20 % lost", lost=(0.2,) * 4)),
    )
    for units in (30, 45)
)
TARGETS = (
    *(World("equal noise", noise=EQUAL), World("unequal noise")),
    *(World("arms alike", arms_alike=4, noise=EQUAL), World("20 % lost", lost=(0.2,) * 4)),
)
SHARED = "sparse-trace-ucb:shared=true"
FEW = World("", dim=20, units=150, matter=4, noise=(0.5, 1.0, 2.0))
SPARSE = (
    replace(FEW, name="one choice for all arms", policy=SHARED),
    replace(FEW, name="the same, at 45", at=0.3, policy=SHARED),
    replace(FEW, name="round robin, a lasso an arm", policy="uniform-lasso"),
)


class Run:
    """One experiment in a world."""

    def __init__(self, world: World, seed: int) -> None:
        self.world, self.rng = world, np.random.default_rng(seed)
        m, dim = len(world.noise), world.dim
        self.coefs: Matrix = world.size * self.rng.normal(size=(m, dim))
        self.coefs[: world.arms_alike] = self.coefs[0]
        if world.matter:
            half = world.matter // 2
            for coef in self.coefs:
                coef[half + self.rng.permutation(dim - half)[world.matter - half :]] = 0.0
        moment = None if world.learned else np.eye(dim)
        problem = eq.Problem(arms=m, dim=dim, budget=world.units, moment=moment)
        self.experiment = eq.Experiment(problem, policy=world.policy, seed=seed)
        self.waiting: list[tuple[int, int, float | None]] = []
        """Units, when their outcomes come, and what these are; None: lost."""

    def go_on(self, until: int, awaited: int = 0) -> None:
        """Ask until so many units are assigned; the outcomes of the last few do not come yet."""
        world, experiment = self.world, self.experiment
        while experiment.asked < until:
            self.tell(experiment.asked)
            x = self.rng.normal(size=world.dim)
            unit = experiment.ask(x)
            i = experiment.problem.index(unit.arm)
            bend = world.curvature * (x[0] ** 2 - 1.0) / np.sqrt(2.0)
            y = x @ self.coefs[i] + bend + np.sqrt(world.noise[i]) * world.shock(self.rng)
            gone = bool(world.lost) and self.rng.random() < world.lost[i]
            wait = self.rng.geometric(1.0 / (1.0 + world.delay)) - 1 if world.delay else 0
            due = max(experiment.asked + wait, until if unit.id > until - awaited else 0)
            self.waiting.append((unit.id, due, None if gone else float(y)))
        if not awaited:
            self.tell(experiment.asked)

    def tell(self, now: int) -> None:
        """Tell what has come."""
        self.waiting, due = (
            [each for each in self.waiting if (each[1] > now) == later] for later in (True, False)
        )
        settle(self.experiment, due)

    def forecast(self, *, seed: int, truth: str | None = None, target: float | None = None) -> eq.Forecast:
        """As it stands, by as many trials as ranks need."""
        return eq.forecast(
            self.experiment,
            trials=self.world.draws,
            seed=seed,
            truth=truth,
            target=target,
            looks=1,
            workers=1,
        )

    def errors(self) -> Vector:
        """What the arms' errors really are once everything has come that is awaited."""
        ended = self.experiment.in_memory()
        settle(ended, self.waiting)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = np.array([arm.coef for arm in ended.estimates()])
        gaps = found - self.coefs
        return np.asarray((gaps * gaps).sum(axis=1))


def settle(experiment: eq.Experiment, outcomes: Sequence[tuple[int, int, float | None]]) -> None:
    """Tell outcomes, or lose them."""
    for unit, _, outcome in outcomes:
        if outcome is None:
            experiment.lose(unit)
        else:
            experiment.tell(unit, outcome)


def ranks(world: World, runs: int, truths: Sequence[str | None]) -> tuple[list[Matrix], int]:
    """Draws below what came, a row a run, the objective first and then the arms; runs without a forecast."""
    found: list[list[list[int]]] = [[] for _ in truths]
    refused = 0
    for seed in range(runs):
        run = Run(world, seed)
        run.go_on(round(world.at * world.units), world.awaited)
        try:
            forecasts = [run.forecast(truth=truth, seed=seed) for truth in truths]
        except eq.errors.NotIdentified:
            refused += 1
            continue
        run.go_on(world.units)
        errors = run.errors()
        for places, forecast in zip(found, forecasts, strict=True):
            course = forecast.courses[0]
            below = np.count_nonzero(course.errors[:, -1] < errors, axis=0)
            worst = np.count_nonzero(course.values[:, -1] < errors.max())
            places.append([int(worst), *below.tolist()])
    return [np.array(each) for each in found], refused


def share(hits: npt.NDArray[np.bool_]) -> str:
    """Percent, with its standard error; arms of one run count as one."""
    by_run = 100.0 * np.asarray(hits, float).reshape(len(hits), -1).mean(axis=1)
    return f"{by_run.mean():.1f} ± {by_run.std(ddof=1) / np.sqrt(len(by_run)):.1f}"


def inside(places: Matrix, percent: int, draws: int) -> str:
    """How often what came lies inside so many percent of the places among the draws."""
    out = (draws + 1) * (100 - percent) // 200
    return share((places >= out) & (places <= draws - out))


def band_cells(world: World, runs: int, *, unshrunk: bool) -> list[str]:
    """How often errors at the end lie inside the bands."""
    found, refused = ranks(world, runs, (None, "unshrunk") if unshrunk else (None,))
    places = found[0]
    cells = [
        inside(places[:, :1], 80, world.draws),
        inside(places[:, :1], 95, world.draws),
        share(places[:, :1] < (world.draws + 1) // 2),
        inside(places[:, 1:], 80, world.draws),
        inside(places[:, 1:], 95, world.draws),
    ]
    return [*cells, *([inside(found[1][:, :1], 95, world.draws)] if unshrunk else []), str(refused)]


def target_cells(world: World, runs: int) -> list[str]:
    """How often targets are met with the budgets that should meet them."""
    met: dict[float, list[bool]] = {0.5: [], 0.9: []}
    largest: list[float] = []
    refused = unreached = 0
    for seed in range(runs):
        run = Run(world, seed)
        run.go_on(round(world.at * world.units), world.awaited)
        try:
            planned = run.forecast(seed=seed)
        except eq.errors.NotIdentified:
            refused += 1
            continue
        target = AIM * planned.band(planned.courses[0]).median
        answers = run.forecast(seed=seed, target=target).targets
        budgets = [each.budget for each in answers[:2]]
        if not math.isfinite(budgets[1]):
            unreached += 1
            continue
        largest.append(budgets[1])
        run.experiment.change_budget(max(math.ceil(budgets[1]), world.units))
        for level, budget in zip(met, budgets, strict=True):
            # As far as that budget; the rule does not look at how much is left.
            run.go_on(math.ceil(budget))
            met[level].append(bool(run.errors().max() <= target))
    cells = [share(np.array(each)) for each in met.values()]
    return [*cells, f"{np.median(largest):.0f}", str(refused), str(unreached)]


BANDS = ["world", "worst arm: in 80 %", "in 95 %", "below the median", "each arm: in 80 %", "in 95 %"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--write", type=Path, help="also write the table to this file")
    kinds = {"early": EARLY, "losses": LOSSES, "targets": TARGETS, "sparse": SPARSE}
    flags = parser.add_mutually_exclusive_group()
    for name in kinds:
        flags.add_argument(f"--{name}", dest="kind", action="store_const", const=name)
    options = parser.parse_args()
    usual = options.kind is None
    worlds = WORLDS if usual else kinds[options.kind]
    rows = []
    for world in worlds:
        if options.kind == "targets":
            cells = target_cells(world, options.runs)
        else:
            cells = band_cells(world, options.runs, unshrunk=usual)
        rows.append([world.name, *cells])
        print(*rows[-1], sep=" | ", flush=True)
    header = [*BANDS, *(["worst arm, unshrunk: in 95 %"] if usual else []), "refused"]
    said = (
        "Percent of experiments whose errors at the end lay inside the bands that were forecast. Below the "
        "median should be 50. Refused: experiments in which an arm had no model yet."
    )
    flag = "" if usual else f" --{options.kind}"
    if options.kind == "targets":
        header = ["world", "met, p = 0.5", "met, p = 0.9", "median budget, p = 0.9", "refused", "not reached"]
        said = (
            "Percent of experiments whose worst arm's error met a target with the budget that was forecast "
            "to meet it with probability p; the target is "
            f"{AIM:g} of the median that was forecast for the planned end. Should be 50 and 90."
        )
    plain = "m = 3, d = 20 of which 4 matter to an arm, n = 150, noise 0.5, 1, 2"
    noise = ", ".join(f"{each:g}" for each in UNEQUAL)
    usually = f"m = 4, d = 5, n = 120 and noise {noise}, `trace-gain`, unless said"
    caption = (
        f"{said} {plain if options.kind == 'sparse' else usually}; standard normal contexts and "
        f"coefficients, forecast half-way unless said, default estimator; {options.runs} experiments a "
        f"world, {worlds[0].draws} trials a forecast. equipoise {eq.__version__}, NUMERICS {eq.NUMERICS}. "
        f"Printed by `python benchmarks/honest/forecasts.py{flag} --runs {options.runs}`."
    )
    show(header, rows, caption, options.write)


if __name__ == "__main__":
    main()
