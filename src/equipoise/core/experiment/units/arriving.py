"""Units that arrive: their contexts, keys and arms, checked before anything changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from equipoise.core.arithmetic.sums import exact_sum
from equipoise.core.arms.state import WITHDRAWN
from equipoise.core.arrays import Counts, Vector
from equipoise.core.choice.decide import CHOOSE
from equipoise.core.experiment.admission import ALL_ARMS, NOT_RECORDED
from equipoise.core.experiment.asking import Arrival, eligible_arms
from equipoise.core.experiment.record import Record
from equipoise.core.experiment.units.keys import checked_key, plain_record
from equipoise.core.policies.base.absent import AbsentPolicy
from equipoise.core.problem.costs import covers
from equipoise.core.problem.features.contexts import Contexts
from equipoise.core.problem.features.records import as_records
from equipoise.errors import (
    AssignmentClosed,
    ExperimentPaused,
    InvalidArgument,
    NoArmLeft,
    UnitConflict,
)
from equipoise.words import counted


class Newcomer(NamedTuple):
    """A unit as it was given, encoded."""

    context: Vector
    key: str | None
    given: dict[str, Any] | None

    @classmethod
    def of(cls, features: Contexts, x: Any, unit: Any) -> Newcomer:
        """From a context and a key as people give them."""
        return cls(features.encode(x), checked_key(unit), plain_record(x))


def newcomers(features: Contexts, contexts: Any, units: Sequence[str | None] | None) -> list[Newcomer]:
    """Many of them, if contexts and keys are as many and no key comes twice."""
    if isinstance(contexts, Iterator):
        contexts = list(contexts)  # gone through twice
    batch = features.encode_many(contexts)
    if isinstance(units, str):
        raise InvalidArgument(f"units={units!r} is one key", hint="give a list, one key a context")
    keys = [None] * len(batch) if units is None else [checked_key(unit) for unit in units]
    if len(keys) != len(batch):
        raise InvalidArgument(f"{len(keys)} keys for {len(batch)} contexts", hint="give one key a context")
    named = [key for key in keys if key is not None]
    if len({*named}) < len(named):
        twice = next(key for place, key in enumerate(named) if key in named[:place])
        raise UnitConflict(
            f"unit {twice!r} stands in the batch twice", hint="give every unit a key of its own"
        )
    # A matrix has no words worth keeping.
    records = (
        [None] * len(batch) if isinstance(contexts, np.ndarray) else list(map(plain_record, _rows(contexts)))
    )
    return [Newcomer(*parts) for parts in zip(batch, keys, records, strict=True)]


def _rows(contexts: Any) -> Any:
    table = hasattr(contexts, "columns") or hasattr(contexts, "to_pylist") or hasattr(contexts, "items")
    return as_records(contexts) if table else contexts


def arrival_at(record: Record, newcomer: Newcomer, arm: str | None, arms: Sequence[str] | None) -> Arrival:
    """What asks a record for an arm, if it may."""
    return Arrival(*newcomer, *_terms(record, arm, arms), by_person=arm is not None)


def arrivals_at(record: Record, batch: Sequence[Newcomer], arms: Sequence[str] | None) -> list[Arrival]:
    """Many that ask together."""
    terms = _terms(record, None, arms)
    return [Arrival(*newcomer, *terms) for newcomer in batch]


def _terms(record: Record, arm: str | None, arms: Sequence[str] | None) -> tuple[int, Counts, Vector]:
    """Which arm a unit is given, which it may go to, and what is known of the choice."""
    policy = record.policy
    if record.paused:
        raise ExperimentPaused("the experiment is paused", hint="resume() it before asking")
    if arm is not None and arms is not None:
        raise InvalidArgument("arm and arms are both given", hint="give the one arm, or those it may go to")
    if arm is not None:
        told = _given_arm(record, arm)
        # Without the rule nobody knows what it would have done.
        unknown = isinstance(policy, AbsentPolicy)
        return told, ALL_ARMS, np.array([np.nan, 1.0, 1.0, told]) if unknown else NOT_RECORDED
    if isinstance(policy, AbsentPolicy):
        raise policy.refuse()
    if arms is None:
        return CHOOSE, ALL_ARMS, NOT_RECORDED
    if isinstance(arms, str) or not len(arms):
        raise InvalidArgument(f"arms={arms!r} is not a list of arms", hint="e.g. arms=['a', 'b']")
    return CHOOSE, eligible_arms(record.problem, arms), NOT_RECORDED


def _given_arm(record: Record, arm: str) -> int:
    """The place of an arm that a person gives, if it takes units."""
    problem, state = record.problem, record.state
    i = problem.index(arm)
    line = state.arms[i]
    if not line["open"]:
        raise NoArmLeft(f"arm {arm!r} is closed", hint=f"reopen_arm({arm!r}) first")
    if line["assigned"] >= line["cap"]:
        raise NoArmLeft(
            f"arm {arm!r} is at its cap of {counted(int(line['cap']), 'unit')}", hint="give another arm"
        )
    left = problem.budget - exact_sum(problem.costs * state.arms["assigned"])
    if not covers(left, float(problem.costs[i])):
        raise NoArmLeft(f"{left:.10g} of the budget is left, and a unit of {arm!r} costs more")
    return i


def check_again(record: Record, row: int, newcomer: Newcomer, arm: str | None) -> None:
    """Refuse a unit that is asked for again as somebody else."""
    key, line = newcomer.key, record.state.rows[row]
    if line["status"] == WITHDRAWN:
        raise AssignmentClosed(
            f"unit {key!r} was withdrawn", hint="withdrawn units stay out; a new unit has a key of its own"
        )
    if not np.array_equal(record.contexts[row], newcomer.context):
        differs = np.flatnonzero(record.contexts[row] != newcomer.context)
        names = ", ".join(record.problem.feature_names[j] for j in differs[:5])
        raise UnitConflict(
            f"unit {key!r} was asked for with another context: it differs in {names}",
            hint="a key belongs to one unit; correct the context, or use another key",
        )
    meant = record.problem.arms[int(line["meant"])]
    if arm is not None and arm != meant:
        raise UnitConflict(
            f"unit {key!r} is assigned to {meant!r}, not to {arm!r}",
            hint=f"if it was treated with another arm call received({key!r}, {arm!r})",
        )
