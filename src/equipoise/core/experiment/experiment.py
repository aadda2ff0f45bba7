"""An experiment in memory: ask for an arm, tell the outcome, read the estimates.

Everything an experiment knows hangs on one attribute, a :class:`~equipoise.core.experiment.record.Record`.
How it changes, and why neither a signal nor a thread can see or leave it half-changed, is told in record.py.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from equipoise.core.arms.state import GONE, KNOWN, LOST, PENDING, REDACTED, WITHDRAWN, State
from equipoise.core.arrays import Vector
from equipoise.core.diagnosis.balance import Balance
from equipoise.core.diagnosis.guessing import Predictability, predictability_of
from equipoise.core.diagnosis.lack_of_fit import LackOfFit
from equipoise.core.diagnosis.randomisation import RandomisationTest, Statistic, randomisation_test
from equipoise.core.diagnosis.weighted import WeightedEstimates
from equipoise.core.estimates.estimates import Estimates
from equipoise.core.estimates.estimators import DEFAULT
from equipoise.core.estimates.robust import CLASSICAL
from equipoise.core.experiment import entries
from equipoise.core.experiment.asking import ask_one, ask_together
from equipoise.core.experiment.assignment import Assignment
from equipoise.core.experiment.locking import new_lock
from equipoise.core.experiment.record import Record, first_record, known_data, rows_and_outcomes, snapshot
from equipoise.core.experiment.redacting import is_redacted, redact
from equipoise.core.experiment.roster import remaining_units, spent, with_another, with_open
from equipoise.core.experiment.saved import from_data, to_data
from equipoise.core.experiment.summary import balance_record, estimate_record, fit_record, weighted_record
from equipoise.core.policies.base.policy import Policy, parse_policy
from equipoise.core.problem.inputs import checked_outcome, checked_seed
from equipoise.core.problem.problem import Problem
from equipoise.core.stages.stage import Stage
from equipoise.errors import (
    AssignmentClosed,
    AssignmentNotFound,
    InvalidArgument,
    OutcomeConflict,
    WriteInProgress,
)


class Experiment:
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

    def _begin(self, record: Record) -> None:
        self._lock = new_lock()
        # Held during a change, to tell a change within a change: both locks are the same thread's then.
        self._changing = threading.Lock()
        self._record = record

    @property
    def problem(self) -> Problem:
        """What is to be estimated; the arms that have joined are listed last."""
        return self._record.problem

    @property
    def policy(self) -> Policy:
        """Who allocates."""
        return self._record.policy

    @property
    def seed(self) -> int:
        """What decides lots and ties."""
        return self._record.seed

    # The life of a unit

    def ask(self, x: npt.ArrayLike | Mapping[str, Any]) -> Assignment:
        """Assign the next unit to an arm. ``x`` is its context: a vector, or a record of named fields."""
        context = self._record.problem.features.encode(x)
        with self._lock, self._change():
            self._record, unit = ask_one(self._record, context)
            return unit

    def ask_many(self, contexts: Any) -> list[Assignment]:
        """Assign a batch of units together, better than one by one.

        A policy that looks at contexts assigns first those whose arm is clear, and evens out with the
        rest; other policies take them as they come. Assignments come back in the order of
        ``contexts``; ids tell the order in which units were assigned.

        Parameters
        ----------
        contexts
            One row a unit: a matrix, a data frame, a list of vectors or records. If any is not valid, or the
            budget does not suffice for all, none is assigned.
        """
        batch = self._record.problem.features.encode_many(contexts)
        if not len(batch):
            return []
        with self._lock, self._change():
            self._record, units = ask_together(self._record, batch)
            return units

    def tell(self, id: int, outcome: float) -> None:
        """Record the outcome of a unit. The same value twice is accepted and ignored."""
        value = checked_outcome(outcome, self._record.problem.outcome)
        with self._lock, self._change():
            row = self._row(id)
            status = entries.tell(self._state, row, value)
            if status in KNOWN:
                known = float(self._state.outcomes[row])
                if known != value:
                    raise OutcomeConflict(
                        f"unit {id} already has outcome {known!r}, not {value!r}",
                        hint=f"to replace it call correct({id}, {value!r})",
                    )
            elif status == LOST:
                raise _refused(id, status, f"to enter its outcome after all call correct({id}, {value!r})")
            elif status != PENDING:
                raise _refused(id, status, _STAYS_OUT)

    def correct(self, id: int, outcome: float) -> None:
        """Set the outcome of a unit whatever it was: told, pending or lost; the arm is computed anew.

        Decisions and features that were chosen with the old value stay as they are.
        """
        value = checked_outcome(outcome, self._record.problem.outcome)
        with self._lock, self._change():
            status = entries.correct(self._state, self._row(id), value)
            if status in (entries.NOBODY, *GONE):
                raise _refused(id, status, _STAYS_OUT)

    def lose(self, id: int) -> None:
        """Declare that a pending outcome will never come. Its place in the budget stays used."""
        with self._lock, self._change():
            status = entries.lose(self._state, self._row(id))
            if status not in (PENDING, LOST):
                raise _refused(id, status, f"to remove a unit altogether call withdraw({id})")

    def withdraw(self, id: int) -> None:
        """Remove a unit, outcome and context, as if it had never been assigned.

        Its place in the budget stays used, and past decisions stay as they were.
        """
        with self._lock, self._change():
            status = entries.withdraw(self._state, self._row(id))
            if status in (entries.NOBODY, REDACTED):
                raise _refused(id, status)

    def redact(self, id: int) -> None:
        """Remove a unit's context and outcome for good; models and decisions to come stay as they are.

        What it gave to sums over units stays in them; where that must go, too, withdraw the unit first.
        """
        with self._lock, self._change():
            row = self._row(id)
            if row >= self._record.step:
                raise _refused(id, entries.NOBODY)
            if not is_redacted(self._record, row):
                self._record, _ = redact(self._record, [row])

    # The arms

    def close_arm(self, arm: str) -> None:
        """Give the arm no further units; it stays in the estimates, and its floor no longer counts."""
        with self._lock, self._change():
            self._record = with_open(self._record, arm, False)

    def reopen_arm(self, arm: str) -> None:
        """Let a closed arm get units again, under its floor and cap as before.

        Nothing was kept for it meanwhile: if what is left no longer pays for every open arm's floor,
        floors are filled as far as it goes.
        """
        with self._lock, self._change():
            self._record = with_open(self._record, arm, True)

    def add_arm(
        self, arm: str, *, weight: float = 1.0, cost: float = 1.0, floor: int = 0, cap: int | None = None
    ) -> None:
        """Let a new arm join; what is left of the budget must pay for its start of d + 1 units, or its floor.

        Where features are chosen first, the start are the units that choosing them and fitting them takes.

        Past decisions stay as they were. ``problem`` then lists the arm last.
        """
        with self._lock, self._change():
            self._record = with_another(self._record, arm, weight=weight, cost=cost, floor=floor, cap=cap)

    # What is known

    def estimates(
        self,
        *,
        estimator: str = DEFAULT,
        ridge: float | None = None,
        confidence: float = 0.95,
        intervals: str = CLASSICAL,
    ) -> Estimates:
        """Models of all arms with intervals and errors.

        Other threads can go on meanwhile: estimates are of the moment of the call.

        Parameters
        ----------
        estimator
            How coefficients are estimated: shrunk as far as the data justify, ``"pooled"`` towards
            what the arms have in common, ``"empirical-bayes"`` towards 0 or ``"leave-one-out"``; or
            ``"ridge"`` with one λ for all arms.
        ridge
            That λ; None: 1/n.
        confidence
            Chance with which each interval covers the truth.
        intervals
            ``"classical"``, or ``"robust"`` where the noise may depend on the context, as it does with yes/no
            outcomes and counts; these are wider.
        """
        return estimate_record(
            self._snapshot(), estimator=estimator, ridge=ridge, confidence=confidence, intervals=intervals
        )

    def balance(self) -> Balance:
        """The contexts that every arm got, against those of all units."""
        return balance_record(self._snapshot())

    def lack_of_fit(self) -> LackOfFit:
        """Whether outcomes are linear in the features, by a test that adaptive allocation leaves valid."""
        return fit_record(self._snapshot())

    def weighted_estimates(self, *, confidence: float = 0.95) -> WeightedEstimates:
        """Best linear fits by logged propensities, right whatever the truth; for policies that draw lots."""
        return weighted_record(self._snapshot(), confidence)

    def randomisation_test(
        self, *, draws: int = 1000, seed: int = 0, statistic: Statistic | None = None
    ) -> RandomisationTest:
        """Test whether arms differ at all, by replaying the rule over redrawn lots; for policies that draw.

        ``statistic(arms, outcomes, contexts)`` is a number that is large where arms differ; arms are places
        in the problem. Unless given, the largest standardised difference of two arms' mean residuals from
        one common line.
        """
        return randomisation_test(self._snapshot().stage, draws=draws, seed=seed, statistic=statistic)

    def predictability(self) -> Predictability:
        """How well the next arm could be guessed, by who knows the rule and by who knows past arms."""
        record = self._snapshot()
        return predictability_of(record.state.rows, len(record.problem.arms))

    @property
    def support(self) -> tuple[int, ...] | None:
        """Features that the models have, counted from 0; None while they are yet to be chosen."""
        stage = self._record.stage
        return tuple(stage.columns.tolist()) if stage.chosen else None

    @property
    def asked(self) -> int:
        """Units assigned so far."""
        with self._lock:
            return self._record.step

    @property
    def remaining(self) -> int:
        """Most units that can still be assigned: 0 when ``ask`` would raise, and not before.

        Without costs, caps and closed arms these are the units left in the budget.
        """
        with self._lock:
            return remaining_units(self._record)

    @property
    def spent(self) -> float:
        """What the units assigned so far have cost, lost and withdrawn ones included."""
        with self._lock:
            return spent(self._record)

    @property
    def closed_arms(self) -> tuple[str, ...]:
        """Arms that get no further units."""
        with self._lock:
            record = self._record
            return tuple(record.problem.arms[i] for i in np.flatnonzero(record.state.arms["open"] == 0))

    @property
    def pending(self) -> list[int]:
        """Ids of units whose outcome is awaited."""
        with self._lock:
            rows, _ = rows_and_outcomes(self._record)
        return [int(row) + 1 for row in np.flatnonzero(rows["status"] == PENDING)]

    @property
    def counts(self) -> dict[str, int]:
        """Units an arm that count: assigned, neither lost nor withdrawn."""
        with self._lock:
            record = self._record
            arms = record.state.arms.copy()
        return dict(zip(record.problem.arms, (arms["count"] + arms["set_aside"]).tolist(), strict=True))

    def data(self, arm: str) -> tuple[npt.NDArray[np.float64], Vector]:
        """Contexts and outcomes known of one arm, in the order of assignment."""
        with self._lock:
            return known_data(self._record, arm)

    def __repr__(self) -> str:
        record = self._snapshot()
        arms = record.state.arms
        told = np.sum(arms["observed"] + arms["set_aside"])
        return (
            f"Experiment(policy={record.policy.label!r}, seed={record.seed}, asked={record.step}, "
            f"told={told}, pending={arms['pending'].sum()}, remaining={remaining_units(record)})"
        )

    # Copies and pickles: nothing is shared, and what comes from disk is checked, see saved.py

    def __getstate__(self) -> dict[str, Any]:
        record = self._snapshot()
        rest = {name: value for name, value in vars(self).items() if name not in _OWN}
        return {**to_data(record), "attributes": rest}

    def __setstate__(self, data: dict[str, Any]) -> None:
        record = from_data(data)
        vars(self).update(data.get("attributes", {}))
        self._begin(record)

    # Helpers

    def _snapshot(self) -> Record:
        with self._lock:
            return snapshot(self._record)

    @property
    def _stage(self) -> Stage:
        return self._record.stage

    @property
    def _state(self) -> State:
        return self._record.stage.state

    def _change(self) -> Any:
        """What to hold during a change. Only this thread can have it already, as it has the other lock."""
        if self._changing.locked():
            raise WriteInProgress(
                "the experiment is in the middle of a change that this call has interrupted",
                hint="in a signal handler only read; note what is to be told, and tell it afterwards",
            )
        return self._changing

    def _row(self, id: int) -> int:
        """Row of a unit, if there is one: whether somebody was assigned to it is seen by the entry."""
        if (
            isinstance(id, bool)
            or not isinstance(id, int | np.integer)
            or not 1 <= id <= len(self._state.rows)
        ):
            raise _refused(id, entries.NOBODY)
        return int(id) - 1


_STAYS_OUT = "withdrawn units stay out; leave the outcome out, or ask for the unit again as a new one"
_OWN = ("_lock", "_changing", "_record")


def _refused(id: int, status: int, hint: str = "") -> AssignmentNotFound | AssignmentClosed:
    """Why an entry about a unit is refused."""
    if status == entries.NOBODY:
        return AssignmentNotFound(f"no unit was assigned under id {id!r}", hint="ids come from ask(x).id")
    words = {LOST: "was declared lost", WITHDRAWN: "was withdrawn", REDACTED: "was redacted"}
    hint = "nothing can be entered about it any more" if status == REDACTED else hint
    return AssignmentClosed(f"unit {id} {words.get(status, 'already has an outcome')}", hint=hint)
