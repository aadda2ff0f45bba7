"""What it costs to make the next arm hard to guess, and how hard that makes it.

python benchmarks/honest/concealment.py --write docs/tables/live/concealment.md
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import equipoise as eq
from equipoise.studies.noise import EQUAL, UNEQUAL
from quick_trials import show

BASE = "trace-gain"
SPECS = [
    BASE,
    *(f"{BASE}:chance={share}" for share in (0.1, 0.3, 0.5)),
    *("trace-ucb", "permuted-blocks", "complete"),
]
SCENARIOS = {
    "unequal noise, m 7, d 10, n 350": eq.Scenario(noise=UNEQUAL, dim=10, budget=350),
    "equal noise, m 7, d 10, n 350": eq.Scenario(noise=EQUAL, dim=10, budget=350),
    "two arms, d 4, n 120": eq.Scenario(noise=(0.5, 2.0), dim=4, budget=120, intercept=True),
    "three arms, d 6, n 60": eq.Scenario(noise=(0.5, 1.0, 2.0), dim=6, budget=60, intercept=True),
}
GUESSED_TRIALS = 200
"""Trials whose arms are guessed, one by one."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", type=Path, help="also write the table to this file")
    options = parser.parse_args()
    rows = []
    for name, scenario in SCENARIOS.items():
        result = eq.simulate(scenario, SPECS, trials=options.trials, seed=options.seed)
        guesses = eq.predictability(scenario, SPECS, trials=GUESSED_TRIALS, seed=options.seed)
        for spec in SPECS:
            guess = guesses[spec]
            shares = [
                (guess.best, guess.best_stderr),
                (guess.fewest, guess.fewest_stderr),
                (guess.most, guess.most_stderr),
            ]
            rows.append(
                [
                    *(name, f"`{spec}`", ratio(result, spec)),
                    *(f"{100 * share:.1f} ± {100 * error:.1f} %" for share, error in shares),
                    f"{100 * guess.chance:.1f} %",
                ]
            )
    caption = (
        f"Error: the largest mean error of an arm over that of `{BASE}`, {options.trials:,} paired trials. "
        "Guessed: share of arms guessed right, by who knows the rule, the past and the context; and by who "
        "knows past arms alone, and names the arm with the fewest units so far, or the one with the most; "
        f"{GUESSED_TRIALS} trials. Blind: 1/m. ± is one standard error. Seed {options.seed}, equipoise "
        f"{eq.__version__}, NUMERICS {eq.NUMERICS}. Printed by `python benchmarks/honest/concealment.py`."
    )
    header = ["scenario", "policy", "error", "guessed by rule", "by the fewest", "by the most", "blind"]
    show(header, rows, caption, options.write)


def ratio(result: eq.SimulationResult, spec: str) -> str:
    """A loss over that of the base, with the standard error of a ratio of paired means."""
    if spec == BASE:
        return "1"
    own, base = result[spec].expected_max(), result[BASE].expected_max()
    paired = result.difference(spec, BASE, "expected_max").stderr
    share = own.value / base.value
    covariance = 0.5 * (own.stderr**2 + base.stderr**2 - paired**2)
    variance = own.stderr**2 + share**2 * base.stderr**2 - 2.0 * share * covariance
    return f"{share:.3f} ± {math.sqrt(max(variance, 0.0)) / base.value:.3f}"


if __name__ == "__main__":
    main()
