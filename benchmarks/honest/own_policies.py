"""The README's policy beside uniform and Trace-UCB, and coverage of intervals under scores without a width.

python benchmarks/honest/own_policies.py --write docs/tables/policies/own-policies.md
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import equipoise as eq
from equipoise.core.text_tables import markdown_table
from equipoise.studies.noise import EQUAL, UNEQUAL


@eq.register("least-certain")
class LeastCertain(eq.BoundedPolicy):
    """The arm whose prediction for this context is the least certain, by an upper bound of its noise."""

    looks = True

    @staticmethod
    def score(arm: Any, trial: Any, settings: Any) -> float:
        """The bound on the variance of a prediction at the context."""
        bound: float = arm.weight * eq.noise_bound(arm, trial, settings) * arm.leverage
        return bound


@eq.register("most-uncertain")
def most_uncertain(arm: Any, trial: Any, settings: Any) -> float:
    """The estimated error itself, with no bound on top."""
    error: float = arm.noise_variance * arm.trace
    return error


WORLDS = (
    ("unequal, m = 7, d = 10, n = 115", UNEQUAL, 10, 115),
    ("unequal, m = 7, d = 10, n = 350", UNEQUAL, 10, 350),
    ("equal, m = 7, d = 10, n = 350", EQUAL, 10, 350),
    ("noise 0.5, 1, 4, m = 3, d = 3, n = 60", (0.5, 1.0, 4.0), 3, 60),
    ("noise 0.5, 1, 4, m = 3, d = 3, n = 300", (0.5, 1.0, 4.0), 3, 300),
)
SPECS = ("uniform", "trace-ucb", "least-certain", "most-uncertain", "gafs-max", "gfsp-max")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=4_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", type=Path, help="also write the table to this file")
    options = parser.parse_args()
    rows = []
    for title, noise, dim, budget in WORLDS:
        scenario = eq.GaussianScenario(noise=noise, dim=dim, budget=budget)
        result = eq.simulate(scenario, SPECS, trials=options.trials, seed=options.seed)
        for spec, policy in result.policies.items():
            errors = [f"{e.value:.3f} ± {e.stderr:.3f}" for e in (policy.expected_max(), policy.median_max())]
            covered = policy.coverage()
            by_arm = 100 * policy.ledger.coverage.mean(axis=0)
            cells = [f"{100 * covered.value:.2f} ± {100 * covered.stderr:.2f}"]
            cells.append(f"{by_arm.min():.1f} – {by_arm.max():.1f}")
            rows.append([title, f"`{spec}`", *errors, *cells])
    caption = (
        "Errors, and percent of coefficients inside their 95 % interval, on average and of the worst and the "
        f"best arm; ± one standard error, {options.trials:,} trials, seed {options.seed}, "
        f"equipoise {eq.__version__}, NUMERICS {eq.NUMERICS}. "
        "Printed by `python benchmarks/honest/own_policies.py`."
    )
    header = ["scenario", "policy", "largest mean error", "median worst error", "coverage", "by arm"]
    table = f"{markdown_table(header, rows)}\n{caption}\n"
    print(table)
    if options.write is not None:
        options.write.write_text(table)


if __name__ == "__main__":
    main()
