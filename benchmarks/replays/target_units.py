"""Units saved where targets have different units, raw and standardised: a table of docs/lab/replay.md.

The table is made up: three targets, each half signal and half noise, in units whose standard deviations are
1.2, 18 and 40. No split of a budget beats equal parts, so trace-ucb, which does not look at contexts, cannot
save.

Run: python benchmarks/replays/target_units.py
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import equipoise as eq
from equipoise.core.text_tables import markdown_table
from equipoise.report.numbers import with_error

TABLE = Path(__file__).parents[2] / "docs" / "tables" / "replays" / "target-units.md"
TARGETS = {"pain": 1.2, "pressure": 18.0, "cholesterol": 40.0}
ROWS, DIM, BUDGET, SEED = 1_000, 6, 150, 1


def people() -> dict[str, np.ndarray]:
    """Contexts, and targets that half of their variance predicts."""
    rng = np.random.default_rng(SEED)
    x = rng.normal(size=(ROWS, DIM))
    columns = {f"x{c}": x[:, c] for c in range(DIM)}
    for name, spread in TARGETS.items():
        signal, noise = x @ rng.normal(size=DIM), rng.normal(size=ROWS)
        columns[name] = spread * (signal / signal.std() + noise / noise.std()) / np.sqrt(2.0)
    return columns


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=1_000)
    parser.add_argument("--write", type=Path, default=TABLE)
    chosen = parser.parse_args()
    rows = []
    for scale in ("none", "targets"):
        for policy in ("trace-ucb", "trace-gain"):
            found = eq.replay(
                people(),
                ["uniform", policy],
                targets=list(TARGETS),
                budget=BUDGET,
                scale=scale,
                trials=chosen.trials,
                seed=SEED,
            )
            shares = {row["target"]: row["share"] for row in found.by_target() if row["policy"] == policy}
            rows.append(
                [
                    f"`--scale {scale}`",
                    policy,
                    with_error(found["uniform"].median_max()),
                    with_error(found[policy].median_max()),
                    str(found.saved[policy]),
                    *(f"{100 * shares[name]:.0f} %" for name in TARGETS),
                ]
            )
    heads = [
        "",
        "policy",
        "uniform's error",
        "its error",
        "units saved",
        *(f"error in {name}" for name in TARGETS),
    ]
    caption = (
        f"{BUDGET} units of {ROWS:,} rows; errors are medians of the worst target's, then shares of every "
        f"target's variance. equipoise {eq.__version__}, NUMERICS {eq.NUMERICS}, seed {SEED}, "
        f"{chosen.trials:,} trials. Printed by `python benchmarks/replays/target_units.py`."
    )
    chosen.write.write_text(f"{markdown_table(heads, rows)}\n{caption}\n")


if __name__ == "__main__":
    main()
