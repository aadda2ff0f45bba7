"""Figure 1 in the paper's arrangement, (a) to (c) above (d) to (f), and Figure 2, its tables side by side."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from equipoise.lab.results.words import loss_words
from equipoise.studies.colours import policy_looks
from equipoise.studies.drawing import add_caption, house_style, plain_log_ticks, save
from equipoise.studies.labels import LineEnd, label_panels
from equipoise.studies.noise import EQUAL
from equipoise.studies.paper.figure1 import Panel
from equipoise.studies.paper.figure2 import TablePanel
from equipoise.studies.paper.panel_result import PanelResult

_COLUMNS = 3
# An axis that spans less than this factor needs more ticks than 1, 2 and 5.
_NARROW = 4.0
_TITLE = "Trace-UCB, Figure 1: synthetic data, seven arms"
_TABLES_TITLE = "Trace-UCB, Figure 2: replays of real ratings"


def draw_figure1(results: Mapping[str, PanelResult], folder: Path, *, settings: str) -> list[Path]:
    """Draw the synthetic panels at hand into ``figure1.svg`` and ``figure1.png``; returns these."""
    return _draw(results, folder, "figure1", title=_TITLE, settings=settings)


def draw_figure2(results: Mapping[str, PanelResult], folder: Path, *, settings: str) -> list[Path]:
    """Draw the replayed tables at hand into ``figure2.svg`` and ``figure2.png``; returns these."""
    return _draw(results, folder, "figure2", title=_TABLES_TITLE, settings=settings)


def _draw(
    results: Mapping[str, PanelResult], folder: Path, name: str, *, title: str, settings: str
) -> list[Path]:
    from matplotlib.figure import Figure

    columns = min(_COLUMNS, len(results))
    rows = math.ceil(len(results) / columns)
    width, height = max(4.6 * columns, 6.4), 3.4 * rows + 0.2
    with house_style():
        figure = Figure(figsize=(width, height), layout="constrained")
        add_caption(figure, _caption(results, settings))
        axes = figure.subplots(rows, columns, squeeze=False).ravel()
        for ax in axes[len(results) :]:
            ax.set_visible(False)
        drawn = [_draw_panel(ax, result) for ax, result in zip(axes, results.values(), strict=False)]
        label_panels(list(zip(axes, drawn, strict=False)))
        return save(figure, folder, name, title=title, settings=settings)


def _caption(results: Mapping[str, PanelResult], settings: str) -> str:
    first, _, width = settings.partition(" · ridge")
    notes = [
        f"{name}: {result.panel.note}"
        for name, result in results.items()
        if isinstance(result.panel, TablePanel)
    ]
    return "\n".join([*notes, first, f"bands: ± 2 standard errors · ridge{width}"])


def _draw_panel(ax: Any, result: PanelResult) -> list[LineEnd]:
    """All curves; returns where they end."""
    panel = result.panel
    ax.set_yscale("log")
    ends = []
    for policy, look in zip(result.policies, policy_looks(result.policies), strict=True):
        curve = result.curve(policy)
        at, values = [m.at for m in curve], [m.value for m in curve]
        ax.plot(at, values, linewidth=1.7, markersize=4.5, **look.line)
        # On a log axis a band that reaches zero would run off the page.
        low = [max(m.value - 2.0 * m.stderr, 1e-3 * m.value) for m in curve]
        high = [m.value + 2.0 * m.stderr for m in curve]
        ax.fill_between(at, low, high, color=look.color, alpha=0.22, linewidth=0)
        ends.append(LineEnd(policy, at[-1], values[-1], look.text))
    values = [m.value for policy in result.policies for m in result.curve(policy)]
    narrow = max(values) < _NARROW * min(values)
    plain_log_ticks(ax.yaxis, steps=(1.0, 1.2, 1.5, 2.0, 3.0, 5.0, 7.0) if narrow else (1.0, 2.0, 5.0))
    ax.set_title(_panel_title(panel), loc="left", fontsize=10.5, fontweight="bold")
    ax.set_xlabel("features d" if panel.axis == "d" else "budget n")
    ax.set_ylabel(loss_words(panel.loss))
    ax.set_xticks(_ticks([m.at for m in result.curve(result.policies[0])]))
    return ends


def _panel_title(panel: Panel | TablePanel) -> str:
    if isinstance(panel, TablePanel):
        return panel.title
    noise = "equal noise" if panel.sweep.noise == EQUAL else "unequal noise"
    fixed = f"n = {panel.sweep.budgets[0]}" if panel.axis == "d" else f"d = {panel.sweep.dims[0]}"
    return f"({panel.id})  {noise}, {fixed}"


def _ticks(places: list[float]) -> list[float]:
    """Places whose labels have room: a gap of at least a tenth of the axis to the one before."""
    room = (places[-1] - places[0]) / 10.0
    kept = places[:1]
    for place in places[1:]:
        if place - kept[-1] >= room:
            kept.append(place)
    return kept
