"""A history decided anew: the same rule, contexts and outcomes must lead to all that was recorded of choices.

These are the arm, the scores, the arm with the highest one, and the probabilities: of the arm, of the
likeliest one, and how many arms had any. What was given of a unit, in the user's own fields, must be what its
context says.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from operator import itemgetter
from typing import Any

import numpy as np

from equipoise.core.arithmetic.numerics import NUMERICS
from equipoise.core.arms.state import TRIAL
from equipoise.core.experiment.asking import ask_together, in_due_stage
from equipoise.core.experiment.assignment import Assignment
from equipoise.core.experiment.history.events import (
    ASKED,
    assignment_of,
    is_by_person,
    is_erased,
    plain_numbers,
)
from equipoise.core.experiment.history.folding import (
    MALFORMED,
    arrival_of,
    begun,
    fold_asked,
    folded,
    malformed,
)
from equipoise.core.experiment.history.given import check_given
from equipoise.core.experiment.history.redacting import lacks_data
from equipoise.core.experiment.history.runs import fold_some
from equipoise.core.experiment.record import Record, draft
from equipoise.core.policies.base.absent import AbsentPolicy
from equipoise.errors import EquipoiseError, ReplayMismatch

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
    # An arm that a person gives waits for no choice of features.
    if event["kind"] == "asked" and not is_by_person(event) and in_due_stage(record) is not record:
        raise ReplayMismatch(f"features were to be chosen before unit {event['id']}, and none were")
    try:
        record, again = fold_asked(record, event)
        _check_arm(event, again)
        _check_probabilities(record, event, again)
        if "given" in event:
            check_given(record.problem.features, event)
    except EquipoiseError:
        raise
    except MALFORMED as error:
        raise malformed(event, error) from error
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


def _check_arm(event: Mapping[str, Any], again: Assignment) -> None:
    rule = event.get("chosen", event["arm"])
    if rule is None:
        return  # without a rule at hand a person gave the arm
    # As plain data, which is compared several times as fast as arrays.
    same_scores = event["scores"] == plain_numbers(again.score_values)
    if again.chosen == rule and same_scores:
        return
    recorded = assignment_of(event, again.arms)
    if again.chosen != rule:
        what = f"went to {rule}, and the rule gives {again.chosen}"
    elif np.array_equal(recorded.score_values, again.score_values, equal_nan=True):
        return  # the same numbers in other words
    else:
        what = f"went to {rule}, and so the rule says, but by other scores"
    raise ReplayMismatch(
        f"{_named(event)} {what}: scores recorded {_listed(recorded)}; now {_listed(again)}", hint=_HINT
    )


def _check_probabilities(record: Record, event: Mapping[str, Any], again: Assignment) -> None:
    """Refuse what does not follow from the choice that was made last."""
    propensity, likeliest, possible = _of_last_choice(record.state.trial.item(0))
    said = float(event["propensity"])
    if is_by_person(event):
        rule = event["chosen"]
        # Older logs have the rule's probability where a person gave the arm that the rule chose.
        if rule != event["arm"] or said != propensity:
            _refuse_difference(event, "propensity", said, math.nan)
        if rule is None:
            return  # without a rule at hand nothing else was known
        propensity = said = 0.0
    weighed = event.get("weighed", False)
    then = (event["top"], event["chance"], weighed, event["likeliest"], event["possible"], said)
    now = (again.top, again.chance, again.weighed, likeliest, possible, propensity)
    if then != now:
        for name, one, other in zip(_CHECKED, then, now, strict=True):
            _refuse_difference(event, name, one, other)


_CHECKED = ("top", "chance", "weighed", "likeliest", "possible", "propensity")
_of_last_choice = itemgetter(*map(tuple(TRIAL.names or ()).index, ("propensity", "likeliest", "possible")))


def _refuse_difference(event: Mapping[str, Any], name: str, then: Any, now: Any) -> None:
    neither = then != then and now != now  # both are not a number
    if then != now and not neither:
        raise ReplayMismatch(f"{name} of {_named(event)} is recorded as {then}, and is {now}", hint=_HINT)


_HINT = "another version of the numerics, another policy or seed, or a log that was changed"


def _named(event: Mapping[str, Any]) -> str:
    return f"unit {event['id']}" + ("" if event.get("unit") is None else f" ({event['unit']})")


def _listed(unit: Assignment) -> str:
    # A log that was changed may have more scores than arms.
    scores = zip(unit.arms, unit.score_values.tolist(), strict=False)
    return ", ".join(f"{arm} {score!r}" for arm, score in scores)


def _check_features(before: Record, event: Mapping[str, Any]) -> None:
    again = in_due_stage(before)
    columns = again.stage.recovery.columns.tolist() if again.stage.recovery is not None else None
    if again is before or columns != event["columns"]:
        raise ReplayMismatch(
            f"features {event['columns']} were chosen before unit {before.step + 1}, and now "
            + ("none would be" if again is before else f"{columns} are")
        )
