"""What each noise bound does to the allocation on the paper's two scenarios.

python benchmarks/pages/widths.py --write docs/tables/widths.md
"""

from __future__ import annotations

from scenarios import ARMS, DIM, LIBRARY, WORST, arguments, losses, markdown, show, simulate_all

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
    for names, policy in simulate_all(SPECS, options):
        pulls = " ".join(f"{pull.value:.0f}" for pull in policy.pulls())
        rows.append([*names, pulls, *losses(policy)])
    caption = (
        f"m = {ARMS}, d = {DIM}, ridge λ = 1/n, {options.trials:,} trials, seed {options.seed}, "
        f"{LIBRARY}. Printed by `python benchmarks/pages/widths.py`."
    )
    header = ["scenario", "n", "policy", "mean pulls an arm", *WORST]
    show(markdown(header, rows, caption), options.write)


if __name__ == "__main__":
    main()
