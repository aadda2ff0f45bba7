"""λ by cross-validation: five folds, every fifth row of an arm in the same one.

Folds go by the order of the rows, so that the same data give the same λ. On columns of unit length noise
has slopes of the same size whatever the number of rows, and the signal's grow with its root: a fold with
k′ of k rows takes λ·√(k′/k).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

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


def cross_validated(
    contexts: Matrix,
    outcomes: Vector,
    arms: Integers,
    data: Standardised,
    scale: Vector,
    *,
    refit: bool = False,
) -> Task:
    """The block lasso at the λ with the least squared error of rows left out, in units of ``scale``.

    ``refit``: errors are those of least squares on the active features.
    """
    task = weighted_task(data, scale)
    numbers = fold_numbers(arms, len(data.counts))
    folds = [
        Fold((contexts[~out], outcomes[~out], arms[~out]), (contexts[out], outcomes[out], arms[out]), scale)
        for out in (numbers == fold for fold in range(_FOLDS))
        if out.any() and not out.all()
    ]
    descend(task, search(folds, largest_penalty(task), refit=refit)[0])
    return task


def search(folds: Sequence[Fold], largest: float, *, refit: bool = False) -> tuple[int, list[Vector]]:
    """The place of the best λ on the grid down from ``largest``, and what it leaves of the rows left out."""
    # At λ_max nothing is explained, and without rows to leave out nothing else is chosen.
    best, least = 0, exact_sum(fold.square for fold in folds)
    left = [fold.left.copy() for fold in folds]
    shares = _shares()
    for step in range(1, _PENALTIES if largest > 0.0 and folds else 1):
        error = exact_sum([fold.error(shares[step] * largest, refit) for fold in folds])
        if error < least:
            best, least = step, error
            left = [fold.left.copy() for fold in folds]
        if step - best >= _PATIENCE:
            break
    return best, left


def descend(task: Task, best: int) -> None:
    """Solve at a place on the grid, by way of all larger λ."""
    for share in _shares()[1 : best + 1]:
        solve(task, share * largest_penalty(task), _TOLERANCE)


def _shares() -> list[float]:
    return [power(_SMALLEST, step / (_PENALTIES - 1.0)) for step in range(_PENALTIES)]


def raw_coefs(task: Task, data: Standardised, scale: Vector) -> Matrix:
    """Coefficients [m, d] in the units of contexts and outcomes."""
    return np.ascontiguousarray(task.coefs.T * scale[:, None] / data.lengths)


def fold_numbers(arms: Integers, arm_count: int, folds: int = _FOLDS) -> Integers:
    """Which fold leaves a row out."""
    numbers = np.zeros(len(arms), dtype=np.int64)
    for i in range(arm_count):
        rows = np.flatnonzero(arms == i)
        numbers[rows] = np.arange(len(rows)) % folds
    return numbers


class Fold:
    """The path on the rows that are kept, and errors on those that are left out."""

    def __init__(
        self, kept: tuple[Matrix, Vector, Integers], out: tuple[Matrix, Vector, Integers], scale: Vector
    ) -> None:
        self.kept = standardise(*kept, len(scale))
        self.task = weighted_task(self.kept, scale)
        self.share = math.sqrt(len(kept[1]) / (len(kept[1]) + len(out[1])))
        contexts, outcomes, self.arms = out
        self.rows = contexts * (1.0 / scale)[self.arms][:, None]
        self.told = outcomes / scale[self.arms]
        self.scale = scale
        self.left: Vector = np.zeros(len(self.told))  # outcomes left out less predictions, at the last λ
        self.square = self._square(np.zeros(0, np.int64), np.zeros((0, len(scale))))

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
        return _squared_error(self.rows, self.told, self.arms, active, coefs, self.left)


@compiled
def _squared_error(
    rows: Matrix, told: Vector, arms: Integers, active: Integers, coefs: Matrix, rest: Vector
) -> float:
    """Sum of squares of the ``rest`` y − Σⱼ xⱼbⱼ of all rows, b coefficients [j, arm] of some features."""
    total = 0.0
    for r in range(rows.shape[0]):
        left = told[r]
        for k in range(active.shape[0]):
            left -= rows[r, active[k]] * coefs[k, arms[r]]
        rest[r] = left
        total += left * left
    return total
