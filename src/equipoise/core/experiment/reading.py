"""What can be read of an experiment, in memory or stored; reading changes nothing.

Estimates and diagnoses are imported when they are asked for: a process that only asks or tells needs none.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from equipoise.core.arithmetic.sums import exact_sum
from equipoise.core.arms.state import KNOWN, PENDING
from equipoise.core.arrays import Vector
from equipoise.core.estimates.defaults import CLASSICAL, DEFAULT
from equipoise.core.experiment.record import Record, known_data, rows_and_outcomes, snapshot
from equipoise.core.experiment.roster import remaining_units, spent
from equipoise.core.experiment.units.allocation import Allocation, allocation_of
from equipoise.core.experiment.units.keys import as_key
from equipoise.core.experiment.units.table import unit_table
from equipoise.core.experiment.units.unit import Unit, unit_of
from equipoise.core.policies.base.policy import Policy
from equipoise.core.problem.problem import Problem
from equipoise.errors import AssignmentNotFound

if TYPE_CHECKING:
    from equipoise.core.diagnosis.balance import Balance
    from equipoise.core.diagnosis.guessing import Predictability
    from equipoise.core.diagnosis.lack_of_fit import LackOfFit
    from equipoise.core.diagnosis.periods import Period
    from equipoise.core.diagnosis.randomisation import RandomisationTest, Statistic
    from equipoise.core.diagnosis.time_trend import TimeTrends
    from equipoise.core.diagnosis.weighted import WeightedEstimates
    from equipoise.core.estimates.estimates import Estimates
    from equipoise.core.experiment.experiment import Experiment
    from equipoise.core.tables.tidy import TidyTable


class ExperimentReader:
    """Everything about an experiment that only reads.

    Who derives from it says what the record is at this moment, and has the lock that changes are made under.
    """

    _lock: Any

    @abstractmethod
    def _current(self) -> Record:
        """The record as it is now; the lock is held."""

    @abstractmethod
    def in_memory(self) -> Experiment:
        """A copy of its own, in memory, as it is now."""

    @property
    def problem(self) -> Problem:
        """What is to be estimated; the arms that have joined are listed last."""
        with self._lock:
            return self._current().problem

    @property
    def policy(self) -> Policy:
        """Who allocates."""
        with self._lock:
            return self._current().policy

    @property
    def seed(self) -> int:
        """What decides lots and ties."""
        with self._lock:
            return self._current().seed

    @property
    def paused(self) -> bool:
        """Whether no unit is assigned for the time being."""
        with self._lock:
            return self._current().paused

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
        from equipoise.core.experiment.summary import estimate_record

        return estimate_record(
            self._snapshot(), estimator=estimator, ridge=ridge, confidence=confidence, intervals=intervals
        )

    def balance(self) -> Balance:
        """The contexts that every arm got, against those of all units."""
        from equipoise.core.experiment.summary import balance_record

        return balance_record(self._snapshot())

    def lack_of_fit(self) -> LackOfFit:
        """Whether outcomes are linear in the features, by a test that adaptive allocation leaves valid."""
        from equipoise.core.experiment.summary import fit_record

        return fit_record(self._snapshot())

    def time_trends(self, *, confidence: float = 0.95) -> TimeTrends:
        """Whether outcomes drift while units come in, in every arm and in all of them."""
        from equipoise.core.estimates.intervals import check_confidence
        from equipoise.core.experiment.summary import trend_record

        check_confidence(confidence)
        return trend_record(self._snapshot(), confidence)

    def balance_by_period(self, periods: int = 4) -> list[Period]:
        """Balance over time: contexts of every period against all, and of every arm within its period."""
        from equipoise.core.experiment.summary import period_record

        return period_record(self._snapshot(), periods)

    def weighted_estimates(self, *, confidence: float = 0.95) -> WeightedEstimates:
        """Best linear fits by logged propensities, right whatever the truth; for policies that draw lots."""
        from equipoise.core.experiment.summary import weighted_record

        return weighted_record(self._snapshot(), confidence)

    def randomisation_test(
        self, *, draws: int = 1000, seed: int = 0, statistic: Statistic | None = None
    ) -> RandomisationTest:
        """Test whether arms differ at all, by replaying the rule over redrawn lots; for policies that draw.

        ``statistic(arms, outcomes, contexts)`` is a number that is large where arms differ; arms are places
        in the problem. Unless given, the largest standardised difference of two arms' mean residuals from
        one common line.
        """
        from equipoise.core.diagnosis.randomisation import randomisation_test

        return randomisation_test(self._snapshot().stage, draws=draws, seed=seed, statistic=statistic)

    def predictability(self) -> Predictability:
        """How well the next arm could be guessed, by who knows the rule and by who knows past arms.

        Arms that were closed, had not joined yet or could not get a unit are told from the scores that were
        kept of it; where none were, as in what ``restore`` makes of a snapshot, all arms count as on offer.
        """
        from equipoise.core.diagnosis.guessing import predictability_of
        from equipoise.core.experiment.units.offered import offered_arms

        record = self._snapshot()
        rows = record.state.rows
        known = rows["arm"] >= 0
        rows["arm"][known] = rows["meant"][known]  # what is guessed is where units were sent
        return predictability_of(rows, len(record.problem.arms), offered_arms(record))

    @property
    def support(self) -> tuple[int, ...] | None:
        """Features that the models have, counted from 0; None while they are yet to be chosen."""
        with self._lock:
            stage = self._current().stage
        return tuple(stage.columns.tolist()) if stage.chosen else None

    @property
    def asked(self) -> int:
        """Units assigned so far."""
        with self._lock:
            return self._current().step

    @property
    def remaining(self) -> int:
        """Most units that can still be assigned: 0 when ``ask`` would raise, and not before.

        Without costs, caps and closed arms these are the units left in the budget.
        """
        with self._lock:
            return remaining_units(self._current())

    @property
    def spent(self) -> float:
        """What the units assigned so far have cost, lost and withdrawn ones included."""
        with self._lock:
            return spent(self._current())

    @property
    def closed_arms(self) -> tuple[str, ...]:
        """Arms that get no further units."""
        with self._lock:
            record = self._current()
            return tuple(record.problem.arms[i] for i in np.flatnonzero(record.state.arms["open"] == 0))

    @property
    def pending(self) -> list[int]:
        """Ids of units whose outcome is awaited."""
        with self._lock:
            rows, _ = rows_and_outcomes(self._current())
        return [int(row) + 1 for row in np.flatnonzero(rows["status"] == PENDING)]

    @property
    def counts(self) -> dict[str, int]:
        """Units an arm that count: assigned, neither lost nor withdrawn."""
        with self._lock:
            record = self._current()
            arms = record.state.arms.copy()
        return dict(zip(record.problem.arms, (arms["count"] + arms["set_aside"]).tolist(), strict=True))

    def data(self, arm: str) -> tuple[npt.NDArray[np.float64], Vector]:
        """Contexts and outcomes known of one arm, in the order of assignment."""
        with self._lock:
            return known_data(self._current(), arm)

    def allocation(self) -> Allocation:
        """Contexts as they were encoded, arms, and which units count, in the order of ids."""
        with self._lock:
            return allocation_of(self._current())

    def __repr__(self) -> str:
        record = self._snapshot()
        status, redacted = (
            record.state.rows["status"],
            int(exact_sum(record.state.baselines["count"][1:] * 1.0)),
        )
        told, pending = np.count_nonzero(np.isin(status, KNOWN)), np.count_nonzero(status == PENDING)
        return (
            f"{type(self).__name__}(policy={record.policy.label!r}, seed={record.seed}, asked={len(status)}, "
            f"told={told + redacted}, pending={pending}, remaining={remaining_units(record)})"
        )

    # Units

    def __getitem__(self, unit: str | int) -> Unit:
        with self._lock:
            record = self._current()
            row = self._row(unit)
            if row >= record.step:
                raise not_found(unit)
            return next(self._described(record, (row,)))

    def units(self, *, scores: bool = False) -> TidyTable:
        """All units: key, arm, status, outcome, propensity, context; the arms' scores if they are wanted.

        ``given_by_person`` tells arms that a person gave from those that the rule chose.
        """
        with self._lock:
            record = snapshot(self._current())
            return unit_table(record, self._described(record, range(record.step)), scores=scores)

    def _described(self, record: Record, rows: Any) -> Iterator[Unit]:
        """Units in these rows; the lock is held."""
        book = record.book
        return (unit_of(record, row, book.keys[row], book.details[row]) for row in rows)

    def _snapshot(self) -> Record:
        with self._lock:
            return snapshot(self._current())

    def _row(self, unit: str | int) -> int:
        """Row of a unit by key or number, if it is assigned. The lock is held."""
        record = self._current()
        if isinstance(unit, str):
            row = record.book.row_of(as_key(unit), record.step)
            if row is None:
                raise not_found(unit)
            return row
        if type(unit) is not int and (isinstance(unit, bool) or not isinstance(unit, int | np.integer)):
            raise not_found(unit)
        if not 1 <= unit <= record.step:
            raise not_found(unit)
        return int(unit) - 1


def not_found(unit: Any) -> AssignmentNotFound:
    """Nobody has that key or number."""
    if isinstance(unit, str):
        return AssignmentNotFound(
            f"no unit was assigned under the key {unit!r}",
            hint="keys are those given to ask(x, unit=…); numbers are their .id",
        )
    return AssignmentNotFound(f"no unit was assigned under id {unit!r}", hint="ids come from ask(x).id")
