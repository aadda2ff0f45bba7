"""Drawings of an experiment's course: units, noise and errors of every arm over time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from equipoise.core.estimates.arm_estimate import ArmEstimate
from equipoise.report.document import Figure
from equipoise.report.figures import legend_above, new_figure
from equipoise.report.live.course import Moment
from equipoise.report.live.history import History
from equipoise.report.numbers import shortened
from equipoise.studies.colours import SERIES
from equipoise.studies.drawing import plain_log_ticks

# What is drawn of intervals beyond the smallest and largest value: three times as much.
_ROOM = 3.0
# More steps than these cannot be told apart.
_MOST_STEPS = 400
# Ticks of a time axis: eight, or ten where that leaves one alone, as with 8 seconds, between 1 and 5 a tick.
_MOST_TICKS = (8, 10)


def allocation_figure(history: History, arms: Sequence[str]) -> Figure:
    """How many units every arm had, after every unit."""
    few, units = arms[: len(SERIES)], len(history.units)
    places = np.unique(np.linspace(0, units - 1, min(units, _MOST_STEPS)).astype(int))
    timed = history.timed and history.units[0].time != history.units[-1].time
    across = _times([history.units[place].time for place in places]) if timed else places + 1

    def draw(axes: Any) -> None:
        for color, arm in zip(SERIES, few, strict=False):
            counts = np.cumsum([unit.assigned == arm for unit in history.units])
            axes.step(across, counts[places], where="post", color=color, label=shortened(arm))
        axes.set_ylabel("units assigned")
        _name_axis(axes, timed=timed)
        legend_above(axes)

    spoken = "; ".join(f"{arm}: {sum(unit.assigned == arm for unit in history.units)}" for arm in few)
    left = "" if len(few) == len(arms) else f" The first {len(few)} of {len(arms)} arms."
    return new_figure(
        draw, caption=f"Units assigned to every arm.{left}", description=f"Units in the end: {spoken}."
    )


def noise_figure(course: Sequence[Moment]) -> Figure:
    """Noise variances with their intervals."""
    return _over_time(
        course,
        middle=lambda arm: arm.noise_variance,
        ends=lambda arm: arm.noise_interval,
        called="noise variance",
        caption="Noise variances, corrected for adaptive allocation; bands are their intervals.",
    )


def error_figure(course: Sequence[Moment]) -> Figure:
    """Expected errors with their upper bounds."""
    return _over_time(
        course,
        middle=lambda arm: arm.expected_error,
        ends=lambda arm: (arm.expected_error, arm.error_bound),
        called="expected error",
        caption="Expected errors; bands reach up to their upper bounds.",
    )


def _over_time(
    course: Sequence[Moment],
    *,
    middle: Callable[[ArmEstimate], float],
    ends: Callable[[ArmEstimate], tuple[float, float]],
    called: str,
    caption: str,
) -> Figure:
    timed = all(moment.time is not None for moment in course) and course[0].time != course[-1].time
    across = (
        _times([moment.time for moment in course]) if timed else np.array([each.units for each in course])
    )
    names = [arm.arm for arm in course[-1].estimates][: len(SERIES)]

    def draw(axes: Any) -> None:
        axes.set_yscale("log")
        plain_log_ticks(axes.yaxis)
        shown: list[float] = []
        for color, name in zip(SERIES, names, strict=False):
            found = [_numbers(moment, name, middle, ends) for moment in course]
            values, low, high = (np.array(column) for column in zip(*found, strict=True))
            axes.fill_between(across, low, high, color=color, alpha=0.14, linewidth=0.0)
            axes.plot(across, values, color=color, marker="o", markersize=2.5, label=shortened(name))
            shown += values[np.isfinite(values)].tolist()
        if shown:
            # The first intervals reach to infinity nearly, and would leave no room for the others.
            axes.set_ylim(min(shown) / _ROOM, max(shown) * _ROOM)
        axes.set_ylabel(called)
        _name_axis(axes, timed=timed)
        legend_above(axes)

    spoken = "; ".join(f"{name}: {_numbers(course[-1], name, middle, ends)[0]:.3g}" for name in names)
    return new_figure(
        draw, caption=f"{caption} They may reach beyond the frame.", description=f"In the end: {spoken}."
    )


def _numbers(
    moment: Moment,
    name: str,
    middle: Callable[[ArmEstimate], float],
    ends: Callable[[ArmEstimate], tuple[float, float]],
) -> tuple[float, float, float]:
    """Value and interval of an arm, which may not have joined yet; not a number where nothing is known."""
    arm = next((each for each in moment.estimates if each.arm == name), None)
    if arm is None:
        return np.nan, np.nan, np.nan
    value, (low, high) = middle(arm), ends(arm)
    numbers = [each if np.isfinite(each) and each > 0.0 else np.nan for each in (value, low, high)]
    return numbers[0], numbers[1], numbers[2]


def _times(times: Sequence[Any]) -> Any:
    """For matplotlib, which takes times without a zone as they are."""
    return np.array([time.replace(tzinfo=None) for time in times], dtype="datetime64[us]")


def _name_axis(axes: Any, *, timed: bool) -> None:
    if not timed:
        axes.set_xlabel("units assigned")
        return
    from matplotlib import dates

    drawing: Any = dates  # without types
    low, high = axes.get_xlim()
    for most in _MOST_TICKS:
        locator = drawing.AutoDateLocator(minticks=3, maxticks=most)
        axes.xaxis.set_major_locator(locator)
        if sum(low <= place <= high for place in axes.get_xticks()) > 1:
            break
    axes.xaxis.set_major_formatter(drawing.ConciseDateFormatter(locator))
    axes.set_xlabel("date (UTC)", loc="left")  # at the right the formatter may write the day
