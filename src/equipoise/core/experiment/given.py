"""Many units with arms that a person gives them, such as history from before."""

from __future__ import annotations

from collections.abc import Sequence

from equipoise.core.experiment.asking import ask_one
from equipoise.core.experiment.assignment import Assignment
from equipoise.core.experiment.record import Record, draft
from equipoise.core.experiment.units.arriving import Newcomer, arrival_at
from equipoise.errors import InvalidArgument


def checked_arms(given: Sequence[str], arms: Sequence[str] | None, units: int) -> list[str | None]:
    """The arms that are given, if they are one a unit."""
    if arms is not None:
        raise InvalidArgument(
            "arms and given_arms are both given", hint="give every unit its arm, or those that all may go to"
        )
    if isinstance(given, str):
        raise InvalidArgument(f"given_arms={given!r} is one arm", hint="give a list, one arm a unit")
    listed: list[str | None] = list(given)
    if len(listed) != units:
        raise InvalidArgument(f"{len(listed)} given_arms for {units} units", hint="give one arm a unit")
    if None in listed:
        raise InvalidArgument(
            f"given_arms has no arm at place {listed.index(None)}",
            hint="ask for units that the rule is to assign in a call of their own",
        )
    return listed


def ask_with_arms(
    record: Record, batch: Sequence[Newcomer], arms: Sequence[str | None]
) -> tuple[Record, list[Assignment]]:
    """Assign units one after the other, each to its arm; ``record`` stays as it is."""
    record = draft(record, len(batch), share_rows=True)
    units = []
    for newcomer, arm in zip(batch, arms, strict=True):
        # Caps and the budget are looked at anew for every unit.
        record, unit = ask_one(record, arrival_at(record, newcomer, arm, None))
        units.append(unit)
    return record, units
