"""A forecast as tables, as text and as plain data."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import fields
from html import escape
from typing import TYPE_CHECKING, Any

from equipoise.core.estimates.estimators.estimator import estimator_words
from equipoise.core.tables.digits import NONE
from equipoise.core.tables.tidy import ForReaders, TidyTable
from equipoise.lab.forecast.bands import Band
from equipoise.lab.forecast.losses import GIVEN
from equipoise.lab.results.estimate import finite, plain_estimate, with_error
from equipoise.words import counted

if TYPE_CHECKING:
    from equipoise.lab.forecast.result import Course, Forecast, Origin

_BAND = [field.name for field in fields(Band)]
_MOST_RATES = 8
_BAND_WORDS = ["mean", "median", "80 % band", "95 % band"]


def band_table(forecast: Forecast) -> TidyTable:
    """Errors along the way of every course."""
    rows, shown = [], []
    for course in forecast.courses:
        for look, units in enumerate(course.units):
            for arm in (None, *forecast.arms):
                band = forecast.band(course, look, arm)
                rows.append((course.policy, course.budget, look, units, arm, *_values(band)))
                named = "all: objective" if arm is None else arm
                at = "now" if look == 0 else str(units)
                shown.append([course.policy, f"{course.budget:.10g}", at, named, *band_cells(band)])
    columns = ["policy", "budget", "look", "units", "arm", *_BAND]
    readers = ForReaders(["policy", "budget", "units", "arm", *_BAND_WORDS], shown, 4, notes(forecast))
    return TidyTable(columns, rows, forecast.metadata, readers)


def end_table(forecast: Forecast) -> TidyTable:
    """Errors at the end of every course, and the units to come."""
    rows, shown = [], []
    for course in forecast.courses:
        coming = course.units_to_come()
        everyone = course.counts.sum(axis=1).mean()
        for i, arm in enumerate((None, *forecast.arms)):
            band = forecast.band(course, -1, arm)
            units = float(everyone) if arm is None else coming[i - 1].value
            rows.append((course.policy, course.budget, arm, units, *_values(band)))
            named = "all: objective" if arm is None else arm
            cells = [course.policy, f"{course.budget:.10g}", named, f"{units:.1f}"]
            shown.append([*cells, *band_cells(band)])
    columns = ["policy", "budget", "arm", "units_to_come", *_BAND]
    header = ["policy", "budget", "arm", "units to come", *_BAND_WORDS]
    return TidyTable(columns, rows, forecast.metadata, ForReaders(header, shown, 3, notes(forecast)))


def difference_table(forecast: Forecast) -> TidyTable:
    """Other courses against the experiment's own."""
    rows, shown = [], []
    for course in forecast.courses[1:]:
        gap, share = forecast.difference(course), forecast.better(course)
        rows.append((course.policy, course.budget, gap.value, gap.stderr, share))
        cells = [with_error(gap.value, gap.stderr), f"{100 * share:.0f} %"]
        shown.append([course.policy, f"{course.budget:.10g}", *cells])
    header = ["policy", "budget", "difference of the means", "better in"]
    return TidyTable(
        ["policy", "budget", "difference", "stderr", "better"],
        rows,
        forecast.metadata,
        ForReaders(header, shown, 1, []),
    )


def target_table(forecast: Forecast) -> TidyTable:
    """Budgets that reach the target."""
    rows, shown = [], []
    for found in forecast.targets:
        rows.append((found.policy, found.criterion, found.budget, found.low, found.high))
        shown.append(
            [found.policy, found.criterion, *_budget_cells(forecast, found.budget, found.low, found.high)]
        )
    header = ["policy", "reached", "budget", "± 2 standard errors", "against the plan"]
    columns = ["policy", "criterion", "budget", "low", "high"]
    return TidyTable(columns, rows, forecast.metadata, ForReaders(header, shown, 2))


