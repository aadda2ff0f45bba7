"""The picture: a row a policy, a dot a scenario, the geometric mean on top, the oracle at 1."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from equipoise.lab.results.words import loss_words
from equipoise.studies.drawing import INK, QUIET, house_style, plain_log_ticks, save
from equipoise.studies.leaderboard.ranking import Standing
from equipoise.studies.leaderboard.record import Leaderboard
from equipoise.studies.leaderboard.suite import PAPER

_KINDS = ("expected_max", "median_max")
_STRIPE = "#F6F6F6"
_TITLE = "Policies on the suite of scenarios: error over the oracle's"
# Two of Okabe and Ito's colours, which also differ in lightness; the markers differ as well.
_PAPER_LOOK = {"color": "#0072B2", "marker": "o", "alpha": 0.75, "s": 20, "linewidths": 0}
_OTHER_LOOK = {"facecolors": "none", "edgecolors": "#D55E00", "marker": "D", "s": 17, "linewidths": 1.0}


def draw_leaderboard(board: Leaderboard, folder: Path) -> None:
    """Draw ``leaderboard.svg`` and ``leaderboard.png``."""
    from matplotlib.figure import Figure

    standings = [standing for standing in board.ranking() if standing.policy != board.reference]
    width, height = 8.6, 0.42 * len(standings) + 1.7
    with house_style():
        figure = Figure(figsize=(width, height))
        axes = figure.subplots(1, 2, sharey=True, sharex=True, squeeze=False).ravel()
        longest = max(len(standing.policy) for standing in standings)
        figure.subplots_adjust(
            left=(0.35 + 0.083 * longest) / width,
            right=1 - 0.1 / width,
            top=1 - 0.78 / height,
            bottom=0.8 / height,
            wspace=0.06,
        )
        for kind, ax in enumerate(axes):
            _draw_panel(ax, board, standings, kind)
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(
            handles,
            labels,
            loc="upper left",
            bbox_to_anchor=(0.1 / width, 1.0),
            ncols=len(labels),
            frameon=False,
            fontsize=9,
            handletextpad=0.3,
            columnspacing=1.4,
        )
        figure.text(0.12 / width, 0.1 / height, board.settings, fontsize=7.5, color=QUIET)
        save(figure, folder, "leaderboard", title=_TITLE, settings=board.settings)


def _draw_panel(ax: Any, board: Leaderboard, standings: Sequence[Standing], kind: int) -> None:
    ax.set_xscale("log")
    places = np.arange(len(standings), dtype=float)
    for place in places[::2]:
        ax.axhspan(place - 0.5, place + 0.5, color=_STRIPE, linewidth=0, zorder=0)
    ax.axvline(1.0, color=INK, linewidth=1.2, zorder=1)
    for in_paper, label, look in (
        (True, "a scenario of the paper", _PAPER_LOOK),
        (False, "a robustness scenario", _OTHER_LOOK),
    ):
        rows = [row for row in board.rows if (row.entry.group == PAPER) == in_paper]
        # Side by side in the order of the suite, so that dots at the same value stay apart.
        shifts = np.linspace(-0.26, 0.26, len(rows)) if len(rows) > 1 else np.zeros(len(rows))
        ratios = [
            [row.ratio(standing.policy, board.reference, kind)[0] for row in rows] for standing in standings
        ]
        heights = [place + shift for place in places for shift in shifts]
        if rows:
            ax.scatter(np.ravel(ratios), heights, label=label, zorder=2, **look)
    means = [(standing.expected, standing.median)[kind] for standing in standings]
    ax.plot(
        [value for value, _ in means],
        places,
        linestyle="none",
        marker="|",
        markersize=18,
        markeredgewidth=2.6,
        color=INK,
        label="geometric mean",
        zorder=3,
    )
    for place, (value, _) in zip(places, means, strict=True):
        ax.annotate(
            f"{value:.2f}",
            (1.0, place),
            xycoords=("axes fraction", "data"),
            xytext=(-2, 0),
            textcoords="offset points",
            ha="right",
            va="center",
            fontsize=9,
            fontweight="bold",
            zorder=4,
        )
    ax.set_yticks(places, [standing.policy for standing in standings], fontsize=10)
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(len(standings) - 0.5, -0.5)
    ax.text(1.0, -0.55, "oracle", fontsize=8.5, color=INK, va="bottom", ha="center")
    low, high = ax.get_xlim()
    ax.set_xlim(low, high * 1.5)  # room for the numbers
    ax.grid(visible=False, axis="y")
    plain_log_ticks(ax.xaxis, steps=(1.0, 2.0, 5.0))
    ax.set_title(loss_words(_KINDS[kind]), loc="left", fontsize=10.5, fontweight="bold", pad=16)
    ax.set_xlabel("error over the oracle's (left is better)", fontsize=9)
