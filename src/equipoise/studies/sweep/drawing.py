"""The figure of a sweep: a line a policy along one axis, a panel a value of the other."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from equipoise.extras import need
from equipoise.lab.results.estimate import Estimate
from equipoise.lab.results.words import loss_words
from equipoise.studies.colours import policy_looks
from equipoise.studies.drawing import add_caption, house_style, plain_log_ticks, save
from equipoise.studies.labels import LineEnd, label_lines
from equipoise.studies.sweep.points import place_words
from equipoise.studies.sweep.result import SweepResult, loss_at

_COLUMNS = 3
_MOST_PANELS = 12
# An axis of losses that spans less than this factor needs more ticks than 1, 2 and 5.
_NARROW = 4.0
# Values further apart than this are shown on a logarithmic axis.
_LOG_RATIO = 20.0
# Not squared errors: shares, or differences that may be below zero.
_LINEAR = ("coverage", "recovery", "regret")
_AXES = {"dim": "features d", "budget": "budget n", "width": "width of the noise bound"}


def draw_sweep(result: SweepResult, folder: Path, name: str, *, loss: str) -> list[Path]:
    """The figure as SVG and PNG, its settings inside; returns the files."""
    need("matplotlib")
    title = f"{loss_words(loss)} by {' and '.join(result.axes)}"
    with house_style():
        return save(sweep_figure(result, loss), folder, name, title=title, settings=settings_line(result))


def settings_line(result: SweepResult) -> str:
    """What the numbers depend on, in one line."""
    return (
        f"equipoise {result.version}, NUMERICS {result.numerics} · seed {result.seed} · "
        f"{result.trials:,} {'trial' if result.trials == 1 else 'trials'} of every policy at every point"
    )


def sweep_figure(result: SweepResult, loss: str) -> Any:
    """A matplotlib figure of one loss."""
    need("matplotlib")
    from matplotlib.figure import Figure

    along, panels = _arrangement(result)
    columns = min(_COLUMNS, len(panels))
    rows = math.ceil(len(panels) / columns)
    with house_style():
        figure = Figure(figsize=(4.1 * columns + 1.6, 3.4 * rows + 0.2), layout="constrained")
        add_caption(figure, _caption(result, panels))
        axes = figure.subplots(rows, columns, squeeze=False, sharey=True).ravel()
        for ax in axes[len(panels) :]:
            ax.set_visible(False)
        drawn = [
            _draw_panel(ax, result, loss, along, members) for ax, members in zip(axes, panels, strict=False)
        ]
        if not _is_numeric(result.axes[along]):
            # Inches that a name takes, with its marker.
            each = 0.09 * max(map(len, result.policies)) + 0.6
            columns = max(1, math.floor(figure.get_figwidth() / each))
            handles = axes[0].get_legend_handles_labels()
            figure.legend(*handles, loc="outside upper left", ncols=columns, frameon=False)
            return figure
        for place, (ax, ends) in enumerate(zip(axes, drawn, strict=False)):
            if place % columns == columns - 1 or place == len(panels) - 1:
                label_lines(ax, ends)
    return figure


def _draw_panel(ax: Any, result: SweepResult, loss: str, along: str, members: Sequence[int]) -> list[LineEnd]:
    """Lines of all policies through some points, or marks where these are words; returns where lines end."""
    values = [result.places[place][along] for place in members]
    numeric, linear = _is_numeric(values), loss in _LINEAR
    at = values if numeric else list(range(len(values)))
    heights, ends = [], []
    for place, (policy, look) in enumerate(zip(result.policies, policy_looks(result.policies), strict=True)):
        curve = [loss_at(result.results[member], policy, loss) for member in members]
        own = [estimate.value for estimate in curve]
        low, high = zip(*(_band(estimate, linear) for estimate in curve), strict=True)
        if numeric:
            ax.plot(at, own, label=policy, linewidth=1.7, markersize=4.5, **look.line)
            ax.fill_between(at, low, high, color=look.color, alpha=0.2, linewidth=0)
        else:
            # Between words there is nothing that a line could mean.
            shift = 0.5 * (place / max(1, len(result.policies) - 1) - 0.5)
            below = [value - least for value, least in zip(own, low, strict=True)]
            above = [most - value for value, most in zip(own, high, strict=True)]
            marks = {"color": look.color, "fmt": look.marker, "markersize": 5.5, "capsize": 2.5}
            ax.errorbar([x + shift for x in at], own, yerr=[below, above], label=policy, **marks)
        heights += own
        last = max(range(len(at)), key=lambda k: at[k])
        ends.append(LineEnd(policy, at[last], own[last], look.text))
    if not linear and min(heights) > 0.0:
        ax.set_yscale("log")
        narrow = max(heights) < _NARROW * min(heights)
        plain_log_ticks(ax.yaxis, steps=(1.0, 1.2, 1.5, 2.0, 3.0, 5.0, 7.0) if narrow else (1.0, 2.0, 5.0))
    if ax.get_subplotspec().is_first_col():
        ax.set_ylabel(loss_words(loss))
    _name_axis(ax, result, along, members, at, numeric)
    return ends


def _name_axis(
    ax: Any, result: SweepResult, along: str, members: Sequence[int], at: Sequence[float], numeric: bool
) -> None:
    shown = [name for name in result.axes if result.joined or name == along]
    ax.set_xlabel(", ".join(_AXES.get(name, name) for name in shown))
    if numeric and min(at) > 0.0 and max(at) >= _LOG_RATIO * min(at):
        ax.set_xscale("log")
        ax.xaxis.set_minor_formatter(lambda *_: "")
    kept = _ticks(ax, at)
    words = ["\n".join(_word(result.places[members[place]][name]) for name in shown) for place in kept]
    ax.set_xticks([at[place] for place in kept], words)
    rest = {name: value for name, value in result.places[members[0]].items() if name not in shown}
    if rest:
        ax.set_title(place_words(rest), loc="left", fontsize=10.5, fontweight="bold")


def _arrangement(result: SweepResult) -> tuple[str, list[list[int]]]:
    """The axis that lines run along, and the points of every panel."""
    everything = list(range(len(result)))
    if result.joined or len(result.axes) == 1:
        return next(iter(result.axes)), [everything]
    # Along numbers if there are any, and along more rather than fewer.
    along = max(result.axes, key=lambda name: (_is_numeric(result.axes[name]), len(result.axes[name])))
    (other,) = (name for name in result.axes if name != along)
    chosen = result.axes[other]
    if len(chosen) > _MOST_PANELS:
        step = (len(chosen) - 1) / (_MOST_PANELS - 1)
        chosen = tuple(chosen[round(k * step)] for k in range(_MOST_PANELS))
    return along, [[p for p in everything if result.places[p][other] == value] for value in chosen]


def _caption(result: SweepResult, panels: Sequence[Sequence[int]]) -> str:
    shown = sum(map(len, panels))
    left_out = "" if shown == len(result) else f" · {shown} of {len(result)} points shown"
    return f"{settings_line(result)}\nbands and bars: ± 2 standard errors{left_out}"


def _band(estimate: Estimate, linear: bool) -> tuple[float, float]:
    reach = 2.0 * estimate.stderr if math.isfinite(estimate.stderr) else 0.0
    low = estimate.value - reach
    # On a log axis a band that reaches zero would run off the page.
    return (low if linear else max(low, 1e-3 * estimate.value)), estimate.value + reach


def _ticks(ax: Any, at: Sequence[float]) -> list[int]:
    """Points whose labels have room: a gap of at least a tenth of the axis to the one before."""
    scale = math.log if ax.get_xscale() == "log" else float
    order = sorted(range(len(at)), key=lambda place: at[place])
    room = (scale(at[order[-1]]) - scale(at[order[0]])) / 10.0
    kept = order[:1]
    for place in order[1:]:
        if scale(at[place]) - scale(at[kept[-1]]) >= room:
            kept.append(place)
    return kept


def _is_numeric(values: Sequence[Any]) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def _word(value: Any) -> str:
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return "\n".join(_shortened(part, 14) for part in text.split(":")[:3])


def _shortened(text: str, most: int = 40) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def spoken(result: SweepResult, loss: str) -> str:
    """What the figure shows, in words, for readers who cannot see it."""
    ends: list[Mapping[str, Any]] = [result.places[0], result.places[-1]]
    parts = []
    for policy in result.policies:
        first, last = (loss_at(result.results[place], policy, loss) for place in (0, -1))
        parts.append(f"{policy} from {first.value:.3g} to {last.value:.3g}")
    return f"{loss_words(loss)} from {place_words(ends[0])} to {place_words(ends[1])}: {'; '.join(parts)}."
