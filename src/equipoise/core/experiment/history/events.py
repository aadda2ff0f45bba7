"""Events: what happened to an experiment, as plain data.

An event is a dictionary of plain values with a ``kind``. What JSON cannot hold is a word: ``"inf"``,
``"-inf"``, ``"nan"``. Fields that say nothing are left out.

=====================  ===================================================================================
``created``            problem, policy, source, traits, seed
``asked``              id, unit, x, given, arm, top, scores, chance, weighed, propensity, likeliest, possible,
                       eligible; chosen where a person gave the arm: what the rule said
``asked_together``     the same, and first, size, place: the first id of the batch, its units, the place of
                       this one in the list that was given
``told``               id, unit, outcome
``corrected``          id, unit, outcome
``lost``, ``withdrawn``  id, unit
``received``           id, unit, arm
``arm_closed``, ``arm_reopened``  arm
``arm_added``          arm, weight, cost, floor, cap
``features_chosen``    columns, recovery, held
``budget_changed``     budget
``paused``, ``resumed``
``note``               text, unit
``redacted``           ids, rows, frozen; see redacting.py
=====================  ===================================================================================

Who reads a log may add ``numerics`` to an event, of the program that wrote it, for deciding anew.

Of an event whose data were erased, when its unit was redacted, the kind is left and nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from equipoise.core.arms.state import ROW
from equipoise.core.experiment.assignment import Assignment
from equipoise.core.experiment.record import Record
from equipoise.core.plain import from_plain, to_plain
from equipoise.core.policies.base.absent import policy_source, policy_traits
from equipoise.core.sparse import Recovery
from equipoise.core.sparse.path import Entry
from equipoise.core.stages.stage import Choice

Event = dict[str, Any]

ASKED = ("asked", "asked_together")
ENTERED = ("told", "corrected", "lost", "withdrawn", "received")
KINDS = (
    *("created", *ASKED, "told", "corrected", "lost", "withdrawn", "received", "arm_closed", "arm_reopened"),
    *("arm_added", "features_chosen", "budget_changed", "paused", "resumed", "note", "redacted"),
    "restored",
)


# A row as a tuple of Python's own numbers is read several times as fast as field by field.
_probabilities = itemgetter(*map(tuple(ROW.names or ()).index, ("propensity", "likeliest", "possible")))


def is_erased(event: Mapping[str, Any]) -> bool:
    """Whether only the kind is left of an event that told of units."""
    return len(event) == 1 and event.get("kind") in (*ASKED, *ENTERED, "redacted", "note")


def is_by_person(event: Mapping[str, Any]) -> bool:
    """Whether a person gave the arm of a unit that was asked for."""
    return "chosen" in event


def created(record: Record) -> Event:
    """How an experiment began."""
    return {
        "kind": "created",
        "problem": record.problem.to_dict(),
        "policy": record.policy.to_dict(),
        "source": policy_source(record.policy),
        "traits": policy_traits(record.policy),
        "seed": record.seed,
    }


def asked(record: Record, unit: Assignment, given: Any = None) -> Event:
    """One unit that was assigned, in the record that holds it, by the rule or by a person."""
    row = unit.id - 1
    propensity, likeliest, possible = _probabilities(record.state.rows.item(row))
    event: Event = {
        "kind": "asked",
        "id": unit.id,
        "x": record.contexts[row].tolist(),
        "arm": unit.arm,
        "top": unit.top,
        "scores": plain_numbers(unit.score_values),
        "chance": unit.chance,
        "propensity": propensity if math.isfinite(propensity) else to_plain(propensity),
        "likeliest": likeliest,
        "possible": possible,
    }
    if unit.unit is not None:
        event["unit"] = unit.unit
    if given is not None:
        event["given"] = given
    if unit.weighed:
        event["weighed"] = True
    if unit.given_by_person:
        event["chosen"] = unit.chosen
    if unit.eligible is not None:
        event["eligible"] = list(unit.eligible)
    return event


def asked_together(record: Record, units: Sequence[Assignment], given: Sequence[Any]) -> list[Event]:
    """Units that were assigned together, in the order in which they were."""
    first = min(unit.id for unit in units)
    events = []
    for place in sorted(range(len(units)), key=lambda place: units[place].id):
        event = asked(record, units[place], given[place])
        event |= {"kind": "asked_together", "first": first, "size": len(units), "place": place}
        events.append(event)
    return events


def entered(kind: str, id: int, key: str | None, **values: Any) -> Event:
    """Something that was entered about a unit."""
    event = {"kind": kind, "id": id, **values}
    if key is not None:
        event["unit"] = key
    return event


def features_chosen(record: Record) -> Event:
    """The choice of features that a stage rests on."""
    stage = record.stage
    recovery = stage.recovery
    assert recovery is not None
    return {
        "kind": "features_chosen",
        "columns": recovery.columns.tolist(),
        "recovery": {
            "entered": [list(to_plain(tuple(entry))) for entry in recovery.entered],
            "penalty": to_plain(recovery.penalty),
            "criterion": recovery.criterion,
            "left_out": recovery.left_out.tolist(),
            "noise": plain_numbers(recovery.noise),
            "own": [columns.tolist() for columns in recovery.own],
        },
        "held": None if stage.held is None else stage.held.tolist(),
    }


def recorded_choice(event: Mapping[str, Any]) -> Choice:
    """The choice of features that an event tells of."""
    plain, held = event["recovery"], event["held"]
    recovery = Recovery(
        columns=_whole(event["columns"]),
        entered=tuple(Entry(*from_plain(entry)) for entry in plain["entered"]),
        penalty=float(from_plain(plain["penalty"])),
        criterion=plain["criterion"],
        left_out=_whole(plain["left_out"]),
        noise=numbers(plain["noise"]),
        own=tuple(map(_whole, plain["own"])),
    )
    return Choice(recovery, None if held is None else _whole(held))


def assignment_of(event: Mapping[str, Any], arms: Sequence[str]) -> Assignment:
    """The assignment that an event tells of; ``arms`` are those of the experiment, whenever they joined."""
    scores = numbers(event["scores"])
    eligible = event.get("eligible")
    return Assignment(
        id=event["id"],
        unit=event.get("unit"),
        arm=event["arm"],
        arms=tuple(arms[: len(scores)]),
        score_values=scores,
        top=event["top"],
        chance=event["chance"],
        weighed=event.get("weighed", False),
        chosen=event.get("chosen", event["arm"]),
        eligible=None if eligible is None else tuple(eligible),
        given_by_person=is_by_person(event),
    )


def plain_numbers(values: Any) -> list[Any]:
    """Numbers as plain data."""
    listed: list[Any] = values.tolist()
    return listed if all(map(math.isfinite, listed)) else [to_plain(value) for value in listed]


def numbers(values: Sequence[Any]) -> Any:
    """The numbers that plain data stand for."""
    return np.array(values, dtype=float)  # which reads "inf" and "nan" as well


def _whole(values: Sequence[int]) -> Any:
    return np.array(values, dtype=np.int64)
