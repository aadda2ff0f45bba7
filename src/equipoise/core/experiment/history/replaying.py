"""A history decided anew: the same rule, contexts and outcomes must lead to the arms that were recorded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

from equipoise.core.arithmetic.numerics import NUMERICS
from equipoise.core.experiment.asking import ask_together, in_due_stage
from equipoise.core.experiment.assignment import Assignment
from equipoise.core.experiment.history.events import ASKED, assignment_of, is_erased
from equipoise.core.experiment.history.folding import arrival_of, begun, fold_asked, folded
from equipoise.core.experiment.history.redacting import lacks_data
from equipoise.core.experiment.history.runs import fold_some
from equipoise.core.experiment.record import Record, draft
from equipoise.core.policies.base.absent import AbsentPolicy
from equipoise.errors import ReplayMismatch

Events = Iterable[Mapping[str, Any]]

_AT_ONCE = 100
"""Events that are held at a time."""


def refolded(events: Events, *, details: bool = True) -> Record:
    """The record that events lead to."""
    waiting = iter(events)
    record = begun(next(waiting, {}), details=details)
    while some := list(islice(waiting, _AT_ONCE)):
        place = 0
        while place < len(some):
            record, place = fold_some(record, some, place)
    return record


def redecided(events: Events, *, details: bool = True) -> Record:
    """The same, after every choice was made anew and is what was recorded; else ReplayMismatch.

    Choices between a unit whose data are gone and its redaction cannot be made anew, and stay as they are;
    so do those with ``numerics`` other than these, which come out otherwise in their last bits.
    """
    record, lacking = None, False
    for group in _grouped(events):
        if record is None:
            record = begun(group[0], details=details)
            continue
        asked = [event for event in group if event["kind"] in ASKED and not is_erased(event)]
        foreign = any(is_foreign(event) for event in group)
        if len(asked) > 1 and not foreign and len(asked) == asked[0]["size"] and not lacking:
            _decide_together(record, asked)
        for event in group:
            # Until a redaction tells the sums, those of units whose data are gone, nothing is decided anew.
            record = folded(record, event) if lacking or foreign else _decided(record, event)
            if is_erased(event) or event["kind"] == "redacted":
                lacking = lacks_data(record)
    return begun({}) if record is None else record


def is_foreign(event: Mapping[str, Any]) -> bool:
    """Whether the event says that it was decided with other numerics than these."""
    return bool(event.get("numerics", NUMERICS) != NUMERICS)


def _decided(record: Record, event: Mapping[str, Any]) -> Record:
    """The record with one more event, if it is what the rule says."""
    if event["kind"] == "features_chosen":
        _check_features(record, event)
    if event["kind"] not in ASKED or is_erased(event):
        return folded(record, event)
    if isinstance(record.policy, AbsentPolicy):
        raise record.policy.refuse()
    if event["kind"] == "asked" and in_due_stage(record) is not record:
        raise ReplayMismatch(f"features were to be chosen before unit {event['id']}, and none were")
    record, again = fold_asked(record, event)
    _check(assignment_of(event, record.problem.arms), again)
    return record


def _grouped(events: Events) -> Iterator[list[Mapping[str, Any]]]:
    """Events one by one, but those of units that were assigned together as one group."""
    waiting: list[Mapping[str, Any]] = []
    missing = 0
    for event in events:
        if event.get("kind") == "asked_together" and not waiting and not is_erased(event):
            missing = int(event["size"]) - (event["id"] - event["first"])
        if missing:
            waiting.append(event)
            missing -= event.get("kind") == "asked_together"
            if missing:
                continue
            yield waiting
            waiting = []
        else:
            yield [event]
    if waiting:
        yield waiting


def _decide_together(record: Record, asked: Sequence[Mapping[str, Any]]) -> None:
    """Assign a batch anew on a copy, and compare who went first and where to."""
    arrivals = {event["place"]: arrival_of(record, event) for event in asked}
    copy = draft(record, len(asked), share_rows=True)
    _, units, _ = ask_together(copy, [arrivals[place] for place in range(len(asked))])
    for event in asked:
        again = units[event["place"]]
        if again.id != event["id"]:
            raise ReplayMismatch(
                f"unit {event['id']} was assigned together with others, and now as unit {again.id}"
            )


def _check(recorded: Assignment, again: Assignment) -> None:
    rule = recorded.chosen
    same_scores = np.array_equal(recorded.score_values, again.score_values, equal_nan=True)
    if rule is None or (again.chosen == rule and same_scores):
        return  # without a rule at hand a person gave the arm
    name = f"unit {recorded.id}" + ("" if recorded.unit is None else f" ({recorded.unit})")
    what = f"went to {rule}, and the rule gives {again.chosen}"
    if again.chosen == rule:
        what = f"went to {rule}, and so the rule says, but by other scores"
    raise ReplayMismatch(
        f"{name} {what}: scores recorded {_listed(recorded)}; now {_listed(again)}",
        hint="another version of the numerics, another policy or seed, or a log that was changed",
    )


def _listed(unit: Assignment) -> str:
    return ", ".join(f"{arm} {score!r}" for arm, score in unit.scores.items())


def _check_features(before: Record, event: Mapping[str, Any]) -> None:
    again = in_due_stage(before)
    columns = again.stage.recovery.columns.tolist() if again.stage.recovery is not None else None
    if again is before or columns != event["columns"]:
        raise ReplayMismatch(
            f"features {event['columns']} were chosen before unit {before.step + 1}, and now "
            + ("none would be" if again is before else f"{columns} are")
        )
