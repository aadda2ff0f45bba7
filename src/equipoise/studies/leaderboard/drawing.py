"""The picture: a row a policy, a dot a scenario, the geometric mean on top, the oracle at 1."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from equipoise.lab.results.words import loss_words
from equipoise.studies.colours import INK, STRIPE, policy_looks
from equipoise.studies.drawing import add_caption, house_style, plain_log_ticks, save
from equipoise.studies.leaderboard.ranking import Standing
from equipoise.studies.leaderboard.record import Leaderboard
from equipoise.studies.leaderboard.suite import PAPER

_KINDS = ("expected_max", "median_max")
_DOTS = "dots: scenarios of the paper; diamonds: robustness scenarios; bar and number: their geometric mean"
_TITLE = "Policies on the suite of scenarios: error over the oracle's"
_PAPER_LOOK = {"marker": "o", "s": 22, "linewidths": 0.9}
_OTHER_LOOK = {"marker": "D", "s": 17, "linewidths": 0.9}


def draw_leaderboard(board: Leaderboard, folder: Path) -> None:
    """Draw ``leaderboard.svg`` and ``leaderboard.png``."""
    from matplotlib.figure import Figure

    standings = [standing for standing in board.ranking() if standing.policy != board.reference]
    with house_style():
        figure = Figure(figsize=(8.8, 0.42 * len(standings) + 1.3), layout="constrained")
        add_caption(figure, f"{_DOTS}\n{board.settings}")
        axes = figure.subplots(1, 2, sharey=True, sharex=True, squeeze=False).ravel()
        for kind, ax in enumerate(axes):
            _draw_panel(ax, board, standings, kind)
        save(figure, folder, "leaderboard", title=_TITLE, settings=board.settings)


def _draw_panel(ax: Any, board: Leaderboard, standings: Sequence[Standing], kind: int) -> None:
    ax.set_xscale("log")
    places = np.arange(len(standings), dtype=float)
    for place in places[::2]:
        ax.axhspan(place - 0.5, place + 0.5, color=STRIPE, linewidth=0, zorder=0)
    ax.axvline(1.0, color=INK, linewidth=1.2, zorder=1)
    looks = policy_looks([standing.policy for standing in standings])
    for in_paper, shape in ((True, _PAPER_LOOK), (False, _OTHER_LOOK)):
        rows = [row for row in board.rows if (row.entry.group == PAPER) == in_paper]
        # Side by side in the order of the suite, so that dots at the same value stay apart.
        shifts = np.linspace(-0.26, 0.26, len(rows)) if len(rows) > 1 else np.zeros(len(rows))
        for place, standing, look in zip(places, standings, looks, strict=True):
            ratios = [row.ratio(standing.policy, board.reference, kind)[0] for row in rows]
            inside = look.color if in_paper else "none"
            ax.scatter(ratios, place + shifts, facecolors=inside, edgecolors=look.color, zorder=2, **shape)
    means = [(standing.expected, standing.median)[kind] for standing in standings]
    ax.plot(
        [value for value, _ in means],
        places,
        linestyle="none",
        marker="|",
        markersize=18,
        markeredgewidth=2.6,
        color=INK,
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
