"""Figures of an experiment's report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from equipoise.core.diagnosis.balance import ArmBalance
from equipoise.core.estimates.estimates import Estimates
from equipoise.report.document import Figure
from equipoise.report.figures import legend_above, name_rows, new_figure
from equipoise.report.numbers import shortened
from equipoise.studies.colours import GRID, INK, MARKERS, QUIET, SERIES

FIGURE_ARMS, FIGURE_FEATURES = 7, 24
_BALANCE_ARMS = 16
_NEGLIGIBLE = 0.1


def models_figure(estimates: Estimates, features: Sequence[int]) -> Figure:
    """Coefficients of every arm with their intervals, a row a feature."""

    def draw(axes: Any) -> None:
        axes.axvline(0.0, color=QUIET, linewidth=1.0)
        rows = np.arange(len(features))
        reach = 0.3 if len(estimates) > 1 else 0.0
        for place, (arm, offset) in enumerate(
            zip(estimates, np.linspace(-reach, reach, len(estimates)), strict=True)
        ):
            ends = arm.intervals[list(features)]
            known = np.isfinite(ends).all(axis=1)
            middle = ends[known].mean(axis=1)
            axes.errorbar(
                middle,
                rows[known] + offset,
                xerr=middle - ends[known, 0],
                fmt=MARKERS[place],
                color=SERIES[place],
                markersize=4.5,
                linewidth=1.2,
                label=shortened(arm.arm),
            )
        axes.set_ylim(len(features) - 0.4, -0.6)
        axes.set_yticks(rows, [shortened(estimates.problem.feature_names[j]) for j in features])
        axes.set_ylabel("feature")
        axes.set_xlabel("coefficient")
        axes.grid(axis="y", visible=False)
        legend_above(axes)

    return new_figure(
        draw,
        caption="Least squares coefficients of every arm. Bars are their intervals.",
        description="Coefficients of every arm with intervals; the table below has the numbers.",
        height=min(11.0, 1.4 + (0.24 + 0.09 * len(estimates)) * len(features)),
    )


def balance_figure(arms: Sequence[ArmBalance]) -> Figure:
    """Standardised differences of every arm: a dot a feature, and one for r."""
    few = arms[:_BALANCE_ARMS]
    farthest = max(max(abs(arm.length_difference), abs(arm.largest_difference)) for arm in few)

    def draw(axes: Any) -> None:
        axes.axvspan(-_NEGLIGIBLE, _NEGLIGIBLE, color=GRID, linewidth=0.0)
        axes.axvline(0.0, color=QUIET, linewidth=1.0)
        for row, arm in enumerate(few):
            shown = arm.differences[arm.differences != 0.0]
            first = row == 0
            axes.scatter(
                shown,
                np.full(len(shown), row + 0.5),
                s=22,
                facecolors="none",
                edgecolors=SERIES[0],
                linewidths=1.1,
                label="means of features" if first else None,
            )
            axes.scatter(
                [arm.length_difference],
                [row + 0.5],
                s=34,
                marker="D",
                color=SERIES[1],
                label="r, length" if first else None,
            )
        name_rows(axes, [shortened(arm.arm) for arm in few])
        limit = max(0.15, 1.15 * farthest)
        axes.set_xlim(-limit, limit)
        axes.set_xlabel("difference to all units, in standard deviations")
        axes.tick_params(axis="x", color=INK)
        legend_above(axes)

    spoken = "; ".join(
        f"{arm.arm}: r {arm.length_difference:+.2f}, largest of a feature {arm.largest_difference:+.2f}"
        for arm in few
    )
    left = "" if len(few) == len(arms) else f" The first {len(few)} of {len(arms)} arms."
    return new_figure(
        draw,
        caption=f"Contexts of every arm against those of all units. The band reaches {_NEGLIGIBLE} standard "
        f"deviations to each side.{left}",
        description=f"Standardised differences of every arm. {spoken}.",
        height=max(1.9, 1.0 + 0.55 * len(few)),
    )
