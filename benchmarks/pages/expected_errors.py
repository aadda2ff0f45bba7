"""Realised over expected errors, true over estimated noise, and what happens to those who stop on a target.

python benchmarks/pages/expected_errors.py --write docs/tables/expected-errors.md
"""

from __future__ import annotations

import numpy as np

import equipoise as eq
from equipoise.lab.results.estimate import ratio_estimate
from equipoise.lab.trial.promises import Promises, keep_promises
from scenarios import DIM, SCENARIOS, arguments, markdown, show

POLICIES = ["uniform", "trace-ucb", "trace-gain"]
ESTIMATORS = ["ridge", "pooled"]
FURTHER = ["ridge", "empirical-bayes", "leave-one-out"]
WILD = (20.0,) + (1.0,) * 19
LADDER = (0.1, 0.3, 1.0, 3.0, 10.0)
EVERY = (1, 10, 25)


def paper() -> dict[str, eq.Scenario]:
    """The paper's scenarios, and one wild arm among twenty."""
    found: dict[str, eq.Scenario] = {}
    for name, noise in SCENARIOS.items():
        for budget in (115, 200, 350, 700):
            found[f"{name} | {budget}"] = eq.GaussianScenario(noise=noise, dim=DIM, budget=budget)
    for budget in (140, 400):
        found[f"one wild arm | {budget}"] = eq.GaussianScenario(noise=WILD, dim=5, budget=budget)
    return found


def others() -> dict[str, eq.Scenario]:
    """Other noise, dimensions and truths; the correction was fitted to some of these."""
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


def unseen() -> dict[str, eq.Scenario]:
    """Scenarios that no number of the correction was fitted to: noise variances, d, budgets."""
    found = [
        ((0.03, 0.1, 0.4, 1.0, 1.0, 2.5, 6.0, 6.0), 9, (130, 260)),
        ((40.0,) + (2.0,) * 24, 6, (230,)),
        ((1.0, 5.0, 5.0, 25.0), 14, (120,)),
        ((1.0, 1.0, 8.0), 4, (36, 90)),
        ((0.5,) * 16, 8, (220,)),
        (tuple(1.6**k for k in range(10)), 3, (110,)),
        ((0.1, 1.0), 10, (50,)),
        ((0.2, 0.2, 0.2, 0.2, 5.0), 7, (80,)),
        ((1.0, 4.0, 9.0), 1, (45,)),
    ]
    return {
        f"{words(noise)}; d = {dim} | {budget}": eq.GaussianScenario(noise=noise, dim=dim, budget=budget)
        for noise, dim, budgets in found
        for budget in budgets
    }


def words(noise: tuple[float, ...]) -> str:
    """Noise variances, those that repeat counted."""
    if len(set(noise)) == len(noise) > 5:
        return f"{noise[0]:g} to {noise[-1]:.3g}, geometric, {len(noise)} arms"
    return ", ".join(
        f"{noise.count(level)} × {level:g}" if noise.count(level) > 1 else f"{level:g}"
        for level in dict.fromkeys(noise)
    )


def steadied(realised: np.ndarray, surprise: np.ndarray) -> np.ndarray:
    """The same with less noise: ``surprise`` has mean 0, and what goes with it is taken out."""
    spread = surprise.var()
    slope = np.mean(realised * surprise) / spread if spread > 0.0 else 0.0
    return np.asarray(realised - slope * surprise)


def by_noise(
    noise: tuple[float, ...], realised: np.ndarray, expected: np.ndarray, surprise: np.ndarray | None = None
) -> tuple[str, str]:
    """Lowest and highest ratio of arms, arms of the same noise taken together, and the largest error."""
    found = []
    for level in sorted(set(noise)):
        same = np.array(noise) == level
        above = realised[:, same].mean(axis=1)
        if surprise is not None:
            above = steadied(above, surprise[:, same].mean(axis=1))
        found.append(ratio_estimate(above, expected[:, same].mean(axis=1)))
    values = [estimate.value for estimate in found]
    span = f"{min(values):.2f} – {max(values):.2f}" if len(values) > 1 else f"{values[0]:.2f}"
    return span, f"{max(estimate.stderr for estimate in found):.3f}"


def error_rows(name: str, scenario: eq.Scenario, spec: str, found: dict[str, Promises]) -> list[list[str]]:
    """What was expected of every estimator, and what happened."""
    rows = []
    surprise = found["ridge"].realised - found["ridge"].given
    for estimator, kept in found.items():
        plain, _ = by_noise(scenario.noise, kept.realised, kept.plain, surprise)
        now, error = by_noise(scenario.noise, kept.realised, kept.expected, surprise)
        rows.append([*name.split(" | "), f"`{spec}`", f"`{estimator}`", plain, now, error])
    return rows


