"""How often classical and robust 95 % intervals cover, and how wide they are.

python benchmarks/pages/robust_intervals.py --write docs/tables/robust/intervals.md
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import equipoise as eq
from equipoise.core.estimates.arm_estimate import ArmEstimate
from equipoise.core.estimates.estimates import estimate_arms
from equipoise.lab.trial.bench import ScenarioBench
from equipoise.studies.noise import UNEQUAL
from scenarios import arguments, markdown, show

POLICIES = ("uniform", "trace-ucb", "trace-gain")
THREE = (0.25, 1.0, 4.0)
Row = np.ndarray
Trials = Iterator[tuple[list[ArmEstimate], Row]]


def scenario(dim: int, budget: int, **pieces: Any) -> eq.Scenario:
    """Seven arms with the paper's unequal noise where d = 10, three else; the first feature is constant."""
    noise = UNEQUAL if dim == 10 else THREE
    return eq.GaussianScenario(noise=noise, dim=dim, budget=budget, intercept=True, **pieces)


@dataclass(frozen=True)
class World:
    """Three arms whose outcomes no scenario of the lab draws."""

    context: Callable[[np.random.Generator], Row]
    outcome: Callable[[np.random.Generator, float, Row, int], float]
    """From a generator, the expected outcome, the context and the arm."""
    scale: float = 1.0
    """Coefficients are ± that."""
    level: float | None = None
    """The intercept, where all arms have the same."""
    dim, budget = 4, 300


def bounded(rng: np.random.Generator) -> Row:
    return np.concatenate([[1.0], rng.uniform(-1.0, 1.0, size=3) * np.sqrt(3.0)])


def yes_no(rng: np.random.Generator, mean: float, x: Row, arm: int) -> float:
    return float(rng.random() < mean)


def count(rng: np.random.Generator, mean: float, x: Row, arm: int) -> float:
    return float(rng.poisson(mean))


WORLDS: list[tuple[str, eq.Scenario | World]] = [
    ("constant", scenario(10, 115)),
    ("constant", scenario(10, 350)),
    ("constant", scenario(5, 90)),
    ("constant", scenario(5, 300)),
    ("constant, Student contexts", scenario(5, 300, contexts=eq.StudentContexts(dof=5))),
    ("constant, skewed contexts", scenario(4, 300, contexts=eq.SkewedContexts())),
    ("constant", scenario(3, 45)),
    ("grows, 1 + x²", scenario(5, 300, heteroscedasticity=1.0)),
    ("grows, 1 + 4x²", scenario(10, 115, heteroscedasticity=4.0)),
    ("grows, 1 + 4x²", scenario(10, 350, heteroscedasticity=4.0)),
    ("grows, 1 + 4x²", scenario(5, 90, heteroscedasticity=4.0)),
    ("grows, 1 + 4x²", scenario(5, 300, heteroscedasticity=4.0)),
    (
        "grows, 1 + 4x², Student contexts",
        scenario(5, 300, heteroscedasticity=4.0, contexts=eq.StudentContexts(dof=5)),
    ),
    (
        "grows, 1 + 4x², skewed contexts",
        scenario(4, 300, heteroscedasticity=4.0, contexts=eq.SkewedContexts()),
    ),
    ("grows, 1 + 9x²", scenario(3, 45, heteroscedasticity=9.0)),
    ("grows, 1 + 9x²", scenario(8, 240, heteroscedasticity=9.0)),
    ("grows, 1 + 2x²", scenario(15, 300, heteroscedasticity=2.0)),
    ("Student, 5 degrees of freedom", scenario(5, 300, noise_shape=eq.StudentNoise(dof=5))),
    ("yes/no, linear chance", World(bounded, yes_no, scale=0.09, level=0.5)),
    ("counts, linear mean", World(bounded, count, scale=0.5, level=3.0)),
]


