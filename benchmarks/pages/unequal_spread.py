"""What ``spread=unequal`` gains where the noise depends on the context, and what it costs where it does not.

python benchmarks/pages/unequal_spread.py --write docs/tables/robust/spread.md
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import equipoise as eq
from equipoise.studies.noise import UNEQUAL
from scenarios import arguments, markdown, show

BASES = ("trace-ucb", "trace-gain")
Rows = np.ndarray
Spread = Callable[[Rows], Rows]


def length(x: Rows) -> Rows:
    """‖x‖²/d."""
    return np.asarray((x**2).mean(axis=-1))


def falls(x: Rows) -> Rows:
    return np.asarray(1.0 / (0.2 + length(x) ** 2))


def grows_in_one(x: Rows) -> Rows:
    return np.asarray(1.0 + 5.0 * x[..., -1] ** 2)


def falls_in_one(x: Rows) -> Rows:
    return 1.0 / grows_in_one(x)


@dataclass(frozen=True)
class World:
    """Four arms with noise of variance 1 on average: two of one kind, two of the other."""

    name: str
    dim: int
    budget: int
    kinds: tuple[Spread, Spread]
    heavy: bool = False
    """Whether contexts are Student's with 5 degrees of freedom, not normal."""

    def contexts(self, rng: np.random.Generator, count: int) -> Rows:
        """Contexts of that many units."""
        x = rng.normal(size=(count, self.dim))
        return x * np.sqrt(3.0 / rng.chisquare(5, size=(count, 1))) if self.heavy else x

    def levels(self) -> list[float]:
        """Mean of every kind's variance over contexts."""
        x = self.contexts(np.random.default_rng(0), 400_000)
        return [float(kind(x).mean()) for kind in self.kinds]


WORLDS = [
    World("grows in one feature, or falls", 2, 96, (grows_in_one, falls_in_one)),
    World("grows with the length, or falls", 5, 240, (length, falls)),
    World("the same, Student contexts", 5, 240, (length, falls), heavy=True),
]
SAME = [
    ("constant, unequal arms", 115, eq.GaussianScenario(noise=UNEQUAL, dim=10, budget=115)),
    ("constant, unequal arms", 350, eq.GaussianScenario(noise=UNEQUAL, dim=10, budget=350)),
    ("constant, equal arms", 240, eq.GaussianScenario(noise=[1.0] * 4, dim=5, budget=240)),
    (
        "constant, Student contexts",
        240,
        eq.GaussianScenario(noise=[0.2, 1, 1, 2], dim=5, budget=240, contexts=eq.StudentContexts(dof=5)),
    ),
    (
        "grows alike in all arms, 1 + 4x²",
        350,
        eq.GaussianScenario(noise=UNEQUAL, dim=10, budget=350, heteroscedasticity=4.0),
    ),
]


def trial(world: World, levels: list[float], specs: list[str], seed: int) -> tuple[Rows, Rows]:
    """Errors [policies, arms], and shares of coefficients inside robust intervals, on the same draws."""
    rng = np.random.default_rng([seed, 2])
    arms, budget = ["a", "b", "c", "d"], world.budget
    contexts, shocks = world.contexts(rng, budget), rng.normal(size=(4, budget))
    kinds = [world.kinds[i // 2] for i in range(4)]
    deviations = [np.sqrt(kind(contexts) / levels[i // 2]) for i, kind in enumerate(kinds)]
    problem = eq.Problem(arms, world.dim, budget=budget, moment=np.eye(world.dim))
    errors, inside = np.zeros((len(specs), 4)), np.zeros((len(specs), 4))
    for p, spec in enumerate(specs):
        experiment, pulls = eq.Experiment(problem, spec, seed=seed), [0] * 4
        for t in range(budget):
            unit = experiment.ask(contexts[t])
            i = arms.index(unit.arm)
            experiment.tell(unit.id, float(deviations[i][t] * shocks[i, pulls[i]]))
            pulls[i] += 1
        for i, arm in enumerate(experiment.estimates(estimator="ridge", intervals="robust")):
            errors[p, i] = float(arm.coef @ arm.coef)
            inside[p, i] = np.mean((arm.intervals[:, 0] <= 0.0) & (arm.intervals[:, 1] >= 0.0))
    return errors, inside


def ratio(after: Rows, before: Rows) -> str:
    """Of two means over the same trials."""
    value = after.mean() / before.mean()
    error = (after - value * before).std() / before.mean() / np.sqrt(len(after))
    return f"{value:.3f} ± {error:.3f}"


def differing(world: World, trials: int, seed: int) -> list[list[str]]:
    levels, specs = world.levels(), [spec for base in BASES for spec in (base, f"{base}:spread=unequal")]
    found = [trial(world, levels, specs, seed * 1_000_000 + number) for number in range(trials)]
    # Arms of a kind are alike, so their errors are averaged before the worse kind is taken.
    errors = np.array([each[0] for each in found]).reshape(trials, len(specs), 2, 2).mean(axis=3)
    inside = np.array([each[1] for each in found]).mean(axis=(0, 2))
    rows = []
    for b, base in enumerate(BASES):
        before, after = errors[:, 2 * b], errors[:, 2 * b + 1]
        worst = [kind[:, int(kind.mean(axis=0).argmax())] for kind in (after, before)]
        covered = f"{100 * inside[2 * b]:.1f} / {100 * inside[2 * b + 1]:.1f}"
        rows.append([world.name, str(world.dim), str(world.budget), f"`{base}`", ratio(*worst), covered])
    return rows


def alike(name: str, budget: int, scenario: eq.Scenario, trials: int, seed: int) -> list[list[str]]:
    rows, scenario = [], scenario.replace(estimator="ridge")
    for base in BASES:
        result = eq.simulate(scenario, [base, f"{base}:spread=unequal"], trials=trials, seed=seed)
        before, after = (policy.errors for policy in result.policies.values())
        # Arms with the same noise are alike.
        noise = np.array(scenario.noise)
        kinds = [noise == value for value in sorted(set(scenario.noise))]
        means = [np.array([each[:, kind].mean(axis=1) for kind in kinds]) for each in (after, before)]
        worst = [kind[int(kind.mean(axis=1).argmax())] for kind in means]
        rows.append([name, str(scenario.dim), str(budget), f"`{base}`", ratio(*worst), "–"])
    return rows


def main() -> None:
    options = arguments(__doc__, trials=200)
    rows = []
    for name, budget, scenario in SAME:
        rows += alike(name, budget, scenario, 20 * options.trials, options.seed)
        print(rows[-2:], flush=True)
    for world in WORLDS:
        rows += differing(world, options.trials, options.seed)
        print(rows[-2:], flush=True)
    caption = (
        "Mean error of the worst kind of arm with `spread=unequal` over the one without, on the same draws; "
        "percent of coefficients inside robust 95 % intervals without / with it. "
        f"{20 * options.trials:,} trials where all arms are alike, {options.trials:,} where they differ; "
        f"seed {options.seed}, equipoise {eq.__version__}, NUMERICS {eq.NUMERICS}. Printed by "
        "`python benchmarks/pages/unequal_spread.py`."
    )
    header = ["noise", "d", "n", "policy", "error", "coverage"]
    show(markdown(header, rows, caption), options.write)


if __name__ == "__main__":
    main()
