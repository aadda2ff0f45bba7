"""Time trends: whether outcomes drift while units come in, asked of the residuals.

A unit's time is its place in the order of assignment, from 0 for the first unit to 1 for the last. It is
tried as one more feature, in every arm and for what the arms have in common, so its coefficient is how much
the expected outcome changed from the first unit to the last, for one and the same context.

Allocation does not spoil the test: which units an arm got depends on contexts and on σ̂², never on the sign of
a residual, so a slope is as likely to come out positive as negative. What is bent is its size, since σ̂² is,
and an arm that met large residuals early got more units later. F is divided by the same inflation as
in intervals. Simulated trials without a drift find one about as often as they should:
tests/core/diagnosis/test_time_trend.py.

Adaptive rules give arms units at different times. A drift that all arms share then looks like a difference
between arms, unless time is among the features.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from equipoise.core.arrays import Vector
from equipoise.core.diagnosis.evidence import Evidence
from equipoise.core.diagnosis.terms import Shared, Tested, holm, try_terms
from equipoise.core.estimates.intervals import t_quantile
from equipoise.core.text_tables import Shown


@dataclass(frozen=True)
class ArmTrend:
    """How an arm's outcomes drifted."""

    arm: str
    observed: int
    mean_time: float
    """Mean place of the arm's units in the order of assignment: 0 first, 1 last, about ½ if dealt evenly."""
    change: float
    """Change of the expected outcome from the first unit to the last; not a number if it cannot be told."""
    interval: tuple[float, float]
    """Of the change; infinite where it cannot be told."""
    p_value: float
    """Of no change, corrected for the number of arms (Holm); 1 where it cannot be tested."""


@dataclass(frozen=True, eq=False, repr=False)
class TimeTrends(Shown):
    """Drift of outcomes over the units: in every arm, and in what the arms have in common."""

    arms: tuple[ArmTrend, ...]
    change: float
    """Change that all arms share, from the first unit to the last."""
    interval: tuple[float, float]
    """Of that change."""
    p_shared: float
    """Of no change that all arms share."""
    p_value: float
    """Of everything together, corrected for the number of tests."""
    confidence: float

    def records(self) -> list[dict[str, Any]]:
        """One plain dictionary an arm, and one of all arms."""
        whole = {
            "arm": None,
            "observed": sum(arm.observed for arm in self.arms),
            "mean_time": None,
            "change": self.change,
            "interval": list(self.interval),
            "p_value": self.p_shared,
        }
        return [{**vars(arm), "interval": list(arm.interval)} for arm in self.arms] + [whole]

    def _table(self) -> tuple[list[str], list[list[str]]]:
        rows = [
            [
                "all arms" if line["arm"] is None else line["arm"],
                str(line["observed"]),
                "" if line["mean_time"] is None else f"{line['mean_time']:.2f}",
                f"{line['change']:.4g}",
                "{:.3g} – {:.3g}".format(*line["interval"]),
                f"{line['p_value']:.2g}",
            ]
            for line in self.records()
        ]
        return ["arm", "outcomes", "mean time", "change", "interval", "p value"], rows


def time_trends(evidence: Evidence, inflation: Vector, confidence: float = 0.95) -> TimeTrends:
    """Test every arm and all of them; ``inflation`` is what σ̂² is multiplied by, see intervals.py."""
    # Of all units, so that one that is withdrawn moves no other.
    ids = evidence.ids.astype(float)
    times = (ids - ids[0]) / (ids[-1] - ids[0]) if len(ids) > 1 else np.zeros(len(ids))
    tests = try_terms(evidence, times[:, None], inflation)
    corrected = holm([1.0 if test is None else test.p_value for test in tests])
    arms = tuple(
        _arm_trend(name, times[evidence.of_arm(i)], tests[i], corrected[i], confidence)
        for i, name in enumerate(evidence.names)
    )
    shared = Shared(tests, 1)
    change, interval = math.nan, (-math.inf, math.inf)
    if shared.known:
        change, half = float(shared.coef[0]), shared.half_width(confidence)
        interval = change - half, change + half
    return TimeTrends(
        arms=arms,
        change=change,
        interval=interval,
        p_shared=shared.p_value,
        p_value=min(1.0, 2.0 * min(shared.p_value, *corrected)),
        confidence=confidence,
    )


def _arm_trend(arm: str, times: Vector, test: Tested | None, p_value: float, confidence: float) -> ArmTrend:
    place = float(times.mean()) if len(times) else math.nan
    if test is None:
        return ArmTrend(arm, len(times), place, math.nan, (-math.inf, math.inf), p_value)
    information = float(test.information[0, 0])
    change = float(test.pull[0]) / information
    half = float(t_quantile(confidence, test.dof)) / math.sqrt(information)
    return ArmTrend(arm, len(times), place, change, (change - half, change + half), p_value)
