"""Figures of the studies of sparse arms."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from equipoise.lab.results.words import loss_words
from equipoise.studies.colours import INK, MARKERS, QUIET, SERIES, policy_looks
from equipoise.studies.drawing import add_caption, house_style, plain_log_ticks, save
from equipoise.studies.labels import LineEnd, label_lines
from equipoise.studies.losses import Measured
from equipoise.studies.sparse.budget import OURS, BudgetResult
from equipoise.studies.sparse.exact_recovery import CURVES
from equipoise.studies.sparse.screen import REUSE, ScreenResult
from equipoise.studies.sparse.study import SparseResult
from equipoise.studies.sparse.support import SupportResult

Band = tuple[float, float]

_DASHED, _DOTTED = (0, (5, 2)), (0, (1, 1.5))
_TITLES = {
    "support": "Sparse-Trace-UCB: how often the features that matter are found",
    "sparse-budget": "Sparse-Trace-UCB: largest mean error against the budget",
    "sparse-screen": "Sparse-Trace-UCB: the price of L",
}


def draw_study(result: SparseResult, folder: Path, *, origin: str) -> list[Path]:
    """Draw a study as SVG and PNG, which say their ``origin``: version and seed; returns these."""
    counts = ", ".join(f"({of}) {trials:,}" for of, trials in result.trials.items())
    settings = f"{origin} · trials {counts} · {_about(result)} · white contexts, coefficients ±1"
    bands = "± 2 standard errors" + ("" if isinstance(result, SupportResult) else " of the logarithm")
    caption = f"{settings} · bands: {bands}"
    with house_style():
        if isinstance(result, SupportResult):
            figure = _draw_support(result, caption)
        elif isinstance(result, BudgetResult):
            figure = _draw_budget(result, caption)
        else:
            assert isinstance(result, ScreenResult)
            figure = _draw_screen(result, caption)
        name = f"sparse-{result.name.removeprefix('sparse-')}"
        return save(figure, folder, name, title=_TITLES[result.name], settings=settings)


def _about(result: SparseResult) -> str:
    if isinstance(result, SupportResult):
        return f"m = {result.arms}, s = {result.features}, σ² = 1"
    assert isinstance(result, BudgetResult | ScreenResult)
    noise = "" if isinstance(result, BudgetResult) else ", σ² = 1"
    return f"m = {result.arms}, d = {result.dim}, s = {result.features}{noise}"


def _draw_support(result: SupportResult, caption: str) -> Any:
    figure, axes = _new_figure(1, len(CURVES), caption, height=3.6, sharey=True)
    for ax, (curve, words) in zip(axes[0], CURVES.items(), strict=True):
        ax.axhline(0.5, color=QUIET, linewidth=1.0, linestyle=_DOTTED)
        for dim, color, marker in zip(result.dims, SERIES, MARKERS, strict=False):
            look = {"color": color, "marker": marker}
            _draw_curve(ax, result.shares(curve, dim), look, _share_band, label=f"d = {dim:,}")
        ax.set_title(words, loc="left", fontsize=10.5, fontweight="bold")
        ax.set_xlabel("θ = L / (s·log d)")
        ax.set_ylim(-0.03, 1.03)
    axes[0][0].set_ylabel("share of trials with the exact support")
    # All curves end at 1, and leave this corner free.
    axes[0][-1].legend(frameon=False, fontsize=10, loc="lower right")
    return figure


def _draw_budget(result: BudgetResult, caption: str) -> Any:
    figure, axes = _new_figure(1, len(result.noise), caption, height=4.6, sharey=True)
    looks = policy_looks(result.policies)
    for ax, (name, values) in zip(axes[0], result.noise.items(), strict=True):
        for policy, look in zip(result.policies, looks, strict=True):
            _draw_curve(ax, result.curve(name, policy), look.line, _log_band)
        _log_log(ax, sorted({point.budget for point in result.points[name]}))
        shown = "1" if len(set(values)) == 1 else ", ".join(f"{value:g}" for value in values)
        ax.set_title(f"{name} noise, σ² = {shown}", loc="left", fontsize=10, fontweight="bold")
        ax.set_xlabel("budget n")
    reached = [m.value for name in result.noise for p in result.policies for m in result.curve(name, p)]
    axes[0][0].set_ylim(min(reached) / 1.6, max(reached) * 1.6)
    axes[0][0].set_ylabel(loss_words("expected_max"))
    last = {policy: result.curve(name, policy)[-1:] for policy in result.policies}
    ends = [
        LineEnd(policy, m.at, m.value, look.text)
        for (policy, curve), look in zip(last.items(), looks, strict=True)
        for m in curve
    ]
    label_lines(axes[0][-1], ends)
    return figure


def _draw_screen(result: ScreenResult, caption: str) -> Any:
    figure, axes = _new_figure(2, len(result.points), caption, height=5.6, sharex="col", sharey="row")
    looks = policy_looks(OURS)[: len(REUSE)]  # the same policies as in the figure by budget
    ends: list[LineEnd] = []
    for place, n in enumerate(result.points):
        price, share = axes[0][place], axes[1][place]
        for ax in (price, share):
            ax.axvline(result.default[n], color=QUIET, linewidth=1.0, linestyle=_DASHED)
        ends = [LineEnd("sparse oracle", max(result.screens[n]), 1.0, INK)]
        for (reuse, words), look in zip(REUSE.items(), looks, strict=True):
            prices = result.prices(n, reuse)
            _draw_curve(price, prices, look.line, _log_band)
            _draw_curve(share, result.shares(n, reuse), look.line, _share_band)
            ends += [LineEnd(words, m.at, m.value, look.text) for m in prices[-1:]]
        _log_log(price, result.screens[n])
        price.axhline(1.0, color=INK, linewidth=1.2, linestyle=_DOTTED)
        price.set_title(f"n = {n:,}; dashed: default L", loc="left", fontsize=10.5, fontweight="bold")
        share.set_ylim(-0.03, 1.03)
        share.set_xlabel("L, outcomes an arm that features are chosen from")
    reached = [m.value for n in result.points for reuse in REUSE for m in result.prices(n, reuse)]
    axes[0][0].set_ylim(min(1.0, *reached) / 1.6, max(reached) * 2.0)
    axes[0][0].set_ylabel(f"{loss_words('expected_max')} / sparse oracle's")
    axes[1][0].set_ylabel("share with the exact support")
    label_lines(axes[0][-1], ends)
    return figure


def _new_figure(rows: int, columns: int, caption: str, *, height: float, **shared: Any) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.0, height), layout="constrained")
    add_caption(figure, caption)
    return figure, figure.subplots(rows, columns, squeeze=False, **shared)


def _draw_curve(
    ax: Any,
    curve: Sequence[Measured],
    look: Mapping[str, Any],
    band: Callable[[Measured], Band],
    label: str | None = None,
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
