"""Randomised designs beside uniform, Trace-UCB and Trace-Gain: errors of the worst arm, and balance.

python benchmarks/pages/designs.py --write docs/tables/designs.md
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import equipoise as eq
from equipoise.core.arms.state import State
from equipoise.lab import pieces
from equipoise.lab.trial.bench import ScenarioBench
from equipoise.lab.trial.ledger import new_ledger
from equipoise.studies.noise import EQUAL, UNEQUAL
from scenarios import LIBRARY, WORST, arguments, markdown, show

SPECS = [
    *("uniform", "oracle", "trace-ucb", "trace-gain", "neyman-balanced", "neyman-balanced:gamma=2"),
    *("complete", "permuted-blocks", "efron", "wei-urn", "minimisation", "da-optimal", "balancing-walk"),
]
FOUR = [0.1, 0.5, 1.0, 3.0]
SCENARIOS: dict[str, dict[str, Any]] = {
    "paper, equal noise, m 7, d 10, n 200": {"noise": EQUAL, "dim": 10, "budget": 200},
    "paper, unequal noise, m 7, d 10, n 200": {"noise": UNEQUAL, "dim": 10, "budget": 200},
    "paper, unequal noise, m 7, d 10, n 350": {"noise": UNEQUAL, "dim": 10, "budget": 350},
    "correlated contexts (AR 0.8), m 4, d 8, n 160": {
        **{"noise": FOUR, "dim": 8, "budget": 160},
        "contexts": pieces.GaussianContexts(covariance="ar1:0.8"),
    },
    "an intercept, m 4, d 6, n 160": {"noise": FOUR, "dim": 6, "budget": 160, "intercept": True},
    "discrete contexts of 3 levels, an intercept, m 4, d 6, n 160": {
        **{"noise": FOUR, "dim": 6, "budget": 160, "intercept": True},
        "contexts": pieces.DiscreteContexts(levels=3),
    },
    "one-hot contexts, equal noise, m 4, d 6, n 120": {
        **{"noise": [1.0] * 4, "dim": 6, "budget": 120},
        "contexts": pieces.OneHotContexts(probabilities=(0.3, 0.2, 0.2, 0.1, 0.1, 0.1)),
    },
}
BALANCED_TRIALS = 100
"""Trials whose balance is measured, one by one."""


def main() -> None:
    options = arguments(__doc__, trials=2_000)
    rows = []
    for name, parts in SCENARIOS.items():
        scenario = eq.Scenario(estimator="ridge", **parts)
        result = eq.simulate(scenario, SPECS, trials=options.trials, seed=options.seed)
        for spec, policy in result.policies.items():
            worst, median = policy.expected_max(), policy.median_max()
            errors = [f"{loss.value:.3f} ± {loss.stderr:.3f}" for loss in (worst, median)]
            rows.append([name, f"`{spec}`", *errors, *balance(scenario, spec, options.seed)])
    caption = (
        "Largest mean error: that of the worst arm; median worst error: median over trials of the "
        "worst arm's. units: largest minus smallest arm. means: squared distance of an arm's mean context "
        "from that of all units, 1 on average under complete randomisation. lengths: by how much the mean of "
        "$x^{\\top}\\Sigma^{-1}x$ differs from that of all units, in the arm where it differs most. "
        f"Errors are of {options.trials:,} trials, balance of {BALANCED_TRIALS}. Ridge λ = 1/n, "
        f"seed {options.seed}, {LIBRARY}. "
        "Printed by `python benchmarks/pages/designs.py`."
    )
    header = ["scenario", "policy", *WORST, "units", "means", "lengths"]
    show(markdown(header, rows, caption), options.write)


def balance(scenario: eq.Scenario, spec: str, seed: int) -> list[str]:
    """Cells of how evenly a policy spreads units and contexts over the arms."""
    bench = ScenarioBench(scenario, [eq.parse_policy(spec)], seed)
    measured = []
    for number in range(BALANCED_TRIALS):
        bench(number, [new_ledger(1, len(scenario.noise))])
        measured.append(_balance(bench.seats[0].stage.state, scenario.true_moment()))
    columns = np.array(measured).T
    errors = columns.std(axis=1) / np.sqrt(BALANCED_TRIALS)
    digits = (1, 2, 2)
    return [
        f"{mean:.{places}f} ± {error:.{places}f}"
        for mean, error, places in zip(columns.mean(axis=1), errors, digits, strict=True)
    ]


def _balance(state: State, moment: npt.NDArray[np.float64]) -> tuple[float, float, float]:
    step, m = int(state.trial["step"][0]), len(state.arms)
    arms, contexts = state.rows["arm"][:step], state.contexts[:step]
    counts = np.bincount(arms, minlength=m)
    lengths = np.einsum("ij,ij->i", contexts @ np.linalg.pinv(moment), contexts)
    spread = np.cov(contexts.T, bias=True)
    rank = np.linalg.matrix_rank(spread)
    inverse = np.linalg.pinv(spread, hermitian=True)
    distance, farthest = 0.0, 0.0
    for i in np.flatnonzero(counts):
        gap = contexts[arms == i].mean(axis=0) - contexts.mean(axis=0)
        # A sample of k from n without replacement: its mean varies by (1 − k/n)/k.
        distance += counts[i] / (1.0 - counts[i] / step) * float(gap @ inverse @ gap) / rank / m
        farthest = max(farthest, abs(lengths[arms == i].mean() / lengths.mean() - 1.0))
    return float(np.ptp(counts)), distance, farthest


if __name__ == "__main__":
    main()
