"""The course of an experiment: units, noise and errors of every arm, as they were known at some twenty moments.

Each moment is the fold of the log up to it, with the outcomes that had come by then and the estimates that
anybody would have read.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from equipoise.core.estimates.estimates import Estimates
from equipoise.core.experiment.experiment import Experiment
from equipoise.errors import EquipoiseError, FitWarning, SupportWarning
from equipoise.extras import is_installed
from equipoise.report.document import Block, Table, Text
from equipoise.report.live.history import History

MOMENTS = 20
_MOST_ROWS, _MOST_ARMS = 8, 6


@dataclass(frozen=True)
class Moment:
    """What was known then."""

    units: int
    time: datetime | None
    estimates: Estimates


def course_of(history: History, *, intervals: str, moments: int = MOMENTS) -> list[Moment]:
    """Fold the log again, and read the estimates at moments with equally many events between them."""
    entries: Sequence[tuple[Mapping[str, Any], datetime | None]]
    if history.logged:
        entries = [(entry.event or {}, entry.time) for entry in history.entries]
    else:
        entries = [(event, None) for event in history.events]
    if len(entries) < 2 or any(not event for event, _ in entries):
        return []
    marks = {round((len(entries) - 1) * (k + 1) / moments) for k in range(moments)}
    found = []
    try:
        experiment = Experiment.replay([entries[0][0]])
        for place, (event, time) in enumerate(entries[1:], start=1):
            experiment.apply(event)
            if place in marks:
                found.append(Moment(experiment.asked, time, _quiet(experiment, intervals)))
    except EquipoiseError:
        return []
    return found


def _quiet(experiment: Experiment, intervals: str) -> Estimates:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        warnings.simplefilter("ignore", SupportWarning)
        return experiment.estimates(intervals=intervals)


def course_blocks(history: History, course: Sequence[Moment], arms: Sequence[str]) -> list[Block]:
    """Figures over time, or over units where nothing has a time, and a table."""
    if not history.units:
        return [Text("No unit has been assigned yet.")]
    blocks: list[Block] = [Text(_dates(history))]
    drawn = is_installed("matplotlib")
    if drawn:
        from equipoise.report.live.course_figures import allocation_figure

        blocks.append(allocation_figure(history, arms))
    if not course:
        blocks.append(
            Text("Noise and errors over time need a log whose entries are all there, which is not so here.")
        )
        return blocks
    if drawn:
        from equipoise.report.live.course_figures import error_figure, noise_figure

        blocks += [noise_figure(course), error_figure(course)]
    return [*blocks, _table(course, arms)]


def _dates(history: History) -> str:
    if not history.timed:
        return "Times were not kept: the course is shown over units, in the order of assignment."
    first, last = history.units[0].time, history.units[-1].time
    assert first is not None
    assert last is not None
    text = f"The first unit was assigned on {first:%Y-%m-%d}, the last on {last:%Y-%m-%d}."
    closed = [unit.closed for unit in history.units if unit.closed is not None]
    if closed:
        waits = sorted(
            (unit.closed - unit.time).total_seconds() / 86400.0
            for unit in history.units
            if unit.closed is not None and unit.time is not None
        )
        text += (
            f" The newest outcome came on {max(closed):%Y-%m-%d}; outcomes took {waits[len(waits) // 2]:.3g} days in "
            f"the median and {waits[-1]:.3g} at most."
        )
    return text


def _table(course: Sequence[Moment], arms: Sequence[str]) -> Table:
    """Every arm's expected error at some moments; of many arms only the largest."""
    step = max(1, math.ceil(len(course) / _MOST_ROWS))
    shown = [moment for k, moment in enumerate(reversed(course)) if k % step == 0][::-1]
    few = list(arms) if len(arms) <= _MOST_ARMS else []
    timed = all(moment.time is not None for moment in shown)
    columns = [*(["until (UTC)"] if timed else []), "units", "outcomes", "largest error", *few]
    rows = []
    for moment in shown:
        errors = {arm.arm: arm.expected_error for arm in moment.estimates}
        known = sum(arm.observed for arm in moment.estimates)
        cells = [_number(max(errors.values())), *(_number(errors.get(arm, math.nan)) for arm in few)]
        date = [] if moment.time is None or not timed else [f"{moment.time:%Y-%m-%d}"]
        rows.append([*date, f"{moment.units:,}", f"{known:,}", *cells])
    return Table(columns, rows, caption="Expected errors as they were known then.")


def _number(value: float) -> str:
    return f"{value:.3g}" if math.isfinite(value) else "–"
