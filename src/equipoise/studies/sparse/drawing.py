"""Figures of the studies of sparse arms."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from equipoise.lab.results.words import loss_words
from equipoise.studies.drawing import INK, QUIET, house_style, plain_log_ticks, save
from equipoise.studies.losses import Measured
from equipoise.studies.sparse.budget import BudgetResult
from equipoise.studies.sparse.exact_recovery import CURVES
from equipoise.studies.sparse.screen import REUSE, ScreenResult
from equipoise.studies.sparse.study import SparseResult
from equipoise.studies.sparse.support import SupportResult

Band = tuple[float, float]

_DASHED, _DOTTED, _MIXED = (0, (5, 2)), (0, (1, 1.5)), (0, (6, 2, 1.5, 2))
# The colours of drawing.LOOKS, and two more of Okabe and Ito's.
_LOOKS: tuple[dict[str, Any], ...] = (
    {"color": "#0072B2", "marker": "o", "linestyle": "-"},
    {"color": "#009E73", "marker": "v", "linestyle": "-"},
    {"color": "#CC79A7", "marker": "P", "linestyle": "-"},
    {"color": "#222222", "marker": "D", "linestyle": _DOTTED},
    {"color": "#E69F00", "marker": "s", "linestyle": _DASHED},
    {"color": "#CC3311", "marker": "^", "linestyle": _MIXED},
    {"color": "#56B4E9", "marker": "X", "linestyle": _DASHED},
    {"color": "#6E6E6E", "marker": "h", "linestyle": _MIXED},
)
# Where two curves lie upon each other both are seen.
_PAIR = (_LOOKS[0], {**_LOOKS[1], "linestyle": _DASHED})
_TITLES = {
    "support": "Sparse-Trace-UCB: how often the features that matter are found",
    "sparse-budget": "Sparse-Trace-UCB: largest mean error against the budget",
    "sparse-screen": "Sparse-Trace-UCB: the price of L",
}


def draw_study(result: SparseResult, folder: Path, *, origin: str) -> list[Path]:
    """Draw a study as SVG and PNG, which say their ``origin``: version and seed; returns these."""
    with house_style():
        if isinstance(result, SupportResult):
            figure, about = _draw_support(result)
        elif isinstance(result, BudgetResult):
            figure, about = _draw_budget(result)
        else:
            assert isinstance(result, ScreenResult)
            figure, about = _draw_screen(result)
        counts = ", ".join(f"({of}) {trials:,}" for of, trials in result.trials.items())
        settings = f"{origin} · trials {counts} · {about} · white contexts, coefficients ±1"
        height = figure.get_figheight()
        bands = "± 2 standard errors" + ("" if isinstance(result, SupportResult) else " of the logarithm")
        caption = f"{settings} · bands: {bands}"
        figure.text(0.02, 0.09 / height, caption, fontsize=7.2, color=QUIET)
        name = f"sparse-{result.name.removeprefix('sparse-')}"
        return save(figure, folder, name, title=_TITLES[result.name], settings=settings)


def _draw_support(result: SupportResult) -> tuple[Any, str]:
    figure, axes = _new_figure(1, len(CURVES), height=4.0, sharey=True)
    for ax, (curve, words) in zip(axes[0], CURVES.items(), strict=True):
        ax.axhline(0.5, color=QUIET, linewidth=1.0, linestyle=_DOTTED)
        for dim, look in zip(result.dims, _LOOKS, strict=False):
            _draw_curve(ax, result.shares(curve, dim), f"d = {dim:,}", look, _share_band)
        ax.set_title(words, loc="left", fontsize=10.5, fontweight="bold")
        ax.set_xlabel("θ = L / (s·log d)")
        ax.set_ylim(-0.03, 1.03)
    axes[0][0].set_ylabel("share of trials with the exact support")
    axes[0][-1].legend(frameon=False, fontsize=10, loc="lower right")
    return figure, f"m = {result.arms}, s = {result.features}, σ² = 1"


def _draw_budget(result: BudgetResult) -> tuple[Any, str]:
    figure, axes = _new_figure(1, len(result.noise), height=5.4, top=1.15, sharey=True)
    for ax, (name, values) in zip(axes[0], result.noise.items(), strict=True):
        for policy, look in zip(result.policies, _LOOKS, strict=True):
            _draw_curve(ax, result.curve(name, policy), policy, look, _log_band)
        _log_log(ax, sorted({point.budget for point in result.points[name]}))
        shown = "1" if len(set(values)) == 1 else ", ".join(f"{value:g}" for value in values)
        ax.set_title(f"{name} noise, σ² = {shown}", loc="left", fontsize=10, fontweight="bold")
        ax.set_xlabel("budget n")
    reached = [m.value for name in result.noise for p in result.policies for m in result.curve(name, p)]
    axes[0][0].set_ylim(min(reached) / 1.6, max(reached) * 1.6)
    axes[0][0].set_ylabel(loss_words("expected_max"))
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        loc="upper left",
        bbox_to_anchor=(0.03, 1.0),
        ncols=3,
        frameon=False,
        fontsize=9,
        handlelength=3.4,
        columnspacing=2.2,
    )
    return figure, f"m = {result.arms}, d = {result.dim}, s = {result.features}"


def _draw_screen(result: ScreenResult) -> tuple[Any, str]:
    figure, axes = _new_figure(2, len(result.points), height=6.2, sharex="col", sharey="row")
    for place, n in enumerate(result.points):
        price, share = axes[0][place], axes[1][place]
        for ax in (price, share):
            ax.axvline(result.default[n], color=QUIET, linewidth=1.0, linestyle=_DASHED)
        for (reuse, words), look in zip(REUSE.items(), _PAIR, strict=True):
            _draw_curve(price, result.prices(n, reuse), words, look, _log_band)
            _draw_curve(share, result.shares(n, reuse), words, look, _share_band)
        _log_log(price, result.screens[n])
        price.axhline(1.0, color=INK, linewidth=1.2, linestyle=_DOTTED, label="sparse oracle")
        price.set_title(f"n = {n:,}; dashed: default L", loc="left", fontsize=10.5, fontweight="bold")
        share.set_ylim(-0.03, 1.03)
        share.set_xlabel("L, outcomes an arm that features are chosen from")
    reached = [m.value for n in result.points for reuse in REUSE for m in result.prices(n, reuse)]
    axes[0][0].set_ylim(min(1.0, *reached) / 1.6, max(reached) * 2.0)
    axes[0][0].set_ylabel(f"{loss_words('expected_max')} / sparse oracle's")
    axes[1][0].set_ylabel("share with the exact support")
    axes[0][0].legend(frameon=False, fontsize=9.5, loc="upper right")
    return figure, f"m = {result.arms}, d = {result.dim}, s = {result.features}, σ² = 1"


def _new_figure(
    rows: int, columns: int, *, height: float, top: float = 0.35, **shared: Any
) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    width = 11.0
    figure = Figure(figsize=(width, height))
    axes = figure.subplots(rows, columns, squeeze=False, **shared)
    figure.subplots_adjust(
        left=0.75 / width,
        right=1 - 0.15 / width,
        top=1 - top / height,
        bottom=0.85 / height,
        wspace=0.16,
        hspace=0.12,
    )
    return figure, axes


def _draw_curve(
    ax: Any, curve: Sequence[Measured], label: str, look: dict[str, Any], band: Callable[[Measured], Band]
) -> None:
    at = [m.at for m in curve]
    ax.plot(at, [m.value for m in curve], label=label, linewidth=1.6, markersize=4.5, **look)
    if curve:
        low, high = zip(*map(band, curve), strict=True)
        ax.fill_between(at, low, high, color=look["color"], alpha=0.18, linewidth=0)


def _share_band(m: Measured) -> Band:
    return max(m.value - 2.0 * m.stderr, 0.0), min(m.value + 2.0 * m.stderr, 1.0)


def _log_band(m: Measured) -> Band:
    """Of the logarithm: where few trials fail badly, a mean less two errors is no error at all."""
    factor = math.exp(2.0 * m.stderr / m.value)
    return m.value / factor, m.value * factor


def _log_log(ax: Any, places: Sequence[int]) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    ax.set_xscale("log")
    ax.set_yscale("log")
    plain_log_ticks(ax.yaxis)
    ax.xaxis.set_major_locator(FixedLocator(list(places)))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
