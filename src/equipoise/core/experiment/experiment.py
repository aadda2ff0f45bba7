"""An experiment in memory: ask for an arm, tell the outcome, read the estimates.

Everything an experiment knows hangs on one attribute, a :class:`~equipoise.core.experiment.record.Record`.
How it changes, and why neither a signal nor a thread can see or leave it half-changed, is told in record.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from equipoise.core.arms.state import GONE, KNOWN, LOST, PENDING, REDACTED, WITHDRAWN
from equipoise.core.experiment.asking import ask_one, ask_together, in_due_stage
from equipoise.core.experiment.assignment import Assignment
from equipoise.core.experiment.entering import entries
from equipoise.core.experiment.entering.refusals import STAYS_OUT, not_pending, refused
from equipoise.core.experiment.entering.together import TogetherEntries
from equipoise.core.experiment.entering.treated import as_treated
from equipoise.core.experiment.given import ask_with_arms, checked_arms
from equipoise.core.experiment.history import events
from equipoise.core.experiment.history.redacting import is_redacted, redact
from equipoise.core.experiment.reading import not_found
from equipoise.core.experiment.record import first_record
from equipoise.core.experiment.roster import with_another, with_budget, with_open
from equipoise.core.experiment.units.arriving import Newcomer, arrival_at, arrivals_at, check_again, newcomers
from equipoise.core.experiment.units.unit import assignment_again
from equipoise.core.policies.base.policy import Policy, parse_policy
from equipoise.core.problem.inputs import checked_outcome, checked_seed, checked_text
from equipoise.core.problem.problem import Problem
from equipoise.errors import InvalidArgument, OutcomeConflict


class Experiment(TogetherEntries):
    """Allocates the units of one problem with one policy.

    The same contexts, outcomes and seed give the same arms, bit for bit. Every method does its whole work or
    none of it, also if a signal interrupts it; after an ``ask`` without an answer ``pending`` tells whether a
    unit was assigned. Threads may share an experiment. What is read changes nothing.

    Parameters
    ----------
    problem
        What is to be estimated.
    policy
        A policy, or its text form such as ``"trace-ucb:width=0.5"``; ``"trace-gain"`` unless given.
    seed
        Decides what is drawn by lot, and which arm goes first when scores and pulls tie. The order
        depends on the names of the arms, not on their places in the list.

    Examples
    --------
    >>> import numpy as np
    >>> import equipoise as eq
    >>> problem = eq.Problem(arms=["placebo", "drug"], dim=2, budget=20, moment=np.eye(2))
    >>> experiment = eq.Experiment(problem, policy=eq.TraceUCB(), seed=7)
    >>> rng = np.random.default_rng(1)
    >>> while experiment.remaining:
    ...     x = rng.normal(size=2)
    ...     assignment = experiment.ask(x)
    ...     experiment.tell(assignment.id, float(x.sum() + rng.normal()))
    >>> experiment
    Experiment(policy='trace-ucb', seed=7, asked=20, told=20, pending=0, remaining=0)
    """

    def __init__(self, problem: Problem, policy: Policy | str = "trace-gain", seed: int = 0) -> None:
        if not isinstance(problem, Problem):
            raise InvalidArgument(f"{problem!r} is not a Problem", hint="build one with eq.Problem(...)")
        self._begin(first_record(problem, parse_policy(policy), checked_seed(seed)))

    # The life of a unit

    def ask(
        self,
        x: npt.ArrayLike | Mapping[str, Any],
        unit: str | None = None,
        *,
        arm: str | None = None,
        arms: Sequence[str] | None = None,
        reason: str | None = None,
    ) -> Assignment:
        """Assign a unit to an arm.

        Parameters
        ----------
        x
            Its context: a vector, or a record of named fields.
        unit
            A key of its own, such as ``"P-017"``. Asking again gives the same assignment; with another
            context, or for another arm, it is an error.
        arm
            The arm that a person gives it: history from before, or a decision against the rule.
        arms
            The arms that it may go to; all unless given.
        reason
            Why a person decides; experiments in memory do not keep it.
        """
        newcomer = Newcomer.of(self._record.problem.features, x, unit)
        with self._lock, self._change():
            record, key = self._record, newcomer.key
            row = None if key is None else record.book.row_of(key, record.step)
            if row is not None:
                return self._again(row, newcomer, arm)
            arrival = arrival_at(record, newcomer, arm, arms)
            due = record if arm is not None else in_due_stage(record)
            self._record, assignment = ask_one(due, arrival)
            if self._events is not None:
                new = [events.features_chosen(self._record)] if due is not record else []
                self._events.extend([*new, events.asked(self._record, assignment, arrival.given)])
            return assignment

    def ask_many(
        self,
        contexts: Any,
        units: Sequence[str | None] | None = None,
        *,
        arms: Sequence[str] | None = None,
        given_arms: Sequence[str] | None = None,
        reason: str | None = None,
    ) -> list[Assignment]:
        """Assign a batch of units together, better than one by one.

        A policy that looks at contexts assigns first those whose arm is clear, and evens out with the
        rest; other policies take them as they come. Assignments come back in the order of
        ``contexts``; ids tell the order in which units were assigned.

        Parameters
        ----------
        contexts
            One row a unit: a matrix, a data frame, a list of vectors or records. If any is not valid, or the
            budget does not suffice for all, none is assigned.
        units
            Their keys. Units that are known already get the assignment that they have.
        arms
            The arms that they may go to; all unless given.
        given_arms
            The arm that a person gives each of them: history from before. They are taken in their order.
        reason
            Why a person decides; experiments in memory do not keep it.
        """
        listed = newcomers(self._record.problem.features, contexts, units)
        told = [None] * len(listed) if given_arms is None else checked_arms(given_arms, arms, len(listed))
        with self._lock, self._change():
            book, step = self._record.book, self._record.step
            rows = [None if key is None else book.row_of(key, step) for _, key, _ in listed]
            known = {
                place: self._again(row, listed[place], told[place])
                for place, row in enumerate(rows)
                if row is not None
            }
            strangers = [newcomer for newcomer, row in zip(listed, rows, strict=True) if row is None]
            assigned: list[Assignment] = []
            if strangers and given_arms is not None:
                meant = [arm for arm, row in zip(told, rows, strict=True) if row is None]
                self._record, assigned = ask_with_arms(self._record, strangers, meant)
                if self._events is not None:
                    self._events.extend(
                        [
                            events.asked(self._record, unit, newcomer.given)
                            for unit, newcomer in zip(assigned, strangers, strict=True)
                        ]
                    )
            elif strangers:
                new = arrivals_at(self._record, strangers, arms)
                self._record, assigned, begun = ask_together(self._record, new)
                if self._events is not None:
                    given = [arrival.given for arrival in new]
                    made = events.asked_together(self._record, assigned, given)
                    if begun is not None:
                        made.insert(begun, events.features_chosen(self._record))
                    self._events.extend(made)
            rest = iter(assigned)
            return [known[place] if place in known else next(rest) for place in range(len(listed))]

    def tell(self, unit: str | int, outcome: float) -> None:
        """Record the outcome of a unit, by key or id. The same value twice is accepted and ignored.

        An outcome that comes after it was declared lost brings the unit back.
        """
        with self._lock, self._change():
            record = self._record
            value = checked_outcome(outcome, record.problem.outcome)
            row = self._row(unit)
            status = entries.tell(record.gathered, row, value)
            if status in _AWAITED:
                self._entered("told", row, outcome=value)
            else:
                self._check_told(unit, row, status, value)

    def tell_many(self, outcomes: Mapping[Any, float] | Iterable[tuple[str | int, float]]) -> int:
        """Record many outcomes: all of them, or none if one cannot be. How many were new."""
        pairs = list(outcomes.items() if isinstance(outcomes, Mapping) else outcomes)
        with self._lock, self._change():
            new: dict[int, float] = {}
            field, statuses = self._record.problem.outcome, self._state.rows["status"]
            for unit, outcome in pairs:
                value, row = checked_outcome(outcome, field), self._row(unit)
                status = statuses.item(row)
                if status not in _AWAITED:
                    self._check_told(unit, row, status, value)
                elif new.setdefault(row, value) != value:
                    raise OutcomeConflict(
                        f"unit {unit!r} has two outcomes here, {new[row]!r} and {value!r}",
                        hint="tell it one of them",
                    )
            rows = np.array(list(new), dtype=np.int64)
            entries.tell_all(self._state, rows, np.array(list(new.values()), dtype=float))
            for row, value in new.items():
                self._entered("told", row, outcome=value)
        return len(new)

    def correct(self, unit: str | int, outcome: float, reason: str | None = None) -> None:
        """Set the outcome of a unit whatever it was: told, pending or lost; the arm is computed anew.

        Decisions and features that were chosen with the old value stay as they are.
        """
        with self._lock, self._change():
            value = checked_outcome(outcome, self._record.problem.outcome)
            row = self._row(unit)
            line = self._state.rows[row]
            if row < self._record.step and line["status"] in KNOWN and self._state.outcomes[row] == value:
                return  # nothing is computed anew, as nothing has happened
            status = entries.correct(self._state, row, value)
            if status in (entries.NOBODY, *GONE):
                raise refused(unit, status, STAYS_OUT)
            self._entered("corrected", row, outcome=value)

    def lose(self, unit: str | int, reason: str | None = None) -> None:
        """Declare that a pending outcome will never come. Its place in the budget stays used."""
        with self._lock, self._change():
            row = self._row(unit)
            status = entries.lose(self._state, row)
            if status not in (PENDING, LOST):
                raise not_pending(unit, status)
            if status == PENDING:
                self._entered("lost", row)

    def withdraw(self, unit: str | int, reason: str | None = None) -> None:
        """Remove a unit, outcome and context, as if it had never been assigned.

        Its place in the budget stays used, and past decisions stay as they were.
        """
        with self._lock, self._change():
            row = self._row(unit)
            status = entries.withdraw(self._state, row)
            if status in (entries.NOBODY, REDACTED):
                raise refused(unit, status)
            if status != WITHDRAWN:
                self._entered("withdrawn", row)

    def redact(self, unit: str | int, reason: str | None = None) -> None:
        """Remove a unit's context, outcome and key for good; models and decisions to come stay as they are.

        What it gave to sums over units stays in them; where that must go, too, withdraw the unit first.
        """
        with self._lock, self._change():
            row = self._row(unit)
            if row >= self._record.step:
                raise not_found(unit)
            if not is_redacted(self._record, row):
                self._record, told = redact(self._record, [row])
                self._note("redacted", **told)

    def received(self, unit: str | int, arm: str, reason: str | None = None) -> None:
        """Note that a unit received another arm than it was assigned to: it counts where it was treated.

        Reports show both. Past decisions stay as they were.
        """
        with self._lock, self._change():
            row, i = self._row(unit), self._record.problem.index(arm)
            if row >= self._record.step:
                raise not_found(unit)
            line = self._state.rows[row]
            if line["status"] in GONE:
                raise refused(unit, int(line["status"]), "withdrawn units stay out")
            if line["arm"] != i:
                self._record = as_treated(self._record, row, i)
                self._entered("received", row, arm=arm)

    # The arms and the budget

    def close_arm(self, arm: str, reason: str | None = None) -> None:
        """Give the arm no further units; it stays in the estimates, and its floor no longer counts."""
        self._open(arm, False)

    def reopen_arm(self, arm: str, reason: str | None = None) -> None:
        """Let a closed arm get units again, under its floor and cap as before.

        Nothing was kept for it meanwhile: if what is left no longer pays for every open arm's floor,
        floors are filled as far as it goes.
        """
        self._open(arm, True)

    def add_arm(
        self,
        arm: str,
        *,
        weight: float = 1.0,
        cost: float = 1.0,
        floor: int = 0,
        cap: int | None = None,
        reason: str | None = None,
    ) -> None:
        """Let a new arm join; what is left of the budget must pay for its start of d + 1 units, or its floor.

        Where features are chosen first, the start are the units that choosing them and fitting them takes.

        Past decisions stay as they were. ``problem`` then lists the arm last.
        """
        with self._lock, self._change():
            terms: dict[str, Any] = {"weight": weight, "cost": cost, "floor": floor, "cap": cap}
            self._record = with_another(self._record, arm, **terms)
            problem = self._record.problem
            most = problem.caps[-1]
            self._note(
                "arm_added",
                arm=arm,
                weight=float(problem.weights[-1]),
                cost=float(problem.costs[-1]),
                floor=int(problem.floors[-1]),
                cap=None if np.isinf(most) else int(most),
            )

    def change_budget(self, budget: float, reason: str | None = None) -> None:
        """Go on with another budget, in all; it must pay for the units assigned so far."""
        with self._lock, self._change():
            if budget != self._record.problem.budget:
                self._record = with_budget(self._record, budget)
                self._note("budget_changed", budget=self._record.problem.budget)

    def pause(self, reason: str | None = None) -> None:
        """Assign no unit until :meth:`resume`; outcomes are taken as before."""
        self._pause(True)

    def resume(self, reason: str | None = None) -> None:
        """Assign units again."""
        self._pause(False)

    def note(self, text: str, unit: str | int | None = None) -> None:
        """A remark for the log, about a unit or about all; experiments in memory do not keep it."""
        text = checked_text(text, "a remark")
        with self._lock, self._change():
            if unit is None:
                self._note("note", text=text)
            else:
                row = self._row(unit)
                if row >= self._record.step:
                    raise not_found(unit)
                self._entered("note", row, text=text)

    # Helpers

    def _again(self, row: int, newcomer: Newcomer, arm: str | None) -> Assignment:
        check_again(self._record, row, newcomer, arm)
        return assignment_again(self._record, row)

    def _check_told(self, unit: str | int, row: int, status: int, value: float) -> None:
        """Refuse an outcome of a unit that awaits none, unless it is the one that it has."""
        known = float(self._state.outcomes[row])
        if status in KNOWN and known != value:
            raise OutcomeConflict(
                f"unit {unit} already has outcome {known!r}, not {value!r}",
                hint=f"to replace it call correct({unit!r}, {value!r})",
            )
        if status not in KNOWN:
            raise refused(unit, status, STAYS_OUT)

    def _open(self, arm: str, is_open: bool) -> None:
        with self._lock, self._change():
            i = self._record.problem.index(arm)
            if bool(self._state.arms["open"][i]) != is_open:
                self._record = with_open(self._record, arm, is_open)
                self._note("arm_reopened" if is_open else "arm_closed", arm=arm)

    def _pause(self, paused: bool) -> None:
        with self._lock, self._change():
            if self._record.paused != paused:
                self._record = replace(self._record, paused=paused)
                self._note("paused" if paused else "resumed")


_AWAITED = (PENDING, LOST)
