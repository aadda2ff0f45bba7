"""Realised over expected errors, true over estimated noise, and what happens to those who stop on a target.

python benchmarks/pages/expected_errors.py --write docs/tables/expected-errors.md
"""

from __future__ import annotations

import numpy as np

import equipoise as eq
from equipoise.lab.results.estimate import ratio_estimate
from equipoise.lab.trial.promises import Promises, keep_promises, stop_on_target
from scenarios import DIM, SCENARIOS, arguments, markdown, show

POLICIES = ["uniform", "trace-ucb", "trace-gain"]
ESTIMATORS = ["ridge", "pooled", "empirical-bayes", "leave-one-out"]
WILD = (20.0,) + (1.0,) * 19
LADDER = (0.1, 0.3, 1.0, 3.0, 10.0)
EVERY = (1, 10, 25)


def paper() -> dict[str, eq.Scenario]:
    """The paper's scenarios, and one wild arm among twenty."""
    found: dict[str, eq.Scenario] = {}
    for name, noise in SCENARIOS.items():
        for budget in (115, 200, 350):
            found[f"{name} | {budget}"] = eq.GaussianScenario(noise=noise, dim=DIM, budget=budget)
    for budget in (140, 400):
        found[f"one wild arm | {budget}"] = eq.GaussianScenario(noise=WILD, dim=5, budget=budget)
    return found


def others() -> dict[str, eq.Scenario]:
    """Other noise, dimensions and truths."""
    drawn = np.random.default_rng(1).normal(size=(6, 8))
    own, common = drawn[:5], drawn[5]
    plain = eq.GaussianScenario(noise=LADDER, dim=8, budget=120)
    found = {
        "five arms, d = 8": plain,
        "five arms, d = 25": plain.replace(dim=25, budget=250),
        "five arms, d = 2": plain.replace(dim=2, budget=60),
        "two arms, d = 3": eq.GaussianScenario(noise=[0.5, 4.0], dim=3, budget=40),
        "twelve equal arms, d = 4": eq.GaussianScenario(noise=[1.0] * 12, dim=4, budget=120),
        "correlated contexts": eq.GaussianScenario(noise=LADDER, dim=8, budget=120, covariance="ar1:0.8"),
        "Σ learned": plain.replace(moment="learned"),
        "β ~ 0.3": plain.replace(coef=0.3 * own),
        "arms similar": plain.replace(coef=common + 0.3 * own),
        "β = 0": plain.replace(coef=0.0 * own),
        "ten arms, one wild": eq.GaussianScenario(noise=[15.0] + [1.0] * 9, dim=3, budget=60),
        "thirty arms, one wild": eq.GaussianScenario(noise=[50.0] + [1.0] * 29, dim=4, budget=200),
        "five arms, one wild, n = 35": eq.GaussianScenario(noise=[25.0] + [1.0] * 4, dim=3, budget=35),
    }
    return {f"{name} | {scenario.units}": scenario for name, scenario in found.items()}


def by_noise(noise: tuple[float, ...], realised: np.ndarray, expected: np.ndarray) -> tuple[str, str]:
    """Lowest and highest ratio of arms, arms of the same noise taken together, and the largest error."""
    found = []
    for level in sorted(set(noise)):
        same = np.array(noise) == level
        found.append(ratio_estimate(realised[:, same].mean(axis=1), expected[:, same].mean(axis=1)))
    values = [estimate.value for estimate in found]
    span = f"{min(values):.2f} – {max(values):.2f}" if len(values) > 1 else f"{values[0]:.2f}"
    return span, f"{max(estimate.stderr for estimate in found):.2f}"


def error_rows(name: str, scenario: eq.Scenario, spec: str, found: dict[str, Promises]) -> list[list[str]]:
    """What was expected of every estimator, and what happened."""
    rows = []
    for estimator, kept in found.items():
        plain, _ = by_noise(scenario.noise, kept.realised, kept.plain)
        now, error = by_noise(scenario.noise, kept.realised, kept.expected)
        rows.append([*name.split(" | "), f"`{spec}`", f"`{estimator}`", plain, now, error])
    return rows