def _budget_cells(forecast: Forecast, budget: float, low: float, high: float) -> list[str]:
    if math.isnan(budget):
        return [NONE, NONE, NONE]
    if math.isinf(budget):
        return ["not reached", NONE if math.isinf(low) else f"from {low:.10g}", NONE]
    more = budget - forecast.origin.budget
    end = "no end" if math.isinf(high) else f"{high:.10g}"
    between = NONE if math.isnan(low) else f"{low:.10g} – {end}"
    return [f"{budget:.10g}", between, f"{more:+.10g}"]


def record_of(forecast: Forecast) -> dict[str, Any]:
    """Plain values."""
    return {
        **forecast.metadata,
        "courses": [_course_record(forecast, course) for course in forecast.courses],
        "target": None
        if forecast.target is None
        else {"target": forecast.target, "budgets": [found.record() for found in forecast.targets]},
    }


def _course_record(forecast: Forecast, course: Course) -> dict[str, Any]:
    looks = []
    for look, units in enumerate(course.units):
        arms = {arm: forecast.band(course, look, arm).record() for arm in forecast.arms}
        looks.append({"units": units, "objective": forecast.band(course, look).record(), "arms": arms})
    coming = course.units_to_come()
    found = {
        "policy": course.policy,
        "budget": course.budget,
        "looks": looks,
        "units_to_come": {arm: plain_estimate(each) for arm, each in zip(forecast.arms, coming, strict=True)},
    }
    if course is not forecast.courses[0]:
        found["difference"] = plain_estimate(forecast.difference(course))
        found["better"] = finite(forecast.better(course))
    return found


def text_of(forecast: Forecast) -> str:
    """What ``print`` shows."""
    return "\n".join(part if isinstance(part, str) else str(part) for part in _parts(forecast))


def html_of(forecast: Forecast) -> str:
    """The same in a notebook."""
    return "".join(
        (f"<p>{escape(part)}</p>" if part else "") if isinstance(part, str) else part._repr_html_()
        for part in _parts(forecast)
    )


def _parts(forecast: Forecast) -> Iterator[str | TidyTable]:
    """Sentences and tables, from the main numbers to the details."""
    origin, own = forecast.origin, forecast.courses[0]
    yield (
        f"Forecast of an experiment at {place_words(forecast)}: "
        f"{forecast.trials:,} trials of the rest, seed {forecast.seed}, "
        f"estimator {estimator_words(forecast.estimator, forecast.ridge)}."
    )
    yield " ".join(assumptions(forecast))
    yield f"\n{objective_words(origin).capitalize()}, in squared units of the outcome:"
    yield _summary(forecast)
    yield f"\nErrors by arm, {own.policy} with {own.budget:.10g}:"
    yield _arms(forecast)
    if forecast.target is not None:
        yield f"\nBudgets, in all, that bring it to {forecast.target:g}:"
        yield target_table(forecast)
    yield from notes(forecast)


def place_words(forecast: Forecast) -> str:
    """How far the experiment has come; where costs or caps may end it early, the end is the farthest."""
    origin, own = forecast.origin, forecast.courses[0]
    whole = bool((origin.asked + own.counts.sum(axis=1) == own.units[-1]).all())
    awaited = f", {counted(origin.awaited, 'outcome')} awaited" if origin.awaited else ""
    return f"{origin.asked} of {'' if whole else 'up to '}{counted(own.units[-1], 'unit')}{awaited}"


def objective_words(origin: Origin) -> str:
    """What the objective's value is, for people."""
    words = {"max": "the worst arm's error", "mean": "the mean error of the arms"}
    text = words.get(str(origin.objective)) or f"the {origin.objective:g}-norm of the arms' errors"
    return text if set(origin.weights) == {1.0} else f"{text}, times weights"


