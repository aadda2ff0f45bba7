"""Figure 1 in the paper's arrangement: (a) to (c) above (d) to (f)."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from equipoise.lab.reproduce.drawing import LOOKS, QUIET, house_style, plain_log_ticks, save
from equipoise.lab.reproduce.panels import EQUAL
from equipoise.lab.reproduce.record import Reproduction
from equipoise.lab.reproduce.results import PanelResult

_COLUMNS = 3
_LOSSES = {
    "median_max": "median over trials of the worst error",
    "expected_max": "largest mean error of an arm",
}
_TITLE = "Trace-UCB, Figure 1: synthetic data, seven arms"


def draw_figure(found: Reproduction, folder: Path) -> None:
    """Draw the panels at hand into ``figure1.svg`` and ``figure1.png``."""
    from matplotlib.figure import Figure

    columns = min(_COLUMNS, len(found.results))
    rows = math.ceil(len(found.results) / columns)
    width, height = max(4.3 * columns, 6.0), 3.5 * rows + 1.15
    with house_style():
        figure = Figure(figsize=(width, height))
        axes = figure.subplots(rows, columns, squeeze=False).ravel()
        figure.subplots_adjust(
            left=0.75 / width,
            right=1 - 0.15 / width,
            top=1 - 0.8 / height,
            bottom=0.95 / height,
            wspace=0.24,
            hspace=0.42,
        )
        for ax, result in zip(axes, found.results.values(), strict=False):
            _draw_panel(ax, result)
        for ax in axes[len(found.results) :]:
            ax.set_visible(False)
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(
            handles,
            labels,
            loc="upper left",
            bbox_to_anchor=(0.5 / width, 1 - 0.08 / height),
            ncols=len(labels),
            frameon=False,
            fontsize=10.5,
            handlelength=3.2,
            columnspacing=2.2,
        )
        figure.text(0.6 / width, 0.1 / height, _caption(found), fontsize=7.5, color=QUIET, linespacing=1.4)
        save(figure, folder, "figure1", title=_TITLE, settings=found.settings)


def _caption(found: Reproduction) -> str:
    first, _, width = found.settings.partition(" · ridge")
    return f"{first}\nbands: ± 2 standard errors · ridge{width}"


def _draw_panel(ax: Any, result: PanelResult) -> None:
    panel = result.panel
    ax.set_yscale("log")
    for policy in result.policies:
        curve = result.curve(policy)
        at, values = [m.at for m in curve], [m.value for m in curve]
        look = LOOKS.get(policy, {})
        ax.plot(at, values, label=policy, linewidth=1.7, markersize=4.5, **look)
        # On a log axis a band that reaches zero would run off the page.
        low = [max(m.value - 2.0 * m.stderr, 1e-3 * m.value) for m in curve]
        high = [m.value + 2.0 * m.stderr for m in curve]
        ax.fill_between(at, low, high, color=look.get("color"), alpha=0.22, linewidth=0)
    plain_log_ticks(ax.yaxis)
    noise = "equal noise" if panel.sweep.noise == EQUAL else "unequal noise"
    fixed = f"n = {panel.sweep.budgets[0]}" if panel.axis == "d" else f"d = {panel.sweep.dims[0]}"
    ax.set_title(f"({panel.id})  {noise}, {fixed}", loc="left", fontsize=10.5, fontweight="bold")
    ax.set_xlabel("features d" if panel.axis == "d" else "budget n")
    ax.set_ylabel(_LOSSES[panel.loss])
    ax.set_xticks(_ticks([m.at for m in result.curve(result.policies[0])]))


def _ticks(places: list[float]) -> list[float]:
    """Places whose labels have room: a gap of at least a tenth of the axis to the one before."""
    room = (places[-1] - places[0]) / 10.0
    kept = places[:1]
    for place in places[1:]:
        if place - kept[-1] >= room:
            kept.append(place)
    return kept
