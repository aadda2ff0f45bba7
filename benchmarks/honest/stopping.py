"""What stopping at a target does: units, errors and coverage, beside trials of a fixed number of units.

python benchmarks/honest/stopping.py --write docs/tables/worlds/stopping.md
"""

from __future__ import annotations

import argparse
from pathlib import Path

import equipoise as eq
from equipoise.lab import PolicyResult
from equipoise.studies.noise import EQUAL, UNEQUAL
from quick_trials import show

SPECS = ["uniform", "trace-ucb", "trace-gain"]
TARGETS = {"equal": 1.0, "unequal": 1.5}
SCENARIOS = {"equal": EQUAL, "unequal": UNEQUAL}
DIM, BUDGET, EVERY = 10, 600, 25


def cells(policy: PolicyResult, target: float) -> list[str]:
    """Units, the worst arm's mean error over the target, coverage, plain and corrected."""
    worst = policy.expected_max()
    covered = [policy.coverage(corrected=corrected) for corrected in (False, True)]
    by_arm = 100 * policy.ledger.coverage.mean(axis=0)
    return [
        f"{policy.units().value:.0f}",
        f"{worst.value / target:.2f} ± {worst.stderr / target:.2f}",
        *(f"{100 * share.value:.1f} ± {100 * share.stderr:.1f}" for share in covered),
        f"{by_arm.min():.1f} – {by_arm.max():.1f}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=800)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", type=Path, help="also write the table to this file")
    options = parser.parse_args()
    rows = []
    for name, target in TARGETS.items():
        scenario = eq.GaussianScenario(noise=SCENARIOS[name], dim=DIM, budget=BUDGET)
        for spec in SPECS:
            for by in ("objective", "bound"):
                stopping = scenario.replace(stop=eq.StopRule(target=target, every=EVERY, by=by))
                found = eq.simulate(stopping, [spec], trials=options.trials, seed=options.seed)[spec]
                ended = f"{by}, {100 * found.stopped().value:.0f} %"
                rows.append([name, f"`{spec}`", ended, *cells(found, target)])
                # The same number of units for all, as many as were needed on average.
                fixed = scenario.replace(budget=round(found.units().value))
                found = eq.simulate(fixed, [spec], trials=options.trials, seed=options.seed)[spec]
                rows.append([name, f"`{spec}`", "fixed", *cells(found, target)])
    caption = (
        f"Trials that end when `objective`, or the same of the arms' `error_bound`, is at most the target "
        f"({TARGETS['equal']:g} equal, {TARGETS['unequal']:g} unequal), looked at every {EVERY} units up to "
        f"{BUDGET}, with the share that did; then trials of a fixed number of units, the mean of those. Mean "
        f"units, the largest mean error of an arm over the target, and percent of coefficients inside their "
        f"95 % intervals: plain t, corrected, and the corrected ones of the arms that cover least and most. "
        f"m = {len(EQUAL)}, d = {DIM}, default estimator, {options.trials:,} trials, seed {options.seed}, "
        f"equipoise {eq.__version__}, NUMERICS {eq.NUMERICS}. "
        "Printed by `python benchmarks/honest/stopping.py`."
    )
    header = ["scenario", "policy", "ended by", "units", "error / target", "plain t", "corrected", "by arm"]
    show(header, rows, caption, options.write)


if __name__ == "__main__":
    main()
