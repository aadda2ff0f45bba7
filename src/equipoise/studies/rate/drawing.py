"""The rate figure: regret against budget, and how far pulls fall short of k*."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from equipoise.lab.results.words import loss_words
from equipoise.studies.colours import INK, QUIET, policy_looks
from equipoise.studies.drawing import add_caption, house_style, plain_log_ticks, save
from equipoise.studies.labels import LineEnd, label_panels
from equipoise.studies.rate.measure import POLICY, RateResult
from equipoise.studies.rate.width_bias import balanced_pulls, balanced_regret
from equipoise.studies.verdicts import number

_TITLE = "Regret and pulls of Trace-UCB as the budget grows"
(_LOOK,) = policy_looks([POLICY])


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
        figure = Figure(figsize=(11.0, 4.2), layout="constrained")
        add_caption(figure, f"{settings} · bars: ± 2 standard errors")
        regret, pulls = figure.subplots(1, 2)
        ends = _draw_regret(regret, rate), _draw_pulls(pulls, rate)
        label_panels(list(zip((regret, pulls), ends, strict=True)), width=20)
        return save(figure, folder, "rate", title=_TITLE, settings=settings)


def _draw_regret(ax: Any, rate: RateResult) -> list[LineEnd]:
    budgets = np.array([point.budget for point in rate.points], float)
    fine = np.geomspace(budgets[0], budgets[-1], 60).round()
    bias = [balanced_regret(rate.noise, rate.dim, n) for n in fine]
    last = rate.points[-1]
    straight = bias[-1] * (fine / last.budget) ** -1.5
    ax.plot(fine, bias, color=INK, linewidth=1.2, linestyle=(0, (5, 2)))
    ax.plot(fine, straight, color=QUIET, linewidth=1.2, linestyle=(0, (1, 1.5)))
    _draw_points(
        ax,
        budgets,
        [point.regret for point in rate.points],
        [point.regret_stderr for point in rate.points],
    )
    ax.set_title("Regret against the oracle", loc="left", fontweight="bold", fontsize=10.5)
    ax.set_ylabel(f"regret, {loss_words('expected_max')} − L*")
    _finish(ax, budgets)
    return [
        LineEnd(f"{POLICY},\nslope {number(rate.regret_slope())}", last.budget, last.regret, _LOOK.text),
        LineEnd("dashed: bias of\nthe width alone", fine[-1], bias[-1], INK),
        LineEnd("dotted: n^(−3/2),\nTheorem 2", fine[-1], straight[-1], QUIET),
    ]


def _draw_pulls(ax: Any, rate: RateResult) -> list[LineEnd]:
    budgets = np.array([point.budget for point in rate.points], float)
    roots = np.sqrt(budgets)
    fine = np.geomspace(budgets[0], budgets[-1], 60).round()
    shares = np.array(rate.noise) / sum(rate.noise)
    spare = fine - len(shares) * (rate.dim + 1)
    ideal = spare[:, None] * shares + rate.dim + 1
    balanced = np.array([balanced_pulls(rate.noise, rate.dim, n) for n in fine])
    bias = (ideal - balanced).max(axis=1) / np.sqrt(fine)
    means = [point.shortfall for point in rate.points] / roots
    highest = [point.shortfall_high for point in rate.points] / roots
    ax.plot(fine, bias, color=INK, linewidth=1.2, linestyle=(0, (5, 2)))
    _draw_points(ax, budgets, means, [point.shortfall_stderr for point in rate.points] / roots)
    ax.plot(budgets, highest, color=_LOOK.color, linewidth=0, marker="_", markersize=12)
    ax.set_title("Largest shortfall of an arm, over √n", loc="left", fontweight="bold", fontsize=10.5)
    ax.set_ylabel("max over arms of (k* − k) / √n")
    _finish(ax, budgets)
    ax.set_yscale("linear")
    ax.set_ylim(bottom=0.0)
    slope = f"slope − ½ = {rate.shortfall_slope().value - 0.5:+.3f}"
    return [
        LineEnd(f"{POLICY}, mean;\n{slope}", budgets[-1], means[-1], _LOOK.text),
        LineEnd(f"{POLICY}, 95 % of\ntrials are below", budgets[-1], highest[-1], _LOOK.text),
        LineEnd("dashed: bias of\nthe width alone", fine[-1], bias[-1], INK),
    ]


def _draw_points(ax: Any, budgets: Any, values: Any, stderrs: Any) -> None:
    ax.errorbar(
        budgets,
        values,
        yerr=2.0 * np.asarray(stderrs),
        **_LOOK.point,
        markersize=5,
        linewidth=0,
        elinewidth=1.4,
        capsize=2.5,
    )


def _finish(ax: Any, budgets: Any) -> None:
    ax.set_xscale("log")
    ax.set_yscale("log")
    plain_log_ticks(ax.yaxis, steps=(1.0,))
    ax.set_xticks(budgets, [f"{budget:,.0f}" for budget in budgets])
    ax.minorticks_off()
    ax.set_xlabel("budget n")