def noise_row(name: str, scenario: eq.Scenario, spec: str, kept: Promises) -> list[str]:
    """True noise over estimated noise, and L_n over the mean of the objective."""
    truth = np.broadcast_to(scenario.noise, kept.noise.shape)
    plain, _ = by_noise(scenario.noise, truth, kept.residual)
    now, error = by_noise(scenario.noise, truth, kept.noise)
    largest = float(kept.realised.mean(axis=0).max())
    objectives = [f"{largest / errors.max(axis=1).mean():.2f}" for errors in (kept.plain, kept.expected)]
    return [*name.split(" | "), f"`{spec}`", plain, now, error, *objectives]


def stopping_rows(trials: int, seed: int) -> list[list[str]]:
    """The worst arm's mean error at the stop over the target, by how often is looked."""
    rows = []
    for name, target in (("equal", 1.0), ("unequal", 1.5)):
        scenario = eq.GaussianScenario(noise=SCENARIOS[name], dim=DIM, budget=600)
        for spec in POLICIES[1:]:
            cells = []
            for every in EVERY:
                kept = stop_on_target(
                    scenario, eq.parse_policy(spec), trials=trials, seed=seed, target=target, every=every
                )
                means = kept.realised.mean(axis=0)
                worst = kept.realised[:, int(np.argmax(means))]
                error = worst.std(ddof=1) / np.sqrt(trials) / target
                cells.append(f"{means.max() / target:.2f} ± {error:.2f} ({kept.units.mean():.0f})")
            rows.append([name, f"{target:g}", f"`{spec}`", *cells])
    return rows


def main() -> None:
    options = arguments(__doc__, trials=2_000)
    made = f"seed {options.seed}, equipoise {eq.__version__}, numerics {eq.NUMERICS}"
    run = f"{options.trials:,} trials, {made}"
    printed = "Printed by `python benchmarks/pages/expected_errors.py`."
    errors: dict[str, list[list[str]]] = {"paper": [], "others": []}
    noise: list[list[str]] = []
    for group, scenarios in (("paper", paper()), ("others", others())):
        for name, scenario in scenarios.items():
            for spec in POLICIES if group == "paper" else POLICIES[1:]:
                policy = eq.parse_policy(spec)
                estimators = ESTIMATORS if group == "paper" else ESTIMATORS[:2]
                found = keep_promises(
                    scenario, policy, trials=options.trials, seed=options.seed, estimators=estimators
                )
                errors[group] += error_rows(name, scenario, spec, found)
                noise.append(noise_row(name, scenario, spec, found["ridge"]))
    header = ["scenario", "n", "policy", "estimator", "plain", "corrected", "±"]
    tables = [
        markdown(
            header,
            errors["paper"],
            f"Mean realised error over mean expected error, lowest and highest of the arms, with the largest "
            f"standard error; plain is without the correction. Seven arms with d = {DIM}, and one arm with "
            f"noise variance 20 among twenty with 1, d = 5; coefficients N(0, I); {run}. {printed}",
        ),
        markdown(
            header,
            errors["others"],
            f"The same in other scenarios; five arms have noise variances 0.1, 0.3, 1, 3, 10 unless the name "
            f"says otherwise; {run}. {printed}",
        ),
        markdown(
            ["scenario", "n", "policy", "plain", "corrected", "±", "objective, plain", "corrected"],
            noise,
            f"True noise variance over the mean of its estimate, lowest and highest of the arms; and the "
            f"largest mean error of an arm over the mean of `objective`, by `ridge`; {run}. {printed}",
        ),
        markdown(
            ["scenario", "target", "policy", *(f"every {every}" for every in EVERY)],
            stopping_rows(options.trials // 5, options.seed),
            f"Experiments that stop when `objective` is at most the target: the largest mean error of an arm "
            f"over the target, by how many units pass between two looks, and in brackets the mean number of "
            f"units; m = 7, d = {DIM}, default estimator; {options.trials // 5:,} trials, {made}. "
            f"{printed}",
        ),
    ]
    show("\n".join(tables), options.write)


if __name__ == "__main__":
    main()
