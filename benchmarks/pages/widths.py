"""What each noise bound does to the allocation on the paper's two scenarios.

python benchmarks/pages/widths.py --write docs/tables/widths.md
"""

from __future__ import annotations

import equipoise as eq
from scenarios import ARMS, DIM, SCENARIOS, arguments, markdown, scenario, show

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
        for name in SCENARIOS:
            result = eq.simulate(scenario(name, budget), SPECS, trials=options.trials, seed=options.seed)
            for spec, policy in result.policies.items():
                pulls = " ".join(f"{pull.value:.0f}" for pull in policy.pulls())
                losses = [policy.expected_max(), policy.median_max()]
                cells = [f"{loss.value:.3f} ± {loss.stderr:.3f}" for loss in losses]
                rows.append([name, str(budget), f"`{spec}`", pulls, *cells])
    caption = (
        f"m = {ARMS}, d = {DIM}, ridge λ = 1/n, {options.trials:,} trials, seed {options.seed}, "
        f"equipoise {eq.__version__}. Printed by `python benchmarks/pages/widths.py`."
    )
    header = ["scenario", "n", "policy", "mean pulls an arm", "expected_max", "median_max"]
    show(markdown(header, rows, caption), options.write)


if __name__ == "__main__":
    main()
