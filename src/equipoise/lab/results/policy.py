"""All trials of one policy, and the losses that they come to."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from equipoise.core.arrays import Vector
from equipoise.core.problem.objective import Objective, combine, norm_order
from equipoise.lab.arena import Setting
from equipoise.lab.results.estimate import Estimate, mean_estimate, quantile_estimate
from equipoise.lab.trial.ledger import Ledger


@dataclass(frozen=True, eq=False)
class PolicyResult:
    """All trials of one policy."""

    name: str
    spec: str
    ledger: Ledger
    weights: Vector
    seconds: float
    decisions: int

    @property
    def trials(self) -> int:
        """How many trials were run."""
        return len(self.ledger.errors)

    @property
    def errors(self) -> npt.NDArray[np.float64]:
        """Weighted squared errors, one row a trial and one column an arm."""
        return self.ledger.errors * self.weights

    @property
    def worst(self) -> Vector:
        """The worst arm's error of every trial, L̃_n."""
        return np.asarray(self.errors.max(axis=1))

    def expected_max(self) -> Estimate:
        """L_n, eq. (3): the largest mean error of an arm."""
        errors = self.errors
        return mean_estimate(errors[:, int(np.argmax(errors.mean(axis=0)))])

    def median_max(self) -> Estimate:
        """Median over trials of the worst arm's error, L̃_n of eq. (17)."""
        return self.quantile_max(0.5)

    def quantile_max(self, level: float) -> Estimate:
        """A quantile over trials of the worst arm's error."""
        return quantile_estimate(self.worst, level)

    def mean(self) -> Estimate:
        """Mean error over arms and trials."""
        return mean_estimate(self.errors.mean(axis=1))

    def arm_errors(self) -> list[Estimate]:
        """Mean weighted error of every arm."""
        return [mean_estimate(column) for column in self.errors.T]

    def pulls(self) -> list[Estimate]:
        """Mean number of units of every arm whose outcome was not lost."""
        return [mean_estimate(column) for column in self.ledger.counts.T.astype(float)]

    def units(self) -> Estimate:
        """Mean number of units that a trial assigned, lost ones included."""
        return mean_estimate(self.ledger.course[:, 0])

    def accrual_time(self) -> Estimate:
        """Mean time at which the last unit arrived; not a number without a calendar."""
        return mean_estimate(self.ledger.course[:, 1])

    def duration(self, level: float | None = None) -> Estimate:
        """Mean time until the last outcome came or was given up, or a quantile of it over trials.

        Not a number without a calendar.
        """
        times = self.ledger.course[:, 2]
        return mean_estimate(times) if level is None else quantile_estimate(times, level)

    def stopped(self) -> Estimate:
        """Share of trials that a target ended before the budget did; not a number if none was set."""
        return mean_estimate(self.ledger.course[:, 3])

    def coverage(self, *, corrected: bool = True) -> Estimate:
        """Share of coefficients inside their 95 % intervals; not a number if it was not computed.

        Where features were chosen, of their coefficients, over the trials that chose any.
        """
        shares = (self.ledger.coverage if corrected else self.ledger.plain_coverage).mean(axis=1)
        known = shares[~np.isnan(shares)]
        return mean_estimate(known if len(known) else shares)

    @property
    def chooses_features(self) -> bool:
        """Whether the policy chose features, whose number is known that matter."""
        return bool(np.all(self.ledger.support >= 0))

    def recovery(self) -> Estimate:
        """Share of trials whose features were exactly those that matter; not a number if none are chosen."""
        exact = np.all(self.ledger.support == 0, axis=1)
        return mean_estimate(np.where(self.chooses_features, exact, np.nan))

    @property
    def decisions_per_second(self) -> float:
        """Decisions over the time spent in trials, compilation excluded."""
        return self.decisions / self.seconds if self.seconds > 0 else math.nan


def objective_estimate(result: PolicyResult, objective: Objective) -> Estimate:
    """The objective's value of the arms' mean errors, its standard error by the delta method."""
    order, errors = norm_order(objective), result.errors
    if math.isinf(order):
        return result.expected_max()
    means = errors.mean(axis=0)
    value = combine(means, np.ones(len(means)), objective)
    # dL/de = (e/L)^(p−1)/m
    slopes = (means / value) ** (order - 1.0) / len(means) if value > 0.0 else np.zeros(len(means))
    spread = float((errors @ slopes).std(ddof=1)) if len(errors) > 1 else math.nan
    return Estimate(value, spread / math.sqrt(len(errors)), len(errors))


def result_weights(scenario: Setting) -> Vector:
    """Weight of every arm's error."""
    return np.ones(len(scenario.noise)) if scenario.weights is None else np.array(scenario.weights)
