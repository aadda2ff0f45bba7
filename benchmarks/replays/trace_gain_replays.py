"""Trace-Gain against Trace-UCB on the two tables of Figure 2, on the same rows.

python benchmarks/replays/trace_gain_replays.py FOLDER --write docs/tables/replays/trace-gain-replays.md
"""

from __future__ import annotations

import argparse
from pathlib import Path

import equipoise as eq
from equipoise.core.text_tables import markdown_table
from equipoise.lab.results.simulation import SimulationResult
from equipoise.lab.running.simulate import run_policies
from equipoise.report.numbers import with_error
from equipoise.studies.paper.figure2 import open_sweep

PAIR = ["trace-ucb", "trace-gain"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="folder with the ratings, as for equipoise reproduce --data")
    parser.add_argument("--trials", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", type=Path, help="also write the table to this file")
    options = parser.parse_args()
    rows = []
    for name in ("jester", "movielens"):
        sweep = open_sweep(name, options.data)
        for arena in sweep.arenas:
            found = run_policies(arena, PAIR, trials=options.trials, seed=options.seed)
            result = SimulationResult(arena, options.seed, eq.__version__, found)
            cells = []
            for loss in ("median_max", "expected_max"):
                cells += [with_error(getattr(result[policy], loss)()) for policy in PAIR]
                cells.append(with_error(result.difference("trace-gain", "trace-ucb", loss)))
            rows.append([sweep.panel.title, str(arena.budget), *cells])
    losses = [f"{loss}, {what}" for loss in ("median", "expected") for what in (*PAIR, "paired difference")]
    caption = (
        f"Held-out errors, {options.trials:,} trials, seed {options.seed}, equipoise {eq.__version__}, "
        f"NUMERICS {eq.NUMERICS}. "
        "Printed by `python benchmarks/replays/trace_gain_replays.py FOLDER`."
    )
    table = f"{markdown_table(['table', 'n', *losses], rows)}\n{caption}\n"
    print(table)
    if options.write is not None:
        options.write.write_text(table)


if __name__ == "__main__":
    main()