def noise_row(name: str, scenario: eq.Scenario, spec: str, kept: Promises) -> list[str]:
    """True noise over estimated noise, and two worst errors over the mean of the objective."""
    truth = np.broadcast_to(scenario.noise, kept.noise.shape)
    plain, _ = by_noise(scenario.noise, truth, kept.residual)
    now, error = by_noise(scenario.noise, truth, kept.noise)
    objective = kept.expected.max(axis=1).mean()
    largest = kept.given.mean(axis=0).max() / objective
    worst = kept.given.max(axis=1).mean() / objective
    return [*name.split(" | "), f"`{spec}`", plain, now, error, f"{largest:.2f}", f"{worst:.2f}"]


def stopping_rows(trials: int, seed: int) -> list[list[str]]:
    """The worst arm's mean error at the stop over the target, by how often is looked."""
    rows = []
    for name, target in (("equal", 1.0), ("unequal", 1.5)):
        scenario = eq.GaussianScenario(noise=SCENARIOS[name], dim=DIM, budget=600)
        for spec in POLICIES[1:]:
            cells = []
            for every in EVERY:
                stopping = scenario.replace(stop=eq.StopRule(target=target, every=every))
                found = eq.simulate(stopping, [spec], trials=trials, seed=seed)[spec]
                worst, units = found.expected_max(), found.units()
                cells.append(f"{worst.value / target:.2f} ± {worst.stderr / target:.2f} ({units.value:.0f})")
            rows.append([name, f"{target:g}", f"`{spec}`", *cells])
    return rows


def main() -> None:
    options = arguments(__doc__, trials=2_000)
    few = options.trials // 5
    made = f"seed {options.seed}, equipoise {eq.__version__}, numerics {eq.NUMERICS}"
    many, most = 2 * options.trials, 8 * options.trials
    run = f"{options.trials:,} trials, {made}"
    printed = "Printed by `python benchmarks/pages/expected_errors.py`."
    errors: dict[str, list[list[str]]] = {"paper": [], "others": [], "unseen": [], "further": []}
    noise: list[list[str]] = []
    for group, scenarios in (("paper", paper()), ("others", others()), ("unseen", unseen())):
        for name, scenario in scenarios.items():
            for spec in POLICIES if group == "paper" else POLICIES[1:]:
                policy = eq.parse_policy(spec)
                trials = many if group == "paper" else options.trials
                if group == "paper" and scenario.noise == WILD and scenario.units < 200:
                    trials = most
                found = keep_promises(
                    scenario, policy, trials=trials, seed=options.seed, estimators=ESTIMATORS
                )
                errors[group] += error_rows(name, scenario, spec, found)
                noise.append(noise_row(name, scenario, spec, found["ridge"]))
                if group == "paper" and scenario.units < 200:
                    found = keep_promises(scenario, policy, trials=few, seed=options.seed, estimators=FURTHER)
                    errors["further"] += error_rows(name, scenario, spec, found)[1:]
    header = ["scenario", "n", "policy", "estimator", "plain", "corrected", "±"]
    steady = "Chance in ridge, given the contexts, has mean 0 and is taken out of the realised errors"
    tables = [
        markdown(
            header,
            errors["paper"],
            f"Mean realised error over mean expected error, lowest and highest of the arms (arms of the same "
            f"noise together), with the largest standard error; plain is without the correction. Seven arms "
            f"with d = {DIM}, and one arm with noise variance 20 among twenty with 1, d = 5; coefficients "
            f"N(0, I). {steady}. {many:,} trials, of the wild arm at n = 140 {most:,}, {made}. "
            f"{printed}",
        ),
        markdown(
            header,
            errors["others"],
            f"The same in other scenarios, some of which the correction was fitted to; five arms have "
            f"noise variances 0.1, 0.3, 1, 3, 10 unless the name says otherwise; {run}. {printed}",
        ),
        markdown(
            header,
            errors["unseen"],
            f"The same in scenarios that nothing was fitted to, by their noise variances; {run}. {printed}",
        ),
        markdown(
            header,
            errors["further"],
            f"The same for the other estimators, where units are few; {few:,} trials, {made}. {printed}",
        ),
        markdown(
            ["scenario", "n", "policy", "plain", "corrected", "±", "largest mean error", "worst arm's error"],
            noise,
            f"True noise variance over the mean of its estimate, lowest and highest of the arms. Then, over "
            f'the mean of `objective` ("max"): the largest of the mean errors, and the mean of the largest '
            f"error that the trial's own contexts let an arm expect; by `ridge`; trials as above, {made}. "
            f"{printed}",
        ),
        markdown(
            ["scenario", "target", "policy", *(f"every {every}" for every in EVERY)],
            stopping_rows(few, options.seed),
            f"Experiments that stop when `objective` is at most the target: the largest mean error of an arm "
            f"over the target, by how many units pass between two looks, and in brackets the mean number of "
            f"units; m = 7, d = {DIM}, default estimator; {few:,} trials, {made}. "
            f"{printed}",
        ),
    ]
    show("\n".join(tables), options.write)


if __name__ == "__main__":
    main()
