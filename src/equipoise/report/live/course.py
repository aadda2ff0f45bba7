"""The course of an experiment: units, noise and errors of every arm, as they were known at twenty moments.

Each moment is the fold of the log up to it, with the outcomes that had come by then and the estimates that
anybody would have read.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from equipoise.core.arms.state import KNOWN, LOST, PENDING, WITHDRAWN
from equipoise.core.estimates.estimates import Estimates
from equipoise.core.experiment.experiment import Experiment
from equipoise.errors import EquipoiseError, FitWarning, SupportWarning
from equipoise.extras import is_installed
from equipoise.report.document import Block, Table, Text
from equipoise.report.live.history import TOLD, History, foldable
from equipoise.words import lasting

MOMENTS = 20
_TOLD_OF = (*KNOWN, LOST, PENDING, WITHDRAWN)
_MOST_ROWS, _MOST_ARMS = 8, 6


@dataclass(frozen=True)
class Moment:
    """What was known then."""

    units: int
    time: datetime | None
    estimates: Estimates


def course_of(history: History, experiment: Experiment, *, intervals: str) -> list[Moment]:
    """Fold the events again, and read the estimates at moments with equally many events between them.

    Without units whose data were erased, until their erasure. None where events are missing: in memory those
    that chose features, or were of units whose data were erased.
    """
    entries: list[tuple[Mapping[str, Any], datetime | None]]
    if history.logged:
        entries = [(foldable(entry), entry.time) for entry in history.entries[1:]]
    else:
        entries = [(event, None) for event in _remembered(experiment)]
    marks = {round(len(entries) * (k + 1) / MOMENTS) for k in range(MOMENTS)}
    found = []
    try:
        again = _begun(history, experiment)
        for number, (event, time) in enumerate(entries, start=1):
            again.apply(event)
            if number in marks:
                found.append(Moment(again.asked, time, _quiet(again, intervals)))
    except EquipoiseError:  # of another version, or of a policy that is not at hand
        return []
    return found


def _begun(history: History, experiment: Experiment) -> Experiment:
    """The experiment before its first unit."""
    if history.logged:
        return Experiment.replay([history.entries[0].event or {}], details=False)
    return Experiment(experiment.problem, experiment.policy, experiment.seed)


def _remembered(experiment: Experiment) -> list[Mapping[str, Any]]:
    """Events that lead to what an experiment in memory knows; none where features were chosen on the way."""
    record = experiment._snapshot()
    if type(record.policy).staged or not np.all(np.isin(record.state.rows["status"], _TOLD_OF)):
        return []
    arms, rows, state = record.problem.arms, record.state.rows, record.state
    closed: dict[int, list[int]] = {}
    for place, step in enumerate(rows["closed_at"].tolist()):
        closed.setdefault(step if step else -1, []).append(place)
    events: list[Mapping[str, Any]] = []
    for place, row in enumerate(rows):
        if row["status"] == WITHDRAWN:
            # It counts as if it had never come, but numbers go on.
            left: list[Mapping[str, Any]] = [{"kind": "withdrawn", "id": place + 1}]
        else:
            left = []
        events.append(
            {
                "kind": "asked",
                "id": place + 1,
                "x": record.contexts[place].tolist(),
                "arm": arms[int(row["arm"])],
                "top": arms[int(row["top"])],
                "scores": [],  # read by nobody who asks for estimates
                "chance": 0.0,
                **{name: float(row[name]) for name in ("propensity", "likeliest", "possible")},
            }
        )
        events += left
        for other in closed.get(place + 1, ()):
            if rows["status"][other] in KNOWN:
                events.append({"kind": "told", "id": other + 1, "outcome": float(state.outcomes[other])})
            elif rows["status"][other] == LOST:
                events.append({"kind": "lost", "id": other + 1})
    return events


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
    if drawn and len(history.units) > 1:
        from equipoise.report.live.course_figures import allocation_figure

        blocks.append(allocation_figure(history, arms))
    if not course:
        blocks.append(
            Text(
                "Noise and errors over time are not known here: events that chose features, or of units "
                "whose data were erased, were not kept; or nothing has happened yet."
            )
        )
        return blocks
    if not any(math.isfinite(arm.expected_error) for moment in course for arm in moment.estimates):
        blocks.append(Text("Noise and errors are not known yet: there are too few outcomes."))
        return blocks
    if drawn:
        from equipoise.report.live.course_figures import error_figure, noise_figure

        blocks += [noise_figure(course), error_figure(course)]
    if any(entry.event is None for entry in history.entries):
        blocks.append(Text("Units whose data were erased are missing in it, up to their erasure."))
    return [*blocks, _table(course, arms)]


def _dates(history: History) -> str:
    if not history.timed:
        return "Times were not kept: the course is shown over units, in the order of assignment."
    first, last = history.units[0].time, history.units[-1].time
    assert first is not None
    assert last is not None
    text = f"The first unit was assigned on {first:%Y-%m-%d}, the last on {last:%Y-%m-%d}."
    told = [unit for unit in history.units if unit.status == TOLD and unit.closed is not None]
    waits = sorted(unit.closed - unit.time for unit in told if unit.closed and unit.time)
    if waits:
        newest = max(unit.closed for unit in told if unit.closed)
        text += (
            f" The newest outcome came on {newest:%Y-%m-%d}; outcomes took "
            f"{lasting(waits[len(waits) // 2])} in the "
            f"median and {lasting(waits[-1])} at most."
        )
    return text


def _table(course: Sequence[Moment], arms: Sequence[str]) -> Table:
    """Every arm's expected error at some moments; of many arms only the largest."""
    step = max(1, math.ceil(len(course) / _MOST_ROWS))
    shown = [moment for k, moment in enumerate(reversed(course)) if k % step == 0][::-1]
    few = list(arms) if len(arms) <= _MOST_ARMS else []
    timed = all(moment.time is not None for moment in shown)
    times = [moment.time for moment in shown if moment.time is not None]
    # Of an experiment that took no two days the hour tells more.
    form = "%Y-%m-%d" if times and times[-1] - times[0] >= timedelta(days=2) else "%H:%M:%S"
    columns = [*(["until (UTC)"] if timed else []), "units", "outcomes", "largest error", *few]
    rows = []
    for moment in shown:
        errors = {arm.arm: arm.expected_error for arm in moment.estimates}
        known = sum(arm.observed for arm in moment.estimates)
        cells = [_number(max(errors.values())), *(_number(errors.get(arm, math.nan)) for arm in few)]
        date = [] if moment.time is None or not timed else [format(moment.time, form)]
        rows.append([*date, f"{moment.units:,}", f"{known:,}", *cells])
    return Table(columns, rows, caption="Expected errors as they were known then.")


def _number(value: float) -> str:
    return f"{value:.3g}" if math.isfinite(value) else "–"