def of_scenario(world: eq.Scenario, policy: str, trials: int, seed: int) -> Trials:
    """Robust estimates at the end of every trial, and the true coefficients."""
    bench = ScenarioBench(world, [eq.parse_policy(policy)], seed)
    (seat,) = bench.seats
    for first in range(0, trials, bench.draws.block):
        count = min(bench.draws.block, trials - first)
        bench.draws.draw(first, count)
        for place in range(count):
            seat.run_one(place, first + place)
            arms = estimate_arms(
                seat.stage, estimator="ridge", ridge=None, confidence=0.95, intervals="robust"
            )
            yield arms, bench.draws.world.coefs[place]


def of_world(world: World, policy: str, trials: int, seed: int) -> Trials:
    """The same where an experiment asks for every unit."""
    arms = ["arm-1", "arm-2", "arm-3"]
    problem = eq.Problem(arms, world.dim, budget=world.budget, moment=np.eye(world.dim))
    for number in range(trials):
        rng = np.random.default_rng([seed, number])
        coefs = world.scale * rng.choice([-1.0, 1.0], size=(3, world.dim))
        if world.level is not None:
            coefs[:, 0] = world.level
        experiment = eq.Experiment(problem, policy, seed=number)
        while experiment.remaining:
            x = world.context(rng)
            unit = experiment.ask(x)
            i = arms.index(unit.arm)
            experiment.tell(unit.id, world.outcome(rng, float(x @ coefs[i]), x, i))
        yield list(experiment.estimates(estimator="ridge", intervals="robust")), coefs


def measure(trials: Trials, noise: tuple[float, ...] | None) -> list[str]:
    """Cells of one row; the second feature drives the noise, or would."""
    inside: dict[str, list[Row]] = {"classical": [], "robust": []}
    covered: dict[str, list[bool]] = {"classical": [], "robust": []}
    widths: list[Row] = []
    for estimates, coefs in trials:
        for i, robust in enumerate(estimates):
            width = {}
            for kind, arm in {"classical": replace(robust, sandwich=None), "robust": robust}.items():
                low, high = arm.intervals.T
                inside[kind].append((low <= coefs[i]) & (coefs[i] <= high))
                width[kind] = high - low
                least, most = arm.noise_interval
                covered[kind].append(noise is not None and least <= noise[i] <= most)
            # Yes/no outcomes of few units can fit exactly: then there is no width to compare with.
            if np.all((width["classical"] > 0.0) & np.isfinite(width["classical"])):
                widths.append(width["robust"] / width["classical"])
    cells = []
    for kind in inside:
        share = np.array(inside[kind])
        cells += [percent(share.mean(axis=1)), percent(share[:, 1])]
    ratio = np.array(widths)
    cells += [f"{ratio.mean():.2f}", f"{ratio[:, 1].mean():.2f}"]
    return cells + [percent(np.array(covered[kind])) if noise else "–" for kind in covered]


def percent(shares: Row) -> str:
    return f"{100 * shares.mean():.1f} ± {100 * shares.std() / np.sqrt(len(shares)):.1f}"


def main() -> None:
    options = arguments(__doc__, trials=1_500)
    rows = []
    for name, world in WORLDS:
        for policy in POLICIES:
            if isinstance(world, World):
                cells = measure(of_world(world, policy, options.trials // 4, options.seed), None)
            else:
                found = of_scenario(world, policy, options.trials, options.seed)
                cells = measure(found, tuple(world.noise))
            rows.append([name, str(world.dim), str(int(world.budget)), f"`{policy}`", *cells])
            print(rows[-1], flush=True)
    header = ["noise", "d", "n", "policy", "classical", "driver", "robust", "driver"]
    header += ["width", "driver", "σ² classical", "σ² robust"]
    caption = (
        "Percent of coefficients inside their 95 % interval, of all and of the feature that drives the "
        "noise (or, where none does, the same one); the robust interval's width over the classical one's, on "
        "average; and percent of noise variances inside `noise_interval`. Seven arms with the paper's "
        f"unequal noise where d = 10, three else; {options.trials:,} trials, "
        f"{options.trials // 4:,} of yes/no outcomes and counts; "
        f"seed {options.seed}, equipoise {eq.__version__}, NUMERICS {eq.NUMERICS}. Printed by "
        "`python benchmarks/pages/robust_intervals.py`."
    )
    show(markdown(header, rows, caption), options.write)


if __name__ == "__main__":
    main()
