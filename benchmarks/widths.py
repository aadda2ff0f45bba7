"""What each noise bound does to the allocation on the paper's two scenarios.

python benchmarks/widths.py --write docs/tables/widths.md
"""

from __future__ import annotations

import numpy as np

import equipoise as eq
from equipoise.lab import run_trials
from scenarios import ARMS, DIM, SCENARIOS, arguments, markdown, problem, show

SPECS = [
    "uniform",
    "oracle",
    "trace-ucb",
    "trace-ucb:width=0.5",
    "trace-ucb:width=2",
    "trace-ucb:width=theory:bound=3:delta=0.05",
    "trace-ucb:width=chi-square:delta=0.05",
    "trace-ucb:width=0",
    "var-ucb",
    "ch-as",
    "b-as",
    "gafs-max",
    "gfsp-max",
]


def main() -> None:
    options = arguments(__doc__, trials=10_000)
    rows = []
    for budget in (115, 350):
        for name, noise in SCENARIOS.items():
            for spec in SPECS:
                policy = eq.parse_policy(spec)
                batch = run_trials(problem(budget), policy, noise, trials=options.trials, seed=options.seed)
                value, stderr = batch.expected_max()
                median = float(np.median(batch.errors().max(axis=1)))
                pulls = " ".join(f"{mean:.0f}" for mean in batch.counts.mean(axis=0))
                loss = f"{value:.3f} ± {stderr:.3f}"
                rows.append([name, str(budget), f"`{spec}`", pulls, loss, f"{median:.3f}"])
    caption = (
        f"m = {ARMS}, d = {DIM}, ridge λ = 1/n, {options.trials:,} trials, seed {options.seed}, "
        f"equipoise {eq.__version__}. Printed by `python benchmarks/widths.py`."
    )
    header = ["scenario", "n", "policy", "mean pulls an arm", "expected_max", "median_max"]
    show(markdown(header, rows, caption), options.write)


if __name__ == "__main__":
    main()
