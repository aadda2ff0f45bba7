"""The rate figure: regret against budget, and how far pulls fall short of k*."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from equipoise.lab.results.words import loss_words
from equipoise.studies.drawing import INK, LOOKS, QUIET, house_style, save
from equipoise.studies.rate.measure import POLICY, RateResult
from equipoise.studies.rate.width_bias import balanced_pulls, balanced_regret
from equipoise.studies.verdicts import number

_TITLE = "Regret and pulls of Trace-UCB as the budget grows"


def draw_rate(rate: RateResult, folder: Path, *, origin: str) -> list[Path]:
    """Draw ``rate.svg`` and ``rate.png``, which say their ``origin``: version and seed; returns these."""
    from matplotlib.figure import Figure

    counts = ", ".join(f"{point.trials:,}" for point in rate.points)
    settings = (
        f"{origin} · {POLICY}, width=1 · σ² = "
        f"{', '.join(f'{value:g}' for value in rate.noise)} · d = {rate.dim} · "
        f"trials from left to right: {counts}"
    )
    with house_style():
        figure = Figure(figsize=(10.5, 4.6))
        regret, pulls = figure.subplots(1, 2)
        figure.subplots_adjust(left=0.075, right=0.985, top=0.91, bottom=0.2, wspace=0.2)
        _draw_regret(regret, rate)
        _draw_pulls(pulls, rate)
        figure.text(0.02, 0.025, f"{settings} · bars: ± 2 standard errors", fontsize=7.2, color=QUIET)
        return save(figure, folder, "rate", title=_TITLE, settings=settings)


def _draw_regret(ax: Any, rate: RateResult) -> None:
    budgets = np.array([point.budget for point in rate.points], float)
    fine = np.geomspace(budgets[0], budgets[-1], 60).round()
    bias = [balanced_regret(rate.noise, rate.dim, n) for n in fine]
    last = rate.points[-1]
    ax.plot(fine, bias, color=INK, linewidth=1.2, linestyle=(0, (5, 2)), label="bias of the width alone")
    ax.plot(
        fine,
        bias[-1] * (fine / last.budget) ** -1.5,
        color=QUIET,
        linewidth=1.2,
        linestyle=(0, (1, 1.5)),
        label="n^(−3/2), Theorem 2",
    )
    _draw_points(
        ax,
        budgets,
        [point.regret for point in rate.points],
        [point.regret_stderr for point in rate.points],
        f"{POLICY}, slope {number(rate.regret_slope())}",
    )
    ax.set_title("Regret against the oracle", loc="left", fontweight="bold", fontsize=10.5)
    ax.set_ylabel(f"regret, {loss_words('expected_max')} − L*")
    _finish(ax)


def _draw_pulls(ax: Any, rate: RateResult) -> None:
    budgets = np.array([point.budget for point in rate.points], float)
    roots = np.sqrt(budgets)
    fine = np.geomspace(budgets[0], budgets[-1], 60).round()
    shares = np.array(rate.noise) / sum(rate.noise)
    spare = fine - len(shares) * (rate.dim + 1)
    ideal = spare[:, None] * shares + rate.dim + 1
    balanced = np.array([balanced_pulls(rate.noise, rate.dim, n) for n in fine])
    ax.plot(
        fine,
        (ideal - balanced).max(axis=1) / np.sqrt(fine),
        color=INK,
        linewidth=1.2,
        linestyle=(0, (5, 2)),
        label="bias of the width alone",
    )
    _draw_points(
        ax,
        budgets,
        [point.shortfall for point in rate.points] / roots,
        [point.shortfall_stderr for point in rate.points] / roots,
        f"{POLICY}, mean; slope − ½ = {rate.shortfall_slope().value - 0.5:+.3f}",
    )
    ax.plot(
        budgets,
        [point.shortfall_high for point in rate.points] / roots,
        color=LOOKS[POLICY]["color"],
        linewidth=0,
        marker="_",
        markersize=12,
        label=f"{POLICY}, 95 % of trials are below",
    )
    ax.set_title("Largest shortfall of an arm, over √n", loc="left", fontweight="bold", fontsize=10.5)
    ax.set_ylabel("max over arms of (k* − k) / √n")
    _finish(ax)
    ax.set_yscale("linear")
    ax.set_ylim(bottom=0.0)


def _draw_points(ax: Any, budgets: Any, values: Any, stderrs: Any, label: str) -> None:
    ax.errorbar(
        budgets,
        values,
        yerr=2.0 * np.asarray(stderrs),
        color=LOOKS[POLICY]["color"],
        marker="o",
        markersize=5,
        linewidth=0,
        elinewidth=1.4,
        capsize=2.5,
        label=label,
    )


def _finish(ax: Any) -> None:
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("budget n")
    ax.legend(frameon=False, fontsize=9)
