"""Balance by period and time trends: whether people, or their outcomes, changed while units came in."""

from __future__ import annotations

import math
from collections.abc import Sequence

from equipoise.core.diagnosis.periods import Period
from equipoise.core.diagnosis.time_trend import TimeTrends
from equipoise.report.document import Block, Table, Text
from equipoise.report.experiment_models import MOST_ARMS, further
from equipoise.report.live.history import History
from equipoise.report.numbers import p_text, p_value, with_interval

PERIODS = 4


def period_blocks(history: History, periods: Sequence[Period]) -> list[Block]:
    """Contexts of every period, and arms within periods."""
    if not periods:
        return [Text("There are no contexts to compare.")]
    unlike = [k + 1 for k, period in enumerate(periods) if period.contexts.p_value < 0.05 / len(periods)]
    text = (
        "Periods hold equally many units, in the order of assignment. "
        + (
            f"Contexts of period {', '.join(map(str, unlike))} are unlike those of all units: the people who "
            "came changed over time."
            if unlike
            else "No period's contexts are clearly unlike those of all units."
        )
        + " The first table compares periods with all units, the second arms with all units of their period: "
        "units, and the largest standardised difference of a feature's mean. In small groups differences "
        "of 0.3 and more come by chance."
    )
    rows = []
    for k, period in enumerate(periods):
        own = period.contexts
        place = max(range(len(own.differences)), key=lambda j: abs(own.differences[j]), default=None)
        feature = "–" if place is None or not own.largest_difference else period.arms.names[place]
        rows.append(
            [
                str(k + 1),
                f"{period.first} – {period.last}",
                *([_dates(history, period)] if history.timed else []),
                f"{own.length:.3g}",
                f"{own.largest_difference:+.2f}",
                feature,
                p_value(own.p_value),
            ]
        )
    columns = ["period", "units", *(["dates"] if history.timed else [])]
    columns += ["mean r", "largest difference", "of feature", "p"]
    arms = [arm.arm for arm in periods[0].arms][:MOST_ARMS]
    cells = [
        [arm, *(f"{own.units}: {own.largest_difference:+.2f}" if own.units else "0" for own in within)]
        for arm in arms
        for within in [[period.arms[arm] for period in periods]]
    ]
    return [
        Text(text + further(len(periods[0].arms) - len(arms), "arm")),
        Table(columns, rows, caption="Periods against all units."),
        Table(
            ["arm", *(f"period {k + 1}" for k in range(len(periods)))],
            cells,
            caption="Arms within periods: units, and the largest difference.",
        ),
    ]


def _dates(history: History, period: Period) -> str:
    first, last = (history.units[number - 1].time for number in (period.first, period.last))
    assert first is not None
    assert last is not None
    return f"{first:%Y-%m-%d} – {last:%Y-%m-%d}"


def trend_blocks(trends: TimeTrends) -> list[Block]:
    """Tests of drift, of every arm and of all together."""
    lines = trends.records()
    if not any(math.isfinite(line["change"]) for line in lines):
        return [Text("Too few outcomes for a test of drift over time.")]
    text = (
        f"{trend_sentence(trends)} A unit's place in the order of assignment was tried as one more "
        "feature: the "
        "change is that of the expected outcome from the first unit to the last, for the same context. "
        "Adaptive allocation leaves the test valid, since it never looks at the sign of a residual; σ̂² is "
        "corrected as in intervals. The mean time tells when an arm got its units: 0 at the start, 1 at the "
        "end. Where arms differ in it, a drift that all share looks like a difference between arms."
    )
    shown = [*lines[:-1][:MOST_ARMS], lines[-1]]
    rows = [
        [
            line["arm"] or "all arms",
            str(line["observed"]),
            "–" if line["mean_time"] is None or math.isnan(line["mean_time"]) else f"{line['mean_time']:.2f}",
            *(
                with_interval(line["change"], *line["interval"])
                if math.isfinite(line["change"])
                else ("–", "not determined")
            ),
            p_value(line["p_value"]),
        ]
        for line in shown
    ]
    level = f"{100 * trends.confidence:g} % interval"
    return [
        Text(text + further(len(lines) - len(shown), "arm")),
        Table(["arm", "outcomes", "mean time", "change", level, "p, corrected"], rows),
    ]


def trend_sentence(trends: TimeTrends) -> str:
    """The verdict on drift."""
    if trends.p_value < 0.01:
        return f"Outcomes drifted while units came in ({p_text(trends.p_value)}, all tests counted)."
    if trends.p_value < 0.05:
        return f"Outcomes may have drifted while units came in ({p_text(trends.p_value)}, all tests counted)."
    return f"No clear drift of outcomes while units came in ({p_text(trends.p_value)}, all tests counted)."
