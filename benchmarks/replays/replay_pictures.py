"""The pictures and the table of docs/lab/replay.md, from a Jester file.

Run: python benchmarks/replays/replay_pictures.py jester_dataset_1_1.zip
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import equipoise as eq
from equipoise.core.text_tables import markdown_table
from equipoise.lab.replay import ReplayResult
from equipoise.lab.results.words import loss_words
from equipoise.report.numbers import with_error
from equipoise.studies.colours import INK, QUIET, policy_looks
from equipoise.studies.drawing import house_style, plain_log_ticks, save
from equipoise.studies.labels import LineEnd, label_lines

DOCS = Path(__file__).parents[2] / "docs"
POLICIES = ["uniform", "oracle", "trace-ucb", "trace-gain"]
SAVING = ["trace-gain", "trace-ucb"]
BUDGETS = (500, 600, 800, 1000, 1200, 1600)
SHOWN = 800
SEED = 1
LOOKS = dict(zip(POLICIES, policy_looks(POLICIES), strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, help="a Jester file")
    parser.add_argument("--trials", type=int, default=1_000)
    parser.add_argument("--checkpoint", type=Path, help="keeps finished trials")
    parser.add_argument("--docs", type=Path, default=DOCS, help="where figures/ and tables/ are")
    chosen = parser.parse_args()
    table = eq.as_table(eq.load_jester(chosen.file), name="Jester")
    results = eq.replay(
        table,
        POLICIES,
        budget=BUDGETS,
        scale="none",
        estimator="ridge",
        trials=chosen.trials,
        seed=SEED,
        checkpoint=chosen.checkpoint,
    )
    shown = next(result for result in results if result.table.budget == SHOWN)
    library = f"equipoise {shown.version}, NUMERICS {shown.numerics}"
    settings = f"{library}, seed {SEED}, {chosen.trials:,} trials, table {table.digest}"
    (chosen.docs / "tables" / "replays" / "replay.md").write_text(table_of(results, settings))
    with house_style():
        draw_saved(results, shown, chosen.docs / "figures", settings)
        draw_units(shown, chosen.docs / "figures", settings)


def table_of(results: Sequence[ReplayResult], settings: str) -> str:
    """Worst errors and units saved by budget, in Markdown."""
    heads = ["units", *POLICIES, *(f"units saved by {name}" for name in SAVING)]
    rows = []
    for result in results:
        losses = [with_error(result[name].median_max()) for name in POLICIES]
        rows.append([f"{result.table.budget:,}", *losses, *(str(result.saved[name]) for name in SAVING)])
    caption = f"Median over trials of the worst joke's held-out error. {settings}."
    return f"{markdown_table(heads, rows)}\n{caption}\n"


def draw_saved(results: Sequence[ReplayResult], shown: ReplayResult, folder: Path, settings: str) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 4.2), layout="constrained")
    ax = figure.subplots()
    ends = []
    for name in POLICIES:
        losses = [result[name].median_max() for result in results]
        values = [loss.value for loss in losses]
        ends.append(LineEnd(name, BUDGETS[-1], values[-1], LOOKS[name].text))
        ax.plot(BUDGETS, values, linewidth=1.7, markersize=5, **LOOKS[name].line)
        low, high = ([loss.value + sign * 2 * loss.stderr for loss in losses] for sign in (-1, 1))
        ax.fill_between(BUDGETS, low, high, color=LOOKS[name].color, alpha=0.2, linewidth=0)
    _draw_arrow(ax, shown)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xticks(BUDGETS, [f"{budget:,}" for budget in BUDGETS])
    ax.minorticks_off()
    plain_log_ticks(ax.yaxis, steps=(1.0, 1.5, 2.0, 3.0, 5.0, 7.0))
    ax.set_xlabel("units n (log scale)")
    ax.set_ylabel(f"{loss_words('median_max')}, held-out ratings (log scale)")
    label_lines(ax, ends)
    save(figure, folder, "replay-saved", title="Units saved on Jester", settings=settings)
    (folder / "replay-saved.svg").unlink()  # the page shows the other


def _draw_arrow(ax: Any, shown: ReplayResult) -> None:
    name = SAVING[0]
    reached = shown[name].median_max().value
    needed = shown.saved[name].uniform_budget.value
    arrow = {"arrowstyle": "->", "color": INK, "linewidth": 1.2, "shrinkA": 6, "shrinkB": 0}
    ax.annotate("", xy=(needed, reached), xytext=(SHOWN, reached), arrowprops=arrow)
    ax.annotate(
        f"{shown.saved[name]} units saved",
        xy=(SHOWN, reached),
        xytext=(-8, -18),  # below all curves
        textcoords="offset points",
        ha="right",
    )


def draw_units(shown: ReplayResult, folder: Path, settings: str) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 3.6), layout="constrained")
    ax = figure.subplots()
    places = range(len(shown.table.targets))
    ends = []
    for place, name in enumerate(POLICIES):
        beside = [arm + 0.18 * (place - (len(POLICIES) - 1) / 2) for arm in places]
        spread = shown[name].ledger.counts.std(axis=0)
        units = [estimate.value for estimate in shown[name].pulls()]
        ends.append(LineEnd(name, beside[-1], units[-1], LOOKS[name].text))
        ax.errorbar(beside, units, yerr=spread, linestyle="none", markersize=6, **LOOKS[name].point)
    labels = [f"{arm}\nσ² = {v:.3g}" for arm, v in zip(shown.table.targets, shown.table.noise, strict=True)]
    ax.set_xticks(list(places), labels, fontsize=8)
    ax.set_ylim(bottom=0)
    ax.grid(axis="x", visible=False)
    ax.set_ylabel(f"units of {SHOWN}")
    label_lines(ax, ends)
    ax.set_title(
        "bars: one standard deviation over trials", loc="right", fontsize=8, color=QUIET, fontweight="normal"
    )
    save(figure, folder, "replay-units", title="Units an arm on Jester", settings=settings)
    (folder / "replay-units.svg").unlink()


if __name__ == "__main__":
    main()
