"""Answers and counts: what allocation gains, and what intervals and read-outs cover.

OMP_NUM_THREADS=1 python benchmarks/pages/yes_no.py --write docs/tables/worlds/yes-no.md

Small fits by many threads take many times as long as by one.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression, PoissonRegressor

import equipoise as eq
from equipoise.core.estimates.alike import alike_arms
from equipoise.lab.trial.bench import ScenarioBench
from equipoise.lab.trial.ledger import new_ledger
from scenarios import WORST, arguments, markdown, show

DIM, BUDGET, CONFIDENCE = 4, 600, 1.96
SPECS = ["uniform", "best-allocation", "trace-ucb", "trace-gain"]
YES_NO, COUNTS = eq.YesNoOutcomes(effect=0.5), eq.CountOutcomes(effect=0.5)
WORLDS = {
    "yes/no, 10, 30, 50 %": (YES_NO, (0.1, 0.3, 0.5), None),
    "yes/no, 2, 10, 50 %": (YES_NO, (0.02, 0.1, 0.5), None),
    "the same, at least 150 units an arm": (YES_NO, (0.02, 0.1, 0.5), (150, 150, 150)),
    "counts, means 0.5, 2, 8": (COUNTS, (0.5, 2.0, 8.0), None),
}

_COLUMNS = (
    "Largest mean error: that of an arm's linear fit over that of `uniform`. Coverage of 95 % "
    "intervals in percent, arm by arm: of classical and of robust intervals, both of the best linear fit, "
    "among arms that have intervals; and of Wald intervals of a logistic or Poisson fit, of its own "
    "coefficients, among arms that have such a fit. No interval: percent of arms, one by one, whose outcomes "
    "were all alike. No fit: percent of all arms where that is so, or answers could be told apart without "
    "error."
)


@dataclass
class Covered:
    """Trials by arms: shares of coefficients inside their intervals; nan where there is no fit."""

    alike: list[npt.NDArray[np.bool_]] = field(default_factory=list)
    """Whether an arm's outcomes were all alike."""
    curve: list[list[float]] = field(default_factory=list)


def main() -> None:
    options = arguments(__doc__, trials=400)
    rows = []
    for name, (outcomes, rates, floors) in WORLDS.items():
        scenario = eq.GaussianScenario(
            outcomes.noise(rates), DIM, BUDGET, intercept=True, outcomes=outcomes, floors=floors
        )
        result = eq.simulate(scenario, SPECS, trials=options.trials, seed=options.seed)
        robust = eq.simulate(scenario, SPECS, trials=options.trials, seed=options.seed, intervals="robust")
        base = result["uniform"].expected_max().value
        for spec, policy in result.policies.items():
            loss = policy.expected_max()
            covered = read_out(scenario, spec, options.trials, options.seed)
            rows.append(
                [
                    name,
                    f"`{spec}`",
                    " ".join(f"{pull.value:.0f}" for pull in policy.pulls()),
                    f"{loss.value / base:.3f} ± {loss.stderr / base:.3f}",
                    by_arm(np.where(covered.alike, np.nan, policy.ledger.coverage)),
                    by_arm(np.where(covered.alike, np.nan, robust[spec].ledger.coverage)),
                    by_arm(np.array(covered.alike, float)),
                    by_arm(np.array(covered.curve)),
                    f"{100 * np.mean(np.isnan(covered.curve)):.1f}",
                ]
            )
    chance = 100 * np.sqrt(0.95 * 0.05 / (DIM * options.trials))
    caption = (
        f"d = {DIM} with the intercept, n = {BUDGET}, effect 0.5, {options.trials:,} trials, seed "
        f"{options.seed}, equipoise {eq.__version__}, numerics {eq.NUMERICS}. {_COLUMNS} "
        f"Near 95 % coverage is uncertain by ± {chance:.1f}. Printed by `python benchmarks/pages/yes_no.py`."
    )
    header = ["world", "policy", "units", WORST[0], "classical", "robust", "no interval"]
    header += ["read-out", "no fit"]
    show(markdown(header, rows, caption), options.write)


def read_out(scenario: eq.Scenario, spec: str, trials: int, seed: int) -> Covered:
    """What a fit of the curve covers, trial by trial, and which arms have no intervals."""
    bench = ScenarioBench(scenario, [eq.parse_policy(spec)], seed)
    assert scenario.outcomes is not None
    curves = scenario.outcomes.curves(scenario.noise)
    covered = Covered()
    for trial in range(trials):
        bench(trial, [new_ledger(1, len(scenario.noise))])
        state, truth = bench.seats[0].stage.state, bench.draws.world.coefs[0]
        arms, contexts, outcomes = state.rows["arm"], state.contexts, state.outcomes
        covered.alike.append(alike_arms(state))
        covered.curve.append([])
        for i, (level, effect, mean, slope) in enumerate(curves):
            x, y = contexts[arms == i], outcomes[arms == i]
            predictor = np.concatenate([[level], effect / slope * truth[i, 1:]])
            assert abs(truth[i, 0] - mean) < 1e-9
            covered.curve[-1].append(inside(*curve_fit(x, y, scenario.outcomes.kind), predictor))
    return covered


def curve_fit(x: np.ndarray, y: np.ndarray, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """A logistic or Poisson fit with Wald standard errors; nan where there is none."""
    none = np.full(x.shape[1], np.nan)
    if np.all(y == y[0]):
        return none, none
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if kind == "counts":
            model = PoissonRegressor(alpha=0.0, solver="newton-cholesky", tol=1e-8).fit(x[:, 1:], y)
            weights = model.predict(x[:, 1:])
        else:
            model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-8).fit(x[:, 1:], y)
            rates = model.predict_proba(x[:, 1:])[:, 1]
            weights = rates * (1.0 - rates)
    coef = np.concatenate([np.ravel(model.intercept_), np.ravel(model.coef_)])
    if np.max(np.abs(coef)) > 15.0:
        return none, none
    return coef, np.sqrt(np.diag(np.linalg.pinv((x.T * weights) @ x)))


def inside(coef: np.ndarray, stderr: np.ndarray, truth: np.ndarray) -> float:
    """Share of coefficients within their intervals."""
    if np.any(np.isnan(coef)):
        return float("nan")
    return float(np.mean(np.abs(coef - truth) <= CONFIDENCE * stderr))


def by_arm(covered: np.ndarray) -> str:
    return " ".join(f"{100 * share:.1f}" for share in np.nanmean(covered, axis=0))


if __name__ == "__main__":
    main()
