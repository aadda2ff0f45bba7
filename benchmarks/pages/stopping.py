"""What stopping at a target does: units, errors and coverage, beside trials of a fixed number of units.

python benchmarks/pages/stopping.py --write docs/tables/stopping.md
"""

from __future__ import annotations

import equipoise as eq
from equipoise.lab import PolicyResult
from scenarios import ARMS, DIM, LIBRARY, SCENARIOS, arguments, markdown, show

SPECS = ["uniform", "trace-ucb", "trace-gain"]
TARGETS = {"equal": 1.0, "unequal": 1.5}
BUDGET, EVERY = 600, 25


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
    options = arguments(__doc__, trials=800)
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
        f"m = {ARMS}, d = {DIM}, default estimator, {options.trials:,} trials, seed {options.seed}, "
        f"{LIBRARY}. Printed by `python benchmarks/pages/stopping.py`."
    )
    header = ["scenario", "policy", "ended by", "units", "error / target", "plain t", "corrected", "by arm"]
    show(markdown(header, rows, caption), options.write)


if __name__ == "__main__":
    main()
