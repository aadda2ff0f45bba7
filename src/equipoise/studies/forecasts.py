"""The figure of a forecast: bands of the objective along the way, and every arm now and at the end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from equipoise.extras import need
from equipoise.lab.forecast.result import Course, Forecast, courses_of
from equipoise.lab.forecast.tables import objective_words
from equipoise.studies.colours import INK, QUIET, Look, policy_looks
from equipoise.studies.drawing import add_caption, house_style, plain_log_ticks, save
from equipoise.studies.labels import LineEnd, label_lines

# An axis that spans less than this factor needs more ticks than 1, 2 and 5.
_NARROW = 4.0
_MOST_ARMS = 30


def draw_forecast(forecast: Forecast, folder: str | Path = ".", name: str = "forecast") -> list[Path]:
    """The figure of a forecast as SVG and PNG in ``folder``, its settings inside; returns the files.

    To the left the objective's value along the remaining units: the median and the 80 % and 95 % bands of the
    experiment's own course, the medians of other policies, and diamonds where other budgets end, larger ones
    with their 80 % bands.
    To the right every arm's error, now and at the end.
    """
    need("matplotlib")
    title = f"Forecast of {objective_words(forecast.origin)}"
    with house_style():
        figure = forecast_figure(forecast)
        return save(figure, Path(folder), name, title=title, settings=settings_line(forecast))


def settings_line(forecast: Forecast) -> str:
    """What the numbers depend on, in one line."""
    return (
        f"equipoise {forecast.version}, NUMERICS {forecast.numerics} · seed {forecast.seed} · "
        f"{forecast.trials:,} trials of the rest from unit {forecast.origin.asked}"
    )


def forecast_figure(forecast: Forecast) -> Any:
    """A matplotlib figure; ``savefig`` writes it down."""
    need("matplotlib")
    from matplotlib.figure import Figure

    arms = forecast.arms[:_MOST_ARMS]
    with house_style():
        figure = Figure(figsize=(10.2, max(3.8, 0.27 * len(arms) + 1.2)), layout="constrained")
        more = "" if len(arms) == len(forecast.arms) else f" · {len(arms)} of {len(forecast.arms)} arms shown"
        bands = "bands and bars: 80 % (dark) and 95 % (light) of the trials, lines and dots: medians"
        add_caption(figure, f"{settings_line(forecast)}\n{bands}{more}")
        left, right = figure.subplots(1, 2, width_ratios=[1.55, 1.0])
        ends = _draw_courses(left, forecast)
        _draw_arms(right, forecast, arms)
        label_lines(left, ends)
    return figure


def _draw_courses(ax: Any, forecast: Forecast) -> list[LineEnd]:
    own, ends, heights = forecast.courses[0], [], []
    looks = policy_looks(forecast.policies)
    for place, (policy, look) in enumerate(zip(forecast.policies, looks, strict=True)):
        course = forecast.course(policy)
        bands = [forecast.band(course, moment) for moment in range(len(course.units))]
        medians = [band.median for band in bands]
        if course is own:
            for low, high, strength in (("low_95", "high_95", 0.14), ("low_80", "high_80", 0.24)):
                edges = [[getattr(band, end) for band in bands] for end in (low, high)]
                ax.fill_between(course.units, *edges, color=look.color, alpha=strength, linewidth=0)
                heights += [*edges[0], *edges[1]]
        line = {**look.line, "markersize": 3.5, "linewidth": 1.9 if course is own else 1.5}
        ax.plot(course.units, medians, **line)
        heights += medians
        at, height, shown = _draw_budgets(ax, forecast, course, look, place)
        heights += shown
        ends.append(LineEnd(policy, at, height, look.text))
    if forecast.target is not None:
        ax.axhline(forecast.target, color=QUIET, linewidth=1.0, linestyle=(0, (4, 3)))
        offset = {"xytext": (2, 3), "textcoords": "offset points", "fontsize": 8.5, "color": QUIET}
        ax.annotate(f"target {forecast.target:g}", (own.units[0], forecast.target), **offset)
        heights.append(forecast.target)
    _log(ax, ax.yaxis, heights)
    ax.set_xlabel("units assigned")
    ax.set_ylabel(objective_words(forecast.origin))
    ax.set_title("From here to the end", loc="left", fontsize=10.5, fontweight="bold")
    return ends


def _draw_budgets(
    ax: Any, forecast: Forecast, course: Course, look: Look, place: int
) -> tuple[float, float, list[float]]:
    """Ends with other budgets; where the last one stands, and what the bars reach."""
    last, height, shown = float(course.units[-1]), float(forecast.band(course).median), []
    # Bars of several policies stand side by side.
    apart = 0.012 * max(each.units[-1] - each.units[0] for each in forecast.courses)
    for other in courses_of(forecast, course.policy):
        if other is course:
            continue
        band, at = forecast.band(other), other.units[-1] + place * apart
        if other.budget > course.budget:
            ax.plot([last, at], [height, band.median], color=look.color, linewidth=1.0, linestyle=":")
            ax.plot([at, at], [band.low_80, band.high_80], color=look.color, linewidth=1.8, alpha=0.6)
            last, height = at, band.median
            shown += [band.low_80, band.high_80]
        ax.plot([at], [band.median], color=look.color, marker="D", markersize=5.0, linestyle="none")
    return last, height, shown


def _draw_arms(ax: Any, forecast: Forecast, arms: tuple[str, ...]) -> None:
    course, extent = forecast.courses[0], []
    (look, *_) = policy_looks(forecast.policies)
    for place, arm in enumerate(arms):
        now, end = forecast.band(course, 0, arm), forecast.band(course, -1, arm)
        ax.plot([end.low_95, end.high_95], [place, place], color=look.color, linewidth=3.0, alpha=0.25)
        ax.plot([end.low_80, end.high_80], [place, place], color=look.color, linewidth=3.0, alpha=0.6)
        ax.plot([end.median], [place], color=INK, marker="o", markersize=4.0, linestyle="none")
        ax.plot(
            [now.median],
            [place],
            color=INK,
            marker="o",
            markersize=5.0,
            markerfacecolor="none",
            linestyle="none",
        )
        extent += [end.low_95, end.high_95, now.median]
    ax.set_yticks(range(len(arms)), list(arms))
    ax.invert_yaxis()
    ax.grid(visible=False, axis="y")
    _log(ax, ax.xaxis, extent)
    ax.set_xlabel("squared error")
    ax.set_title("Arms: now ○ and at the end ●", loc="left", fontsize=10.5, fontweight="bold")


def _log(ax: Any, axis: Any, values: list[float]) -> None:
    """A logarithmic axis, where all values allow it."""
    if min(values) <= 0.0:
        return
    (ax.set_yscale if axis is ax.yaxis else ax.set_xscale)("log")
    narrow = max(values) < _NARROW * min(values)
    wide = max(values) > 1e3 * min(values)
    steps = (1.0, 1.2, 1.5, 2.0, 3.0, 5.0, 7.0) if narrow else (1.0,) if wide else (1.0, 2.0, 5.0)
    plain_log_ticks(axis, steps=steps)
