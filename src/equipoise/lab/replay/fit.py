"""The whole table's moments: which columns say something new, Σ, and the best linear model of every arm.

Found once, by two passes over the table in blocks of rows. Policies are told Σ if that is asked for,
and the oracle the noise; the best models only serve to measure errors fast: for any model β̂ of an arm
whose best model is β*, with residual variance s over the whole table,

    mean of (y − xᵀβ̂)² over the table  =  s + (β̂ − β*)ᵀ Σ (β̂ − β*).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from equipoise.core.layout import Matrix, Vector
from equipoise.lab.replay.table import ReplayTable

CENTERS = ("intercept", "table", "none")

# A column is redundant if the columns before it leave less than this share of its variance: five
# digits of it are then the others', and rounding in Σ decides about the rest.
_REDUNDANT = 1e-10
# Squared rounding errors are this far below squared numbers, with room to spare.
_ROUNDING = 1e-24
_ROWS_A_BLOCK = 8_192


@dataclass(frozen=True, eq=False)
class TableFit:
    """Features are an optional constant 1 and then the kept columns minus their shift."""

    constant: bool
    kept: npt.NDArray[np.int64]  # columns that are used
    shift: Vector  # [kept] subtracted from them
    target_shift: Vector  # [m] subtracted from the targets
    moment: Matrix  # Σ over the whole table
    best: Matrix  # [m, d] β* of every arm
    residual: Vector  # [m] mean squared residual of β*
    noise: Vector  # [m] the same per degree of freedom: what the oracle is told

    @property
    def dim(self) -> int:
        """Features, the constant included."""
        return len(self.moment)


def fit_table(table: ReplayTable, center: str) -> TableFit:
    """Moments and best linear models of a table; ``center`` is one of :data:`CENTERS`."""
    rows = table.rows
    shift, target_mean = _mean(table.contexts), _mean(table.targets)
    if center == "none":
        shift, target_mean = np.zeros_like(shift), np.zeros_like(target_mean)
    gram, cross, squares = _sums(table, shift, target_mean)
    # A column that is constant but for rounding varies by nothing.
    diagonal = np.diag(gram).copy()
    diagonal[diagonal <= _ROUNDING * rows * shift**2] = 0.0
    kept = _independent(gram, diagonal)
    gram, cross, shift = gram[np.ix_(kept, kept)], cross[kept], shift[kept]
    scale = np.sqrt(np.diag(gram))
    lower: Matrix = np.linalg.cholesky(gram / scale / scale[:, None]).astype(float)
    best = _solve(lower, scale, cross)
    # One step of refinement: the normal equations alone lose digits where columns are nearly redundant.
    leftover, rss = _residuals(table, kept, shift, target_mean, best)
    step = _solve(lower, scale, leftover)
    best += step
    rss = np.maximum(rss - np.sum(step * leftover, axis=0), 0.0)
    constant = center == "intercept"
    if constant:
        # Centred columns are orthogonal to the constant, so it stands alone.
        best = np.vstack([target_mean, best])
        moment = np.zeros((len(kept) + 1, len(kept) + 1))
        moment[0, 0], moment[1:, 1:] = 1.0, gram / rows
    else:
        moment = gram / rows
    totals = squares + rows * target_mean**2
    rss[rss <= _ROUNDING * totals] = 0.0
    return TableFit(
        constant=constant,
        kept=kept,
        shift=shift,
        target_shift=target_mean if center == "table" else np.zeros_like(target_mean),
        moment=moment,
        best=np.ascontiguousarray(best.T),
        residual=rss / rows,
        noise=rss / max(rows - len(moment), 1),
    )


def redundant_columns(table: ReplayTable, fit: TableFit) -> tuple[str, ...]:
    """Names of the context columns that say nothing new."""
    used = set(fit.kept.tolist())
    return tuple(name for place, name in enumerate(table.context_names) if place not in used)


def _mean(values: Matrix) -> Vector:
    # Around the first row: the mean of numbers like 10⁹ + small keeps the digits of the small ones.
    first = values[0]
    total = np.zeros(len(first))
    for part in _parts(values):
        total += (part - first).sum(axis=0)
    return np.asarray(first + total / len(values))


def _sums(table: ReplayTable, shift: Vector, target_shift: Vector) -> tuple[Matrix, Matrix, Vector]:
    """XᵀX, XᵀY and the squares of Y, columns shifted."""
    gram = np.zeros((len(shift), len(shift)))
    cross = np.zeros((len(shift), len(target_shift)))
    squares = np.zeros(len(target_shift))
    for contexts, targets in zip(_parts(table.contexts), _parts(table.targets), strict=True):
        x, y = contexts - shift, targets - target_shift
        gram += x.T @ x
        cross += x.T @ y
        squares += np.sum(y * y, axis=0)
    return gram, cross, squares


def _residuals(
    table: ReplayTable, kept: npt.NDArray[np.int64], shift: Vector, target_shift: Vector, best: Matrix
) -> tuple[Matrix, Vector]:
    """Xᵀr and the squares of the residuals r = Y − Xβ."""
    leftover, squares = np.zeros_like(best), np.zeros(best.shape[1])
    for contexts, targets in zip(_parts(table.contexts), _parts(table.targets), strict=True):
        x = contexts[:, kept] - shift
        r = targets - target_shift - x @ best
        leftover += x.T @ r
        squares += np.sum(r * r, axis=0)
    return leftover, squares


def _independent(gram: Matrix, diagonal: Vector) -> npt.NDArray[np.int64]:
    """Columns, from the left, that are no combination of those before them: Cholesky that skips."""
    kept: list[int] = []
    factor = np.zeros_like(gram)  # factor[j, :len(kept)] are column j's products with the kept directions
    scale = np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    scaled = gram / scale / scale[:, None]
    for j in range(len(gram)):
        row = factor[j, : len(kept)]
        pivot = 1.0 - float(row @ row)
        if diagonal[j] <= 0.0 or pivot <= _REDUNDANT:
            continue
        place = len(kept)
        factor[j:, place] = (scaled[j:, j] - factor[j:, :place] @ row) / np.sqrt(pivot)
        kept.append(j)
    return np.array(kept, dtype=np.int64)


def _solve(lower: Matrix, scale: Vector, right: Matrix) -> Matrix:
    """β with (XᵀX)β = right, from the factor of the scaled XᵀX."""
    scaled = np.linalg.solve(lower, right / scale[:, None])
    solution: Matrix = np.linalg.solve(lower.T, scaled) / scale[:, None]
    return solution


def _parts(values: Matrix) -> Iterator[Matrix]:
    for first in range(0, len(values), _ROWS_A_BLOCK):
        yield values[first : first + _ROWS_A_BLOCK]
