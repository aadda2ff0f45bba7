"""Summaries of simulations: losses of all policies at a point, with their joint Monte-Carlo error.

Policies face common random numbers, so their losses are correlated; with the covariances a ratio
gets its error without the trials themselves, which would take 600 MB for all panels.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from equipoise.core.arrays import Matrix, Vector
from equipoise.lab.results.estimate import Estimate, mean_estimate, quantile_estimate
from equipoise.lab.results.policy import PolicyResult
from equipoise.lab.results.simulation import SimulationResult


@dataclass(frozen=True)
class Measured:
    """A number at a place on an axis, and its standard error."""

    at: float
    value: float
    stderr: float


@dataclass(frozen=True)
class Losses:
    """One loss of several policies."""

    values: dict[str, float]
    covariance: tuple[tuple[float, ...], ...]

    def estimate(self, policy: str) -> tuple[float, float]:
        """The loss of a policy and its standard error."""
        place = list(self.values).index(policy)
        return self.values[policy], math.sqrt(self.covariance[place][place])

    def ratio(self, policy: str, reference: str) -> tuple[float, float]:
        """One policy's loss over another's; its error by the delta method, correlation included."""
        return self.product([(policy, 1.0), (reference, -1.0)])

    def product(self, powers: Iterable[tuple[str, float]]) -> tuple[float, float]:
        """Product of powers of policies' losses; its error by the delta method, correlation included."""
        names = list(self.values)
        exponents = np.zeros(len(names))
        for policy, power in powers:
            exponents[names.index(policy)] += power
        losses = np.array([self.values[name] for name in names])
        slopes = np.where(exponents == 0.0, 0.0, exponents / losses)
        value = float(np.prod(losses**exponents))
        return value, value * math.sqrt(max(0.0, float(slopes @ np.array(self.covariance) @ slopes)))


@dataclass(frozen=True)
class Point:
    """All policies on one scenario."""

    dim: int
    budget: int
    trials: int
    losses: dict[str, Losses]
    exact: dict[str, float] = field(default_factory=dict)
    """Share of trials in which a policy that chooses features found the right ones."""

    def record(self) -> dict[str, Any]:
        """Plain values."""
        losses = {
            name: {"values": loss.values, "covariance": loss.covariance} for name, loss in self.losses.items()
        }
        counts = {"dim": self.dim, "budget": self.budget, "trials": self.trials}
        return {**counts, "losses": losses, "exact": self.exact}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Point:
        """What :meth:`record` wrote."""
        losses = {
            name: Losses(dict(loss["values"]), tuple(tuple(row) for row in loss["covariance"]))
            for name, loss in record["losses"].items()
        }
        return cls(record["dim"], record["budget"], record["trials"], losses, dict(record.get("exact", {})))

    def renamed(self, names: Mapping[str, str]) -> Point:
        """Only the policies in ``names``, under their new names."""
        losses = {}
        for name, loss in self.losses.items():
            old = list(loss.values)
            places = [old.index(policy) for policy in names]
            covariance = tuple(tuple(loss.covariance[i][j] for j in places) for i in places)
            losses[name] = Losses({new: loss.values[given] for given, new in names.items()}, covariance)
        exact = {new: self.exact[given] for given, new in names.items() if given in self.exact}
        return Point(self.dim, self.budget, self.trials, losses, exact)


def summarise(result: SimulationResult) -> Point:
    """A simulation without its trials."""
    policies = result.policies
    by_trial = {name: policy.errors.mean(axis=1) for name, policy in policies.items()}
    losses = {
        "expected_max": _means({name: _worst_arm(policy) for name, policy in policies.items()}),
        "median_max": _medians({name: policy.worst for name, policy in policies.items()}),
        "mean": _means(by_trial),
        "median_mean": _medians(by_trial),
    }
    exact = {
        name: float(np.mean(np.all(policy.ledger.support == 0, axis=1)))
        for name, policy in policies.items()
        if np.all(policy.ledger.support >= 0)
    }
    return Point(result.scenario.dim, result.scenario.units, result.trials, losses, exact)


def _worst_arm(policy: PolicyResult) -> Vector:
    """Errors of the arm whose mean error is largest."""
    errors = policy.errors
    return np.asarray(errors[:, int(np.argmax(errors.mean(axis=0)))])


def _means(values: Mapping[str, Vector]) -> Losses:
    return _joint({name: mean_estimate(v) for name, v in values.items()}, list(values.values()))


def _medians(values: Mapping[str, Vector]) -> Losses:
    medians = {name: quantile_estimate(v, 0.5) for name, v in values.items()}
    # A median moves with the signs of the deviations from it.
    return _joint(medians, [np.sign(v - medians[name].value) for name, v in values.items()])


def _joint(estimates: Mapping[str, Estimate], influences: list[Vector]) -> Losses:
    stderrs = np.array([estimate.stderr for estimate in estimates.values()])
    covariance: Matrix = _correlation(np.array(influences)) * np.outer(stderrs, stderrs)
    values = {name: estimate.value for name, estimate in estimates.items()}
    return Losses(values, tuple(tuple(map(float, row)) for row in covariance))


def _correlation(rows: Matrix) -> Matrix:
    centred = rows - rows.mean(axis=1, keepdims=True)
    lengths = np.sqrt(np.sum(centred**2, axis=1))
    # Signs of two trials can all be equal; such a row correlates with itself alone.
    lengths[lengths == 0.0] = math.inf
    correlation: Matrix = centred @ centred.T / np.outer(lengths, lengths)
    np.fill_diagonal(correlation, 1.0)
    return correlation
