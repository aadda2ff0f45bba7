"""What it costs to leave part of the assignment to chance.

python benchmarks/pages/chance.py --write docs/tables/chance.md
"""

from __future__ import annotations

from scenarios import ARMS, DIM, LIBRARY, WORST, arguments, losses, markdown, show, simulate_all

SPECS = ["oracle", *(f"trace-gain:chance={share}" for share in (0, 0.05, 0.1, 0.2, 0.3, 0.5, 1))]


def main() -> None:
    options = arguments(__doc__, trials=10_000)
    rows = [[*names, *losses(policy)] for names, policy in simulate_all(SPECS, options)]
    caption = (
        f"m = {ARMS}, d = {DIM}, ridge λ = 1/n, {options.trials:,} trials, seed {options.seed}, "
        f"{LIBRARY}. Printed by `python benchmarks/pages/chance.py`."
    )
    header = ["scenario", "n", "policy", *WORST]
    show(markdown(header, rows, caption), options.write)


if __name__ == "__main__":
    main()
