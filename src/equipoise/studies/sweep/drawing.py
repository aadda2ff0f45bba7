"""The figure of a sweep: a line a policy along one axis, a panel a value of the other."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from equipoise.extras import need
from equipoise.lab.results.estimate import Estimate
from equipoise.lab.results.words import loss_words
from equipoise.studies.drawing import LOOKS, QUIET, house_style, plain_log_ticks, save
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
# For policies without a look of their own; beside those of the package, apart in colour-blindness too.
_OTHERS: tuple[dict[str, Any], ...] = (
    {"color": "#AA3377", "marker": "P", "linestyle": "-"},
    {"color": "#56B4E9", "marker": "X", "linestyle": (0, (4, 1.5))},
    {"color": "#882255", "marker": "<", "linestyle": (0, (3, 1, 1, 1))},
    {"color": "#999933", "marker": ">", "linestyle": (0, (2, 2))},
    {"color": "#44AA99", "marker": "h", "linestyle": (0, (8, 2))},
    {"color": "#DDAA33", "marker": "*", "linestyle": (0, (1, 1))},
)


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
    names = [_shortened(policy) for policy in result.policies]
    legend_rows = _legend_rows(names, 4.6 * columns)
    titles, lines = len(panels) > 1, max(_label_lines(result, along, place) for place in range(len(result)))
    top, below = 0.3 + 0.22 * legend_rows + 0.2 * titles, 0.8 + 0.17 * lines
    width, height = 4.6 * columns + 0.9, 3.3 * rows + top + below
    with house_style():
        figure = Figure(figsize=(width, height))
        axes = figure.subplots(rows, columns, squeeze=False, sharey=True).ravel()
        figure.subplots_adjust(
            left=0.8 / width,
            right=1 - 0.2 / width,
            top=1 - top / height,
            bottom=below / height,
            wspace=0.12,
            hspace=0.42,
        )
        for place, (ax, members) in enumerate(zip(axes, panels, strict=False)):
            draw_panel(ax, result, loss, along, members)
            if place % columns == 0:
                ax.set_ylabel(loss_words(loss))
        for ax in axes[len(panels) :]:
            ax.set_visible(False)
        handles, _ = axes[0].get_legend_handles_labels()
        figure.legend(
            handles,
            names,
            loc="upper left",
            bbox_to_anchor=(0.6 / width, 1 - 0.05 / height),
            ncols=math.ceil(len(names) / legend_rows),
            frameon=False,
            fontsize=9.5,
            handlelength=3.0,
            columnspacing=1.8,
        )
        figure.text(0.7 / width, 0.1 / height, _caption(result, panels), fontsize=7.5, color=QUIET)
    return figure


def look_of(policy: str, policies: Sequence[str]) -> dict[str, Any]:
    """Colour, marker and dashes of a policy: the package's own, or one of those that are left."""
    if policy in LOOKS:
        return LOOKS[policy]
    others = [name for name in policies if name not in LOOKS]
    return _OTHERS[others.index(policy) % len(_OTHERS)]


def draw_panel(ax: Any, result: SweepResult, loss: str, along: str, members: Sequence[int]) -> None:
    """Lines of all policies through some points, or marks where these are words; two standard errors."""
    values = [result.places[place][along] for place in members]
    numeric, linear = _is_numeric(values), loss in _LINEAR
    at = values if numeric else list(range(len(values)))
    heights = []
    for policy in result.policies:
        curve = [loss_at(result.results[place], policy, loss) for place in members]
        look = look_of(policy, result.policies)
        own = [estimate.value for estimate in curve]
        low, high = zip(*(_band(estimate, linear) for estimate in curve), strict=True)
        if numeric:
            ax.plot(at, own, label=policy, linewidth=1.7, markersize=4.5, **look)
            ax.fill_between(at, low, high, color=look["color"], alpha=0.2, linewidth=0)
        else:
            # Between words there is nothing that a line could mean.
            shift = 0.5 * (result.policies.index(policy) / max(1, len(result.policies) - 1) - 0.5)
            reach = [
                [v - a for v, a in zip(own, low, strict=True)],
                [b - v for v, b in zip(own, high, strict=True)],
            ]
            marks = {"color": look["color"], "fmt": look["marker"], "markersize": 5.5, "capsize": 2.5}
            ax.errorbar([place + shift for place in at], own, yerr=reach, label=policy, **marks)
        heights += own
    if not linear and min(heights) > 0.0:
        ax.set_yscale("log")
        narrow = max(heights) < _NARROW * min(heights)
        plain_log_ticks(ax.yaxis, steps=(1.0, 1.2, 1.5, 2.0, 3.0, 5.0, 7.0) if narrow else (1.0, 2.0, 5.0))
    _name_axis(ax, result, along, members, at, numeric)


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


def _label_lines(result: SweepResult, along: str, place: int) -> int:
    """Lines of a point's label on the axis."""
    shown = [value for name, value in result.places[place].items() if result.joined or name == along]
    return sum(_word(value).count("\n") + 1 for value in shown)


def _legend_rows(names: Sequence[str], inches: float) -> int:
    """Rows that the legend takes in a figure of that width; a letter is about 0.075 inches wide."""
    longest = 0.75 + 0.075 * max(map(len, names))
    return math.ceil(len(names) / max(1, math.floor(inches / longest)))


def spoken(result: SweepResult, loss: str) -> str:
    """What the figure shows, in words, for readers who cannot see it."""
    ends: list[Mapping[str, Any]] = [result.places[0], result.places[-1]]
    parts = []
    for policy in result.policies:
        first, last = (loss_at(result.results[place], policy, loss) for place in (0, -1))
        parts.append(f"{policy} from {first.value:.3g} to {last.value:.3g}")
    return f"{loss_words(loss)} from {place_words(ends[0])} to {place_words(ends[1])}: {'; '.join(parts)}."
