"""Figures of a replay's report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from equipoise.lab.replay import ReplayResult
from equipoise.lab.results.words import loss_words
from equipoise.report.document import Figure
from equipoise.report.figures import new_figure
from equipoise.studies.colours import policy_looks
from equipoise.studies.drawing import plain_log_ticks
from equipoise.studies.labels import LineEnd, label_lines


def budgets_figure(results: Sequence[ReplayResult]) -> Figure:
    """The worst arm's median error by budget, a line a policy."""
    names = list(results[0].policies)
    ordered = sorted(results, key=lambda result: result.table.budget)
    budgets = [result.table.budget for result in ordered]

    looks = policy_looks(policy.spec for policy in results[0].policies.values())

    def draw(axes: Any) -> None:
        ends = []
        for name, look in zip(names, looks, strict=True):
            estimates = [result[name].median_max() for result in ordered]
            axes.errorbar(
                budgets,
                [estimate.value for estimate in estimates],
                yerr=np.nan_to_num([2.0 * estimate.stderr for estimate in estimates]),
                markersize=5,
                capsize=2.5,
                **look.line,
            )
            ends.append(LineEnd(name, budgets[-1], estimates[-1].value, look.text))
        axes.set_xscale("log")
        axes.set_yscale("log")
        heights = [end.y for end in ends] + [result[names[0]].median_max().value for result in ordered]
        narrow = max(heights) < 4.0 * min(heights)
        plain_log_ticks(
            axes.yaxis, steps=(1.0, 1.1, 1.2, 1.5, 2.0, 3.0, 5.0, 7.0) if narrow else (1.0, 2.0, 5.0)
        )
        axes.set_xticks(budgets, [f"{budget:,}" for budget in budgets])
        axes.minorticks_off()
        axes.set_xlabel("units (log scale)")
        axes.set_ylabel(f"{loss_words('median_max')} (log scale)")
        label_lines(axes, ends)

    return new_figure(
        draw,
        caption=f"{loss_words('median_max').capitalize()} on held-out rows by budget; "
        "bars reach two standard errors.",
        description="Worst error of every policy by budget; the table above has the numbers.",
        wide=True,
        height=4.2,
    )
