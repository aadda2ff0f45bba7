"""How often 95 % intervals cover the truth after adaptive allocation, plain and corrected.

python benchmarks/pages/interval_coverage.py --write docs/tables/coverage.md
"""

from __future__ import annotations

from scenarios import ARMS, DIM, LIBRARY, arguments, markdown, show, simulate_all

SPECS = ["uniform", "trace-gain", "trace-ucb", "trace-ucb:width=0.25", "var-ucb"]


def main() -> None:
    options = arguments(__doc__, trials=10_000)
    rows = []
    for names, policy in simulate_all(SPECS, options):
        cells = []
        for corrected in (False, True):
            covered = policy.coverage(corrected=corrected)
            ledger = policy.ledger.coverage if corrected else policy.ledger.plain_coverage
            by_arm = 100 * ledger.mean(axis=0)
            cells.append(f"{100 * covered.value:.2f} ± {100 * covered.stderr:.2f}")
            cells.append(f"{by_arm.min():.1f} – {by_arm.max():.1f}")
        rows.append([*names, *cells])
    caption = (
        f"Percent of coefficients inside their 95 % interval; m = {ARMS}, d = {DIM}, "
        f"{options.trials:,} trials, seed {options.seed}, {LIBRARY}. "
        "Printed by `python benchmarks/pages/interval_coverage.py`."
    )
    header = ["scenario", "n", "policy", "plain t", "by arm", "corrected", "by arm"]
    show(markdown(header, rows, caption), options.write)


if __name__ == "__main__":
    main()
