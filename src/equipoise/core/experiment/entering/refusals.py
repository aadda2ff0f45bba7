"""Why an entry about a unit is refused, and what to do about it."""

from __future__ import annotations

from equipoise.core.arms.state import LOST, REDACTED, WITHDRAWN
from equipoise.core.experiment.entering import entries
from equipoise.core.experiment.reading import not_found
from equipoise.errors import AssignmentClosed, AssignmentNotFound

STAYS_OUT = "withdrawn units stay out; leave the outcome out, or ask for the unit under another key"


def refused(unit: str | int, status: int, hint: str = "") -> AssignmentNotFound | AssignmentClosed:
    """The error for a unit of a status that does not allow the entry."""
    if status == entries.NOBODY:
        return not_found(unit)
    words = {LOST: "was declared lost", WITHDRAWN: "was withdrawn", REDACTED: "was redacted"}
    hint = "nothing can be entered about it any more" if status == REDACTED else hint
    return AssignmentClosed(f"unit {unit} {words.get(status, 'already has an outcome')}", hint=hint)


def not_pending(unit: str | int, status: int) -> AssignmentNotFound | AssignmentClosed:
    """The error for a unit whose outcome is not awaited."""
    return refused(unit, status, f"to remove a unit altogether call withdraw({unit!r})")
