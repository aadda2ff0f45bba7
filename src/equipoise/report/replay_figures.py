"""Figures of a replay's report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from equipoise.lab.replay import ReplayResult
from equipoise.lab.results.words import loss_words
from equipoise.report.document import Figure
from equipoise.report.figures import DASHES, MARKERS, SERIES, new_figure


def budgets_figure(results: Sequence[ReplayResult]) -> Figure:
    """The worst arm's median error by budget, a line a policy."""
    names = list(results[0].policies)
    ordered = sorted(results, key=lambda result: result.table.budget)
    budgets = [result.table.budget for result in ordered]

    def draw(axes: Any) -> None:
        for place, name in enumerate(names):
            estimates = [result[name].median_max() for result in ordered]
            axes.errorbar(
                budgets,
                [estimate.value for estimate in estimates],
                yerr=np.nan_to_num([2.0 * estimate.stderr for estimate in estimates]),
                color=SERIES[place % len(SERIES)],
                linestyle=DASHES[place % len(DASHES)],
                marker=MARKERS[place % len(MARKERS)],
                markersize=5,
                capsize=2.5,
                label=name,
            )
        axes.set_xscale("log")
        axes.set_yscale("log")
        _plain_ticks(axes, budgets)
        axes.set_xlabel("units (log scale)")
        axes.set_ylabel(f"{loss_words('median_max')} (log scale)")
        axes.legend(loc="upper right")

    return new_figure(
        draw,
        caption=f"{loss_words('median_max').capitalize()} on held-out rows by budget; "
        "bars reach two standard errors.",
        description="Worst error of every policy by budget; the table above has the numbers.",
        wide=True,
        height=4.2,
    )


def _plain_ticks(axes: Any, budgets: Sequence[int]) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

    axes.set_xticks(budgets, [f"{budget:,}" for budget in budgets])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
