"""λ by cross-validation: five folds, every fifth row of an arm in the same one.

Folds go by the order of the rows, so that the same data give the same λ. On columns of unit length noise
has slopes of the same size whatever the number of rows, and the signal's grow with its root: a fold with
k′ of k rows takes λ·√(k′/k).
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from equipoise.core.arithmetic.power import power
from equipoise.core.arithmetic.sums import exact_sum
from equipoise.core.arrays import Matrix, Vector
from equipoise.core.jit.decorators import compiled
from equipoise.core.sparse.block_lasso import solve
from equipoise.core.sparse.path import active_features, weighted_task
from equipoise.core.sparse.refit import least_squares
from equipoise.core.sparse.standardised import Integers, Standardised, standardise
from equipoise.core.sparse.task import Task, largest_penalty

_FOLDS = 5
# As many penalties over as long a stretch as LassoCV of scikit-learn takes.
_PENALTIES, _SMALLEST = 100, 1e-3
# Where errors have not fallen while λ fell to a quarter, the rest is left unsearched.
_PATIENCE = 20
# Duality gap over ½‖y‖².
_TOLERANCE = 1e-5
# How many standard errors a cautious choice asks for. With more, weak features are left out that a lasso
# gains from; with none, a lasso adds noise to what least squares have found.
_EVIDENT = 0.25


def cross_validated(
    contexts: Matrix,
    outcomes: Vector,
    arms: Integers,
    data: Standardised,
    scale: Vector,
    *,
    refit: bool = False,
    cautious: bool = False,
) -> Task:
    """The block lasso at the λ with the least squared error of rows left out, in units of ``scale``.

    ``refit``: errors are those of least squares on the active features. ``cautious``: λ_max, unless the least
    error is smaller by a quarter of the standard error of that difference, between rows.
    """
    task = weighted_task(data, scale)
    largest = largest_penalty(task)
    numbers = _fold_numbers(arms, len(data.counts))
    folds = [
        _Fold(contexts, outcomes, arms, numbers == fold, scale)
        for fold in range(_FOLDS)
        if 0 < np.count_nonzero(numbers == fold) < len(arms)
    ]
    shares = [power(_SMALLEST, step / (_PENALTIES - 1.0)) for step in range(_PENALTIES)]
    # At λ_max nothing is explained, and without rows to leave out nothing else is chosen.
    best, least = 0, exact_sum(fold.square for fold in folds)
    gains: Vector = np.zeros(0)
    for step in range(1, _PENALTIES if largest > 0.0 and folds else 1):
        errors = [fold.error(shares[step] * largest, refit) for fold in folds]
        error = exact_sum(errors)
        if error < least:
            best, least = step, error
            if cautious:
                gains = np.concatenate([fold.squares - fold.latest for fold in folds])
        if step - best >= _PATIENCE:
            break
    if cautious and not _is_evident(gains):
        best = 0
    for share in shares[1 : best + 1]:
        solve(task, share * largest, _TOLERANCE)
    return task


def _is_evident(gains: Vector) -> bool:
    """Whether the sum over rows is clear of its standard error."""
    if len(gains) < 2:
        return False
    total = exact_sum(gains)
    spread = gains - total / len(gains)
    return total > _EVIDENT * math.sqrt(exact_sum(spread * spread))


def raw_coefs(task: Task, data: Standardised, scale: Vector) -> Matrix:
    """Coefficients [m, d] in the units of contexts and outcomes."""
    return np.ascontiguousarray(task.coefs.T * scale[:, None] / data.lengths)


def _fold_numbers(arms: Integers, arm_count: int) -> Integers:
    numbers = np.zeros(len(arms), dtype=np.int64)
    for i in range(arm_count):
        rows = np.flatnonzero(arms == i)
        numbers[rows] = np.arange(len(rows)) % _FOLDS
    return numbers


class _Fold:
    """The path on the rows that are kept, and errors on those that are left out."""

    def __init__(
        self, contexts: Matrix, outcomes: Vector, arms: Integers, out: npt.NDArray[np.bool_], scale: Vector
    ) -> None:
        self.kept = standardise(contexts[~out], outcomes[~out], arms[~out], len(scale))
        self.task = weighted_task(self.kept, scale)
        self.share = math.sqrt(np.count_nonzero(~out) / len(out))
        self.arms = arms[out]
        self.rows = contexts[out] * (1.0 / scale)[self.arms][:, None]
        self.told = outcomes[out] / scale[self.arms]
        self.scale = scale
        self.latest: Vector = np.zeros(len(self.told))  # squares of the rows left out, at the last λ
        self.square = self._square(np.zeros(0, np.int64), np.zeros((0, len(scale))))
        self.squares = self.latest.copy()

    def error(self, penalty: float, refit: bool) -> float:
        """Sum of squares, in units of scale."""
        solve(self.task, penalty * self.share, _TOLERANCE)
        active = active_features(self.task)
        if refit:
            coefs = least_squares(self.kept, active)[:, active].T
        else:
            coefs = self.task.coefs[active] * self.scale / self.kept.lengths[:, active].T
        return self._square(active, coefs)

    def _square(self, active: Integers, coefs: Matrix) -> float:
        coefs = np.ascontiguousarray(coefs)
        return _squared_error(self.rows, self.told, self.arms, active, coefs, self.latest)


@compiled
def _squared_error(
    rows: Matrix, told: Vector, arms: Integers, active: Integers, coefs: Matrix, squares: Vector
) -> float:
    """Sum of the ``squares`` (y − Σⱼ xⱼbⱼ)² of all rows, b the coefficients [j, arm] of some features."""
    total = 0.0
    for r in range(rows.shape[0]):
        left = told[r]
        for k in range(active.shape[0]):
            left -= rows[r, active[k]] * coefs[k, arms[r]]
        squares[r] = left * left
        total += squares[r]
    return total
