"""What better estimates buy, and what better allocation buys, on the same trials.

python benchmarks/pages/estimators.py --write docs/tables/estimators.md
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import equipoise as eq
from equipoise.lab import StudentNoise
from equipoise.lab.results.words import LOSSES, loss_words
from scenarios import ARMS, DIM, LIBRARY, SCENARIOS, arguments, markdown, show

POLICIES = ["uniform", "oracle", "trace-ucb", "trace-gain"]
METHODS = ["leave-one-out", "empirical-bayes", "pooled"]
GRID = [(dim, 350) for dim in (5, 10, 20, 30, 40)] + [(DIM, budget) for budget in (115, 150, 200, 360)]
# A trial with 40 features costs as much as thirty with ten.
SHARE_OF_TRIALS = {20: 0.4, 30: 0.2, 40: 0.1}
# Differences below this share of the loss are rounding.
ROUNDING = 1e-9
# Of a few hundred comparisons of equals, one in three tables has one beyond it by chance.
CLEARLY = 3.0


@dataclass(frozen=True)
class Difference:
    """A method against λ = 1/n: paired by trial."""

    value: float
    stderr: float
    usual: float

    @property
    def is_worse(self) -> bool:
        """Whether by more than chance and rounding explain."""
        return self.value > max(CLEARLY * self.stderr, ROUNDING * self.usual)

    def __str__(self) -> str:
        if max(abs(self.value), self.stderr) < ROUNDING * self.usual:
            return "0"
        sign = "**worse** " if self.is_worse else ""
        return f"{sign}{self.value:+.2g} ± {self.stderr:.1g}"


def worlds(budget: int) -> dict[str, eq.Scenario]:
    """Other coefficients, contexts and noise, by name."""
    drawn = np.random.default_rng(1).normal(size=(ARMS + 1, DIM))
    own, common = drawn[:ARMS], np.tile(drawn[ARMS], (ARMS, 1))
    coefs = {
        "β = 0": 0.0 * own,
        "β ~ 0.1": 0.1 * own,
        "β ~ 1": own,
        "β ~ 10": 10.0 * own,
        "β ~ 100": 100.0 * own,
        "arms identical": common,
        "arms similar": common + 0.2 * own,
        "one arm opposite": common * np.append(np.ones(ARMS - 1), -1.0)[:, None],
        "common intercept 50": own + 50.0 * np.eye(DIM)[0],
    }
    found: dict[str, eq.Scenario] = {}
    for noise, variances in SCENARIOS.items():
        plain = eq.GaussianScenario(noise=variances, dim=DIM, budget=budget)
        for name, coef in coefs.items():
            intercept = name.startswith("common")
            found[f"{noise}, {name}"] = plain.replace(coef=coef, intercept=intercept)
        correlated = eq.GaussianScenario(noise=variances, dim=DIM, budget=budget, covariance="ar1:0.8")
        found[f"{noise}, contexts ar1:0.8"] = correlated
        found[f"{noise}, Student noise, 4 dof"] = plain.replace(noise_shape=StudentNoise(dof=4))
        found[f"{noise}, Σ learned"] = plain.replace(moment="learned")
    return found


def compare(
    scenario: eq.Scenario, trials: int, seed: int
) -> dict[str, tuple[str, dict[str, dict[str, Difference]]]]:
    """By policy: its largest mean error with λ = 1/n, and by method and loss the difference to it."""
    usual = eq.simulate(scenario, POLICIES, trials=trials, seed=seed, estimator="ridge")
    found: dict[str, tuple[str, dict[str, dict[str, Difference]]]] = {}
    for policy in POLICIES:
        own = usual[policy].expected_max()
        found[policy] = (f"{own.value:.4g} ± {own.stderr:.1g}", {})
    for method in METHODS:
        other = eq.simulate(scenario, POLICIES, trials=trials, seed=seed, estimator=method)
        for policy in POLICIES:
            pair = eq.SimulationResult(
                scenario, seed, eq.__version__, {"usual": usual[policy], method: other[policy]}
            )
            differences = {}
            for loss in LOSSES:
                gap = pair.difference(method, "usual", loss)
                value = getattr(usual[policy], loss)().value
                differences[loss] = Difference(gap.value, gap.stderr, value)
            found[policy][1][method] = differences
    return found


def summary(method: str, loss: str, everything: list[dict[str, dict[str, Difference]]]) -> list[str]:
    """A row: how often a method is worse than λ = 1/n, and how its changes are spread."""
    differences = [methods[method][loss] for methods in everything]
    changes = [100.0 * difference.value / difference.usual for difference in differences]
    worse = [change for difference, change in zip(differences, changes, strict=True) if difference.is_worse]
    return [
        f"`{method}`",
        loss_words(loss),
        f"{len(worse)} of {len(differences)}",
        f"{max(worse):+.2g} %" if worse else "–",
        f"{np.median(changes):+.1f} %",
        f"{min(changes):+.0f} %",
    ]


def main() -> None:
    options = arguments(__doc__, trials=10_000)
    grid, others, everything = [], [], []
    for noise, variances in SCENARIOS.items():
        for dim, budget in GRID:
            trials = round(options.trials * SHARE_OF_TRIALS.get(dim, 1.0))
            paper = eq.GaussianScenario(noise=variances, dim=dim, budget=budget)
            for policy, (loss, methods) in compare(paper, trials, options.seed).items():
                cells = [str(methods[method]["expected_max"]) for method in METHODS]
                grid.append([noise, str(dim), str(budget), f"{trials:,}", policy, loss, *cells])
                everything.append(methods)
    trials = round(0.4 * options.trials)
    for budget in (115, 350):
        for name, scenario in worlds(budget).items():
            for policy, (loss, methods) in compare(scenario, trials, options.seed).items():
                cells = [str(methods[method]["expected_max"]) for method in METHODS]
                others.append([name, str(budget), policy, loss, *cells])
                everything.append(methods)
    run = f"seed {options.seed}, {LIBRARY}"
    printed = (
        f"Printed by `python benchmarks/pages/estimators.py --trials {options.trials} --seed {options.seed}`."
    )
    titles = [f"`{method}`" for method in METHODS]
    tables = [
        markdown(
            ["estimator", "loss", "worse", "by at most", "median change", "best change"],
            [summary(method, loss, everything) for method in METHODS for loss in LOSSES],
            f"Changes against λ = 1/n over all rows of the two tables below. Worse means by more than "
            f"{CLEARLY:g} standard errors of the paired difference; {run}. {printed}",
        ),
        markdown(
            ["noise", "d", "n", "trials", "policy", "λ = 1/n", *titles],
            grid,
            f"Largest mean error with λ = 1/n, and the paired differences of the methods to it, ± one "
            f"standard error; m = {ARMS}, white contexts, coefficients N(0, I) anew in every trial; "
            f"{run}. {printed}",
        ),
        markdown(
            ["world", "n", "policy", "λ = 1/n", *titles],
            others,
            f"The same in other worlds; m = {ARMS}, d = {DIM}, {trials:,} trials; β ~ s are s times one "
            f"draw from N(0, I), the same in all trials; {run}. {printed}",
        ),
    ]
    show("\n".join(tables), options.write)


if __name__ == "__main__":
    main()
