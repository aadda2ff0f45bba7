"""What status tells, as plain data: the same facts for tables and for JSON."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from typing import TYPE_CHECKING, Any

from equipoise.cli.live.reading.course import course_of
from equipoise.core.policies.base.absent import AbsentPolicy
from equipoise.errors import FitWarning, InvalidArgument, SupportWarning

if TYPE_CHECKING:
    from equipoise.core.estimates.arm_estimate import ArmEstimate
    from equipoise.live.experiment.experiment import LiveExperiment


def standing_of(experiment: LiveExperiment, *, seed: bool = False) -> dict[str, Any]:
    """How an experiment stands at this moment; with ``seed`` its seed, too."""
    copy = experiment.in_memory()  # everything of one moment
    problem, closed = copy.problem, copy.closed_arms
    deadline, overdue = _late(experiment)
    late = Counter(overdue)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)  # the report says it at length
        warnings.simplefilter("ignore", SupportWarning)
        estimates = copy.estimates()
    table = copy.units()
    statuses = Counter(zip(table.column("arm"), table.column("status"), strict=True))
    head = experiment.store.head(experiment.name)
    return {
        "experiment": experiment.name,
        "store": experiment.store.url,
        "mode": head.mode,
        "policy": copy.policy.label,
        "chooses_features": type(copy.policy).staged,
        "caution": copy.policy.caution if isinstance(copy.policy, AbsentPolicy) else None,
        **({"seed": copy.seed} if seed else {}),
        "objective": problem.objective,
        "outcome_unit": None if problem.outcome is None else problem.outcome.unit,
        "paused": copy.paused,
        "closed_arms": list(closed),
        "budget": problem.budget,
        "spent": copy.spent,
        "units": {
            "asked": copy.asked,
            "remaining": copy.remaining,
            **{word: _count(statuses, word) for word in ("told", "pending")},
            "overdue": len(overdue),
            **{word: _count(statuses, word) for word in ("lost", "withdrawn", "redacted")},
            "redacted_in_models": sum(_kept(arm, statuses) for arm in estimates),
        },
        "arms": [
            {
                "arm": arm.arm,
                "open": arm.arm not in closed,
                "assigned": sum(count for (name, _), count in statuses.items() if name == arm.arm),
                "told": statuses[arm.arm, "told"],
                "pending": statuses[arm.arm, "pending"],
                "overdue": late[arm.arm],
                "redacted": statuses[arm.arm, "redacted"],
                "redacted_in_models": _kept(arm, statuses),
                "outcomes_missing": _missing(arm),
                "outcomes_alike": arm.alike,
                "noise": finite(arm.noise_variance),
                "noise_interval": [finite(end) for end in arm.noise_interval] if arm.noise_known else None,
                "expected_error": finite(arm.expected_error),
                "error_bound": finite(arm.error_bound),
                "root_error": finite(arm.root_error),
            }
            for arm in estimates
        ],
        "error": {
            "objective": finite(estimates.objective),
            "oracle": finite(estimates.oracle_objective),
            "regret": finite(estimates.regret),
        },
        "course": [
            {
                "units": point.units,
                "error": finite(point.error),
                "oracle": finite(point.oracle),
                "regret": finite(point.regret),
            }
            for point in course_of(copy, estimates)
        ],
        "deadline_seconds": deadline,
        "head": {"sequence": head.sequence, "epoch": head.epoch, "hash": head.hash.hex()},
        "created": _moment(head.created),
        "updated": _moment(head.updated),
    }


def _late(experiment: LiveExperiment) -> tuple[float | None, list[str]]:
    """The deadline in seconds, and the arm of every unit that is overdue; neither without a deadline."""
    try:
        table = experiment.overdue()
    except InvalidArgument:
        return None, []
    return table.metadata["deadline_seconds"], table.column("arm")


def _kept(arm: ArmEstimate, statuses: Counter[tuple[str, str]]) -> int:
    """Outcomes of redacted units that are still in the arm's model."""
    return max(arm.observed - statuses[arm.arm, "told"], 0)


def _missing(arm: ArmEstimate) -> int:
    """Outcomes that an arm lacks until anything can be said of its noise."""
    features = len(arm.coef) if arm.columns is None else len(arm.columns)
    return max(features + 1 - arm.observed, 0)


def finite(number: float) -> float | None:
    """The number, or None where there is none."""
    return float(number) if math.isfinite(number) else None


def _count(statuses: Counter[tuple[str, str]], word: str) -> int:
    return sum(count for (_, status), count in statuses.items() if status == word)


def _moment(microseconds: int) -> str:
    from equipoise.live.log.entries import moment

    return moment(microseconds).isoformat()
