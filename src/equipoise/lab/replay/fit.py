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

from equipoise.core.arithmetic.lanes import padded
from equipoise.core.arithmetic.linear import (
    add_cross_products,
    add_rows,
    cholesky,
    column_sums,
    mirrored,
    solve_lower,
    solve_upper,
    subtract_products,
    tiled,
)
from equipoise.core.arrays import Matrix, Vector
from equipoise.core.jit.decorators import compiled
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
    shift, target_mean = column_means(table.contexts), column_means(table.targets)
    if center == "none":
        shift, target_mean = np.zeros_like(shift), np.zeros_like(target_mean)
    gram, cross, squares = _sums(table, shift, target_mean)
    # A column that is constant but for rounding varies by nothing.
    diagonal = np.diag(gram).copy()
    diagonal[diagonal <= _ROUNDING * rows * shift * shift] = 0.0
    kept = _independent(gram, diagonal)
    gram, cross, shift = gram[np.ix_(kept, kept)], cross[kept], shift[kept]
    scale = np.sqrt(np.diag(gram))
    lower = cholesky(gram / scale / scale[:, None])
    assert lower is not None, "columns that are kept have pivots"
    best = _solve(lower, scale, cross)
    # One step of refinement: the normal equations alone lose digits where columns are nearly redundant.
    leftover, rss = _residuals(table, kept, shift, target_mean, best)
    step = _solve(lower, scale, leftover)
    best += step
    rss = np.maximum(rss - column_sums(step * leftover), 0.0)
    constant = center == "intercept"
    if constant:
        # Centred columns are orthogonal to the constant, so it stands alone.
        best = np.vstack([target_mean, best])
        moment = np.zeros((len(kept) + 1, len(kept) + 1))
        moment[0, 0], moment[1:, 1:] = 1.0, gram / rows
    else:
        moment = gram / rows
    totals = squares + rows * target_mean * target_mean
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


def column_spreads(values: Matrix) -> Vector:
    """Standard deviation of every column; 0 where it is constant but for rounding."""
    mean, squares = column_means(values), np.zeros(values.shape[1])
    for part in _parts(values):
        shifted = part - mean
        add_rows(shifted * shifted, squares)
    squares[squares <= _ROUNDING * len(values) * mean * mean] = 0.0
    return np.sqrt(squares / len(values))


def redundant_columns(table: ReplayTable, fit: TableFit) -> tuple[str, ...]:
    """Names of the context columns that say nothing new."""
    used = set(fit.kept.tolist())
    return tuple(name for place, name in enumerate(table.context_names) if place not in used)


def column_means(values: Matrix) -> Vector:
    """Mean of every column."""
    # Around the first row: the mean of numbers like 10⁹ + small keeps the digits of the small ones.
    first = values[0]
    total = np.zeros(len(first))
    for part in _parts(values):
        add_rows(part - first, total)
    return np.asarray(first + total / len(values))


def _sums(table: ReplayTable, shift: Vector, target_shift: Vector) -> tuple[Matrix, Matrix, Vector]:
    """XᵀX, XᵀY and the squares of Y, columns shifted."""
    block = _Block(table, np.arange(len(shift)), shift, target_shift)
    gram = tiled(block.x.shape[1], len(shift))
    cross = tiled(block.x.shape[1], len(target_shift))
    squares = np.zeros(block.y.shape[1])
    for first in range(0, table.rows, _ROWS_A_BLOCK):
        block.read(first)
        add_cross_products(block.x, block.x, True, gram)
        add_cross_products(block.x, block.y, False, cross)
        add_rows(block.y * block.y, squares)
    dim, arms = len(shift), len(target_shift)
    return mirrored(gram, dim), cross[:dim, :arms].copy(), squares[:arms]


def _residuals(
    table: ReplayTable, kept: npt.NDArray[np.int64], shift: Vector, target_shift: Vector, best: Matrix
) -> tuple[Matrix, Vector]:
    """Xᵀr and the squares of the residuals r = Y − Xβ."""
    block = _Block(table, kept, shift, target_shift)
    coefs = tiled(block.x.shape[1], best.shape[1])
    coefs[: len(best), : best.shape[1]] = best
    leftover, squares = np.zeros_like(coefs), np.zeros(coefs.shape[1])
    for first in range(0, table.rows, _ROWS_A_BLOCK):
        block.read(first)
        subtract_products(block.x, coefs, block.y)
        add_cross_products(block.x, block.y, False, leftover)
        add_rows(block.y * block.y, squares)
    return leftover[: len(best), : best.shape[1]].copy(), squares[: best.shape[1]]


class _Block:
    """Rows of a table as x and y, shifted, with zeros around them to make whole tiles.

    Sums go on from block to block, so their order is that of the rows, however many a block has.
    """

    def __init__(
        self, table: ReplayTable, columns: npt.NDArray[np.int64], shift: Vector, target_shift: Vector
    ) -> None:
        self.table, self.columns, self.shift, self.target_shift = table, columns, shift, target_shift
        height = min(_ROWS_A_BLOCK, padded(table.rows))
        self.x, self.y = tiled(height, len(columns)), tiled(height, len(target_shift))

    def read(self, first: int) -> None:
        part = slice(first, first + len(self.x))
        contexts, targets = self.table.contexts[part], self.table.targets[part]
        if len(self.columns) < contexts.shape[1]:
            contexts = contexts[:, self.columns]
        count = len(contexts)
        np.subtract(contexts, self.shift, out=self.x[:count, : len(self.columns)])
        self.y[:] = 0.0
        np.subtract(targets, self.target_shift, out=self.y[:count, : len(self.target_shift)])
        self.x[count:] = 0.0


def _independent(gram: Matrix, diagonal: Vector) -> npt.NDArray[np.int64]:
    """Columns, from the left, that are no combination of those before them."""
    scale = np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    kept = np.zeros(len(gram), dtype=np.int64)
    count = _skip_redundant(gram / scale / scale[:, None], diagonal, np.zeros_like(gram), kept)
    return kept[:count]


@compiled
def _skip_redundant(scaled: Matrix, diagonal: Vector, factor: Matrix, kept: npt.NDArray[np.int64]) -> int:
    """Cholesky that skips; ``factor[j]`` are column j's products with the directions that are kept."""
    count = 0
    for j in range(scaled.shape[0]):
        pivot = 1.0
        for k in range(count):
            pivot -= factor[j, k] * factor[j, k]
        if diagonal[j] <= 0.0 or pivot <= _REDUNDANT:
            continue
        root = np.sqrt(pivot)
        for i in range(j, scaled.shape[0]):
            entry = scaled[i, j]
            for k in range(count):
                entry -= factor[i, k] * factor[j, k]
            factor[i, count] = entry / root
        kept[count] = j
        count += 1
    return count


def _solve(lower: Matrix, scale: Vector, right: Matrix) -> Matrix:
    """β with (XᵀX)β = right, from the factor of the scaled XᵀX."""
    scaled = solve_lower(lower, right / scale[:, None])
    solution: Matrix = solve_upper(lower.T, scaled) / scale[:, None]
    return solution


def _parts(values: Matrix) -> Iterator[Matrix]:
    for first in range(0, len(values), _ROWS_A_BLOCK):
        yield values[first : first + _ROWS_A_BLOCK]
