"""The error against the budget so far: what least squares expected after so many units, beside an oracle's.

Both at today's estimates of the noise, so that one column shows what the allocation did, and not what was
learned about the noise meanwhile.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from equipoise.core.problem.objective import combine
from equipoise.core.theory.static import ideal_allocation, static_loss

if TYPE_CHECKING:
    from equipoise.core.arrays import Matrix, Vector
    from equipoise.core.estimates.estimates import Estimates
    from equipoise.core.experiment.experiment import Experiment
    from equipoise.core.problem.problem import Problem

_POINTS = 5
_LEAST_CONDITION = 1e-12


@dataclass(frozen=True)
class Point:
    """After the first ``units`` units."""

    units: int
    error: float
    """The objective of the arms' expected errors; infinite while an arm has too few units."""
    oracle: float
    """The same of the best static split of as many units, told the noise; not a number if there is none."""

    @property
    def regret(self) -> float:
        """What the allocation cost."""
        return self.error - self.oracle


def course_of(experiment: Experiment, estimates: Estimates) -> list[Point]:
    """A few points up to now; none where the noise is not known yet, or features are still being chosen."""
    noise = np.array([arm.noise_variance for arm in estimates])
    problem, (contexts, arms, counts) = experiment.problem, experiment.allocation()
    step = len(arms)
    if not np.all(np.isfinite(noise)) or type(experiment.policy).staged or not step:
        return []
    moment = problem.moment
    if moment is None:
        seen = contexts[counts]
        moment = seen.T @ seen / max(len(seen), 1)
    points = []
    for units in sorted({max(1, round(step * share / _POINTS)) for share in range(1, _POINTS + 1)}):
        first = counts & (np.arange(step) < units)
        errors = [noise[i] * _trace(contexts[first & (arms == i)], moment) for i in range(len(problem.arms))]
        taken = np.array([np.count_nonzero(first & (arms == i)) for i in range(len(problem.arms))])
        error = combine(errors, problem.weights, problem.objective)
        points.append(Point(units, float(error), _oracle(problem, noise, taken)))
    return points


def _trace(contexts: Matrix, moment: Matrix) -> float:
    """Tr(ΣS⁻¹), infinite where S has none."""
    if len(contexts) <= moment.shape[0]:
        return math.inf
    gram = contexts.T @ contexts
    values = np.linalg.eigvalsh(gram)
    if not values[0] > _LEAST_CONDITION * values[-1]:
        return math.inf
    return float(np.trace(np.linalg.solve(gram, moment)))


def _oracle(problem: Problem, noise: Vector, taken: Vector) -> float:
    money = float(np.sum(problem.costs * taken))
    if money < float(np.sum(problem.costs)) * (problem.dim + 1):
        return math.nan
    ideal = ideal_allocation(
        noise=noise,
        dim=problem.dim,
        budget=money,
        objective=problem.objective,
        weights=problem.weights,
        costs=problem.costs,
    )
    return static_loss(noise, ideal, problem.dim, problem.objective, problem.weights)
