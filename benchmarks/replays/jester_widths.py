"""Trace-UCB's gain over Var-UCB on Jester at several widths: a table of docs/studies/reproduce.md.

Run: python benchmarks/replays/jester_widths.py jester_dataset_1_1.zip
"""

from __future__ import annotations

import argparse
from pathlib import Path

import equipoise as eq
from equipoise.studies.losses import summarise
from equipoise.studies.paper.figure2 import JESTER_USERS

TABLE = Path(__file__).parents[2] / "docs" / "tables" / "replays" / "var-ucb-jester.md"
BUDGETS = (450, 500, 600, 800, 1000, 1200, 1500)
WIDTHS = (1, 2, 4, 8)
SEED = 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, help="a Jester file")
    parser.add_argument("--trials", type=int, default=1_000)
    parser.add_argument("--write", type=Path, default=TABLE)
    chosen = parser.parse_args()
    table = eq.as_table(eq.load_jester(chosen.file, users=JESTER_USERS), name="Jester")
    policies = [f"{name}:width={width}" for width in WIDTHS for name in ("var-ucb", "trace-ucb")]
    results = eq.replay(
        table,
        policies,
        budget=BUDGETS,
        center="table",
        scale="none",
        estimator="ridge",
        trials=chosen.trials,
        seed=SEED,
        saved=False,
    )
    lines = [
        "| n | " + " | ".join(f"`width={width}`" for width in WIDTHS) + " |",
        "|---" * (len(WIDTHS) + 1) + "|",
    ]
    for result in results:
        losses = summarise(result).losses["median_max"]
        cells = []
        for width in WIDTHS:
            ratio, stderr = losses.ratio(f"var-ucb:width={width}", f"trace-ucb:width={width}")
            cells.append(f"{100 * (ratio - 1):.0f} ± {100 * stderr:.0f} %".replace("-", "−"))
        lines.append(f"| {result.table.budget:,} | " + " | ".join(cells) + " |")
    lines += [
        "",
        "How much higher Var-UCB's median worst error is than Trace-UCB's at the same width, on Jester. "
        f"equipoise {eq.__version__}, NUMERICS {eq.NUMERICS}, seed {SEED}, {chosen.trials:,} trials. "
        "Printed by `python benchmarks/replays/jester_widths.py FILE`.",
        "",
    ]
    chosen.write.write_text("\n".join(lines))


if __name__ == "__main__":
    main()