def _summary(forecast: Forecast) -> TidyTable:
    rows = [["now", "", "", *band_cells(forecast.band(forecast.courses[0], 0)), ""]]
    for course in forecast.courses:
        coming = f"{course.counts.sum(axis=1).mean():.10g}"
        against = "" if course is forecast.courses[0] else f"{100 * forecast.better(course):.0f} %"
        cells = band_cells(forecast.band(course))
        rows.append([course.policy, f"{course.budget:.10g}", coming, *cells, against])
    header = ["policy", "budget", "to come", *_BAND_WORDS, "better in"]
    if len(forecast.courses) == 1:
        header, rows = header[:-1], [row[:-1] for row in rows]
    return _shown(header, rows)


def _arms(forecast: Forecast) -> TidyTable:
    course, rows = forecast.courses[0], []
    for arm, coming in zip(forecast.arms, course.units_to_come(), strict=True):
        now = f"{forecast.band(course, 0, arm).median:.3g}"
        rows.append([arm, now, *band_cells(forecast.band(course, -1, arm)), f"{coming.value:.1f}"])
    return _shown(["arm", "median now", *_BAND_WORDS, "units to come"], rows)


def _shown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> TidyTable:
    return TidyTable(header, rows, {}, ForReaders(header, rows, 1))


def assumptions(forecast: Forecast) -> list[str]:
    """What is taken for granted of outcomes to come, today's awaited ones included."""
    origin = forecast.origin
    rates = origin.loss_rates
    if origin.losses == GIVEN:
        losses = f"Losses to come, as given: {_rates(forecast)}." if any(rates) else "No outcome is lost."
    elif not origin.lost:
        losses = f"No outcome is lost: none of {counted(origin.ended, 'outcome')} was so far."
    else:
        losses = (
            f"Losses to come as so far, {origin.lost} of {counted(origin.ended, 'outcome')}: "
            f"in mean {_rates(forecast)}."
        )
    if origin.lag is not None:
        waits = f"after {counted(origin.lag, 'further unit')}" if origin.lag else "at once"
        return [losses, f"Outcomes come {waits}, as given."]
    if origin.median_wait == 0.0 and not origin.late:
        return [losses, "Outcomes come at once, as so far."]
    half = "half of them come at once"
    if math.isinf(origin.median_wait):
        half = "half of them for longer than any that has come"
    elif origin.median_wait > 0.0:
        half = f"half of them for {counted(int(origin.median_wait), 'further unit')} at most"
    return [losses, f"Outcomes are awaited as long as so far: {half}."]


def _rates(forecast: Forecast) -> str:
    """The rate of all arms, or of each where they differ."""
    shown = [f"{100 * rate:.2g} %" for rate in forecast.origin.loss_rates]
    if len({*shown}) == 1:
        return shown[0]
    named = [f"{arm} {rate}" for arm, rate in zip(forecast.arms, shown, strict=True)]
    more = ["…"] if len(named) > _MOST_RATES else []
    return ", ".join([*named[:_MOST_RATES], *more])


def notes(forecast: Forecast) -> list[str]:
    """What a reader must know of the numbers."""
    origin = forecast.origin
    few = [arm for arm, known in zip(forecast.arms, origin.has_mean, strict=True) if not known]
    rough = [arm for arm, known in zip(forecast.arms, origin.has_error, strict=True) if not known]
    found = []
    if few:
        found.append(
            f"No mean: {_listed(few)} with two degrees of freedom or fewer, where a few trials with much "
            "noise would decide it."
        )
    elif rough:
        found.append(f"Means are rough: {_listed(rough)} with four degrees of freedom or fewer.")
    return found


def _listed(arms: Sequence[str]) -> str:
    return f"{'arm' if len(arms) == 1 else 'arms'} {', '.join(arms)}"


def band_cells(band: Band) -> list[str]:
    """Mean, median and both bands, for people."""
    return [
        with_error(band.mean, band.stderr),
        f"{band.median:.3g}",
        f"{band.low_80:.3g} – {band.high_80:.3g}",
        f"{band.low_95:.3g} – {band.high_95:.3g}",
    ]


def _values(band: Band) -> list[float]:
    return [getattr(band, name) for name in _BAND]
