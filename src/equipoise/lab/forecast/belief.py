"""What is believed of the arms: the distribution that every trial of a forecast draws its truth from.

For every arm, with RSS and ν degrees of freedom of its least-squares fit β̂ and S⁻¹ = VVᵀ:

    σ² = RSS/χ²_ν,    β = β̂ + σ·V·z,    z standard normal,

arms independently. This is the posterior of a linear model with normal noise under the prior 1/σ², and the
distribution for which classical t intervals are right. It belongs to the unshrunk fit: nothing that estimators
shrink towards enters it. Adaptive allocation does not change it, as far as decisions use contexts and outcomes
that are known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from equipoise.core.arithmetic.linear import cross_product, scaled_cholesky
from equipoise.core.arms import least_squares as kernel
from equipoise.core.arms.coordinates import to_user_coordinates
from equipoise.core.arms.state import WITHDRAWN, State, copied
from equipoise.core.arrays import Matrix, Vector
from equipoise.core.estimates.alike import outcomes_alike
from equipoise.core.experiment.record import Record
from equipoise.core.problem.moment import PIVOT_TOLERANCE
from equipoise.core.problem.problem import Problem
from equipoise.errors import InvalidArgument, NotIdentified
from equipoise.lab.forecast.future import Outlook, new_outlook

_MEAN_NEEDS, _ERROR_NEEDS = 2, 4


@dataclass(frozen=True, eq=False)
class Belief:
    """What is believed of the arms, and of contexts to come."""

    centers: Matrix
    """[m, d] least squares."""
    roots: npt.NDArray[np.float64]
    """[m, d, d] V with S⁻¹ = VVᵀ."""
    squares: Vector
    """[m] residual sums of squares."""
    dof: Vector
    """[m] their degrees of freedom."""
    contexts: Matrix
    """[rows, d] of which those to come are drawn."""
    error_root: Matrix
    """Lower C with Σ = CCᵀ: what errors are measured by."""

    def outlook(self) -> Outlook:
        """For one worker."""
        return new_outlook(self.centers, self.roots, self.squares, self.dof, self.contexts, self.error_root)

    @property
    def has_mean(self) -> npt.NDArray[np.bool_]:
        """[m] whether σ² has a mean: it takes more than two degrees of freedom."""
        return np.asarray(self.dof > _MEAN_NEEDS)

    @property
    def has_error(self) -> npt.NDArray[np.bool_]:
        """[m] whether a simulated mean of it has a standard error: that takes more than four."""
        return np.asarray(self.dof > _ERROR_NEEDS)


def settled_copy(record: Record) -> State:
    """The state of a record in arrays of its own, settled, as estimates read it."""
    state = copied(record.state, record.step)
    if not kernel.is_settled(state):
        kernel.settle(state)
    return state


def belief_of(record: Record, state: State, contexts: Any) -> Belief:
    """What the outcomes known say; ``state`` is settled. ``contexts`` are those to come, None: as those seen.

    Refuses an experiment in which an arm has no fit yet, or tells nothing about its noise.
    """
    problem = record.problem
    m, dim = len(problem.arms), problem.dim
    for i, arm in enumerate(problem.arms):
        _check_arm(problem, state, i, arm)
    centers, roots = np.zeros((m, dim)), np.zeros((m, dim, dim))
    for i in range(m):
        to_user_coordinates(state, i, roots[i], centers[i])
    pool = _pool(record, contexts)
    return Belief(
        centers=centers,
        roots=roots,
        squares=state.arms["rss"].copy(),
        dof=state.arms["dof"].astype(float),
        contexts=pool,
        error_root=_error_root(problem, pool),
    )


def _check_arm(problem: Problem, state: State, i: int, name: str) -> None:
    arm = state.arms[i]
    if not arm["data_ready"] or arm["dof"] < 1:
        enough = "" if arm["observed"] <= problem.dim else ", whose contexts do not tell the features apart"
        raise NotIdentified(
            f"arm {name!r} has no model yet: {arm['observed']} outcomes{enough}, and it takes at least "
            f"d + 1 = {problem.dim + 1} that do",
            hint="forecast when every arm has as many; until then plan with eq.plan(...)",
        )
    if outcomes_alike(state, i):
        raise NotIdentified(
            f"all {arm['observed']} outcomes of arm {name!r} are alike: nothing is known of its noise",
            hint="forecast when some of them differ",
        )


def _pool(record: Record, contexts: Any) -> Matrix:
    """Contexts that those to come are drawn from."""
    if contexts is not None:
        given = record.problem.features.encode_many(contexts)
        if not len(given):
            raise InvalidArgument("contexts= is empty", hint="leave it out: then those seen are drawn again")
        return np.ascontiguousarray(given, dtype=float)
    seen = record.state.rows["status"][: record.step] != WITHDRAWN
    return np.ascontiguousarray(record.contexts[: record.step][seen])


def _error_root(problem: Problem, pool: Matrix) -> Matrix:
    """C of the given Σ, or of the mean of xxᵀ over the contexts to come."""
    if problem.moment is not None:
        lower = problem.whitener()
        return np.eye(problem.dim) if lower is None else lower
    moment = cross_product(pool) / len(pool)
    lower = scaled_cholesky(moment, problem.dim * PIVOT_TOLERANCE)
    if lower is None:
        raise NotIdentified(
            f"the {len(pool)} contexts to come do not tell the {problem.dim} features apart",
            hint="give more of them, or the moment of the population to the problem",
        )
    return lower
