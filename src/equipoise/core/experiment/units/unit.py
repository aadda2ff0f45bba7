"""A unit: all that is known of one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from equipoise.core.arms.state import KNOWN, LOST, NO_ARM_YET, PENDING, REDACTED, SET_ASIDE, TOLD, WITHDRAWN
from equipoise.core.experiment.assignment import Assignment
from equipoise.core.experiment.record import Record
from equipoise.core.experiment.units.book import NO_PERSON, Details

STATUS = {
    **{PENDING: "pending", TOLD: "told", LOST: "lost", WITHDRAWN: "withdrawn", SET_ASIDE: "told"},
    REDACTED: "redacted",
}
"""Words for what has become of a unit."""


@dataclass(frozen=True, slots=True)
class Unit:
    """One unit of an experiment, as it is at the moment of the call."""

    unit: str | None
    """Its key."""
    id: int
    """Its number, counted from 1."""
    arm: str
    """The arm that it received."""
    assigned: str
    """The arm that it was assigned to."""
    status: str
    """``"pending"``, ``"told"``, ``"lost"``, ``"withdrawn"`` or ``"redacted"``."""
    outcome: float | None
    context: dict[str, Any]
    """Its context in the user's words: the fields that were given, or a number a feature; {} if redacted."""
    propensity: float
    """Probability that it went where it went; not a number where a person gave or changed the arm."""
    given_by_person: bool | None
    """Whether a person gave the arm; None where that was not kept."""
    scores: dict[str, float] | None
    """Every arm's score at the choice; None where they were not kept."""
    asked_at: datetime | None = None
    closed_at: datetime | None = None
    """When its outcome came, or was given up; None in experiments in memory, which have no clock."""


def unit_of(record: Record, row: int, key: str | None, details: Details | None) -> Unit:
    """What a record knows of one row."""
    problem, line = record.problem, record.state.rows[row]
    status, arms = int(line["status"]), problem.arms
    unknown = line["arm"] == NO_ARM_YET  # in the middle of a log that tells it later
    return Unit(
        unit=key,
        id=row + 1,
        arm="" if unknown else arms[int(line["arm"])],
        assigned="" if unknown else arms[int(line["meant"])],
        status=STATUS[status],
        outcome=float(record.state.outcomes[row]) if status in KNOWN else None,
        context={} if status == REDACTED else _in_words(record, row, details),
        propensity=float(line["propensity"]),
        given_by_person=is_given_by_person(line, details),
        scores=None
        if details is None
        else dict(zip(arms[: len(details.scores)], details.scores.tolist(), strict=True)),
    )


def is_given_by_person(line: Any, details: Details | None) -> bool | None:
    """Whether a person gave the arm of a row; None where nothing tells."""
    if details is not None:
        return details.chosen != NO_PERSON
    if math.isfinite(line["propensity"]):
        return False
    # A row without a probability is one that a person sent where it went: at once, or later by received().
    return True if line["arm"] == line["meant"] else None


def assignment_again(record: Record, row: int) -> Assignment:
    """The assignment that somebody who asks again gets; without scores where only others kept them."""
    line, arms, details = record.state.rows[row], record.problem.arms, record.book.details[row]
    arm, by_person = arms[int(line["meant"])], is_given_by_person(line, details)
    if details is None:
        return Assignment(
            id=row + 1,
            unit=record.book.keys[row],
            arm=arm,
            arms=(),
            score_values=np.zeros(0),
            top=arms[int(line["top"])],
            chance=math.nan,
            chosen=arm if by_person is False else None,
            given_by_person=by_person,
        )
    return Assignment(
        id=row + 1,
        unit=record.book.keys[row],
        arm=arm,
        arms=arms[: len(details.scores)],
        score_values=details.scores,
        top=arms[int(line["top"])],
        chance=details.chance,
        weighed=details.weighed,
        chosen=details.chosen if by_person else arm,
        eligible=details.eligible,
        given_by_person=by_person,
    )


def _in_words(record: Record, row: int, details: Details | None) -> dict[str, Any]:
    if details is not None and details.given is not None:
        return dict(details.given)
    return dict(zip(record.problem.feature_names, record.contexts[row].tolist(), strict=True))
