"""Linear algebra in a written order, without BLAS: for what is computed once, outside of all loops.

Every entry is one sum in the order of its terms, whatever the size of the matrices. Columns stand side by
side in vector registers (lanes.py), which changes no sum: blocks begin where the block before ended.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from equipoise.core.arithmetic.lanes import WIDTH, add_product, aligned_zeros, load, spread, store
from equipoise.core.arrays import Matrix, Vector
from equipoise.core.jit.decorators import compiled

# Rows of both matrices that stay in the cache while their products are added up.
_BLOCK = 128
# Columns that are worked on together: 4 of the one matrix, 8 of the other.
_TILE = 2 * WIDTH


def cross_product(left: npt.ArrayLike, right: npt.ArrayLike | None = None) -> Matrix:
    """LᵀR, or LᵀL, summed over rows from the first to the last.

    >>> cross_product([[1.0, 2.0], [3.0, 4.0]])
    array([[10., 14.],
           [14., 20.]])
    """
    one = _padded(left)
    columns = np.shape(left)[1]
    if right is None:
        products = aligned_zeros((one.shape[1], one.shape[1]))
        add_cross_products(one, one, True, products)
        return mirrored(products, columns)
    other = _padded(right)
    products = aligned_zeros((one.shape[1], other.shape[1]))
    add_cross_products(one, other, False, products)
    return np.ascontiguousarray(products[:columns, : np.shape(right)[1]])


def mirrored(products: Matrix, columns: int) -> Matrix:
    """The whole matrix where only what is not below the diagonal was added up."""
    lower = np.tril_indices(columns, -1)
    products[lower] = products.T[lower]
    return np.ascontiguousarray(products[:columns, :columns])


def product(left: npt.ArrayLike, right: npt.ArrayLike) -> Matrix:
    """LR, summed over the inner index from the first to the last."""
    return cross_product(np.asarray(left, float).T, right)


def matvec(matrix: npt.ArrayLike, vector: npt.ArrayLike) -> Vector:
    """A matrix times a vector."""
    return product(matrix, np.asarray(vector, float)[:, None])[:, 0]


def dot(left: npt.ArrayLike, right: npt.ArrayLike) -> float:
    """The sum of the products of two vectors' entries."""
    return float(cross_product(np.asarray(left, float)[:, None], np.asarray(right, float)[:, None])[0, 0])


def column_sums(values: npt.ArrayLike) -> Vector:
    """The sum of every column, from the first row to the last."""
    table = np.ascontiguousarray(values, dtype=float)
    sums = np.zeros(table.shape[1])
    add_rows(table, sums)
    return sums


def column_squares(values: npt.ArrayLike) -> Vector:
    """The sum of every column's squares, from the first row to the last.

    >>> column_squares([[1.0, 2.0], [3.0, 4.0]])
    array([10., 20.])
    """
    table = np.ascontiguousarray(values, dtype=float)
    return column_sums(table * table)


def cholesky(matrix: npt.ArrayLike, least_pivot: float = 0.0) -> Matrix | None:
    """Lower L with LLᵀ = A; None unless the squares on its diagonal all exceed ``least_pivot``.

    Only the lower triangle of A is read.

    >>> cholesky([[4.0, 2.0], [2.0, 5.0]])
    array([[2., 0.],
           [1., 2.]])
    >>> cholesky([[1.0, 1.0], [1.0, 1.0]]) is None
    True
    """
    # Column by column of L, as rows of its transpose.
    upper = _padded(np.asarray(matrix, float).T)
    dim = upper.shape[0]
    if not factor_in_place(upper, float(least_pivot)):
        return None
    return np.ascontiguousarray(np.triu(upper[:, :dim]).T)


def scaled_cholesky(matrix: npt.ArrayLike, least_pivot: float = 0.0) -> Matrix | None:
    """The same by way of the correlations, so that units decide nothing about what is accepted."""
    values = np.asarray(matrix, float)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        scale = np.sqrt(np.diag(values))
        lower = cholesky(values / scale / scale[:, None], least_pivot)
    return None if lower is None else lower * scale[:, None]


def root_of(moment: Matrix) -> Matrix:
    """Lower C with Σ = CCᵀ, of a Σ that was checked before."""
    lower = scaled_cholesky(moment)
    assert lower is not None, "problems, scenarios and tables accept no other Σ"
    return lower


def solve_lower(lower: npt.ArrayLike, right: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """X with LX = B for a lower triangular L; B is a vector or has one system a column."""
    sides = _sides(right)
    solve_in_place(np.ascontiguousarray(lower, dtype=float), sides)
    return _unpadded(sides, right)


def solve_upper(upper: npt.ArrayLike, right: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """X with UX = B for an upper triangular U."""
    # Backwards, U is lower triangular.
    backwards = np.ascontiguousarray(np.asarray(upper, float)[::-1, ::-1])
    sides = _sides(np.asarray(right, float)[::-1])
    solve_in_place(backwards, sides)
    return _unpadded(sides[::-1], right)


@compiled
def add_cross_products(left: Matrix, right: Matrix, half: bool, products: Matrix) -> None:
    """Add LᵀR to ``products``, all whole tiles (:func:`tiled`); ``half``: nothing below the diagonal."""
    rows, wide, across = left.shape[0], left.shape[1], right.shape[1]
    for block in range(0, rows, _BLOCK):
        end = min(block + _BLOCK, rows)
        for i in range(0, wide, WIDTH):
            for j in range(i - i % _TILE if half else 0, across, _TILE):
                a, b = i * across + j, i * across + j + WIDTH
                first, first_more = load(products, a), load(products, b)
                second, second_more = load(products, a + across), load(products, b + across)
                third, third_more = load(products, a + 2 * across), load(products, b + 2 * across)
                fourth, fourth_more = load(products, a + 3 * across), load(products, b + 3 * across)
                for r in range(block, end):
                    place = r * across + j
                    near, far = load(right, place), load(right, place + WIDTH)
                    entry = spread(left[r, i])
                    first = add_product(first, entry, near)
                    first_more = add_product(first_more, entry, far)
                    entry = spread(left[r, i + 1])
                    second = add_product(second, entry, near)
                    second_more = add_product(second_more, entry, far)
                    entry = spread(left[r, i + 2])
                    third = add_product(third, entry, near)
                    third_more = add_product(third_more, entry, far)
                    entry = spread(left[r, i + 3])
                    fourth = add_product(fourth, entry, near)
                    fourth_more = add_product(fourth_more, entry, far)
                store(products, a, first)
                store(products, b, first_more)
                store(products, a + across, second)
                store(products, b + across, second_more)
                store(products, a + 2 * across, third)
                store(products, b + 2 * across, third_more)
                store(products, a + 3 * across, fourth)
                store(products, b + 3 * across, fourth_more)


@compiled
def subtract_products(left: Matrix, right: Matrix, rest: Matrix) -> None:
    """Subtract LR from ``rest``, one product after the other; all are whole tiles (:func:`tiled`)."""
    wide, across = left.shape[1], rest.shape[1]
    for r in range(0, rest.shape[0], 2):
        for j in range(0, across, _TILE):
            a, b = r * across + j, (r + 1) * across + j
            first, first_more = load(rest, a), load(rest, a + WIDTH)
            second, second_more = load(rest, b), load(rest, b + WIDTH)
            for k in range(wide):
                near, far = load(right, k * across + j), load(right, k * across + j + WIDTH)
                entry = spread(-left[r, k])
                first, first_more = add_product(first, entry, near), add_product(first_more, entry, far)
                entry = spread(-left[r + 1, k])
                second, second_more = add_product(second, entry, near), add_product(second_more, entry, far)
            store(rest, a, first)
            store(rest, a + WIDTH, first_more)
            store(rest, b, second)
            store(rest, b + WIDTH, second_more)


@compiled
def add_rows(table: Matrix, sums: Vector) -> None:
    """Add every row to ``sums``."""
    for r in range(table.shape[0]):
        for c in range(table.shape[1]):
            sums[c] += table[r, c]


@compiled
def factor_in_place(upper: Matrix, least_pivot: float) -> bool:
    """Turn the upper triangle of A into U with UᵀU = A, row by row; False at a pivot that is too small."""
    dim, width = upper.shape
    for r in range(dim):
        begin = r - r % WIDTH
        for k in range(r):
            # From the row in question on; entries before the diagonal hold nothing.
            scale = spread(-upper[k, r])
            for c in range(begin, width, WIDTH):
                sums = add_product(load(upper, r * width + c), scale, load(upper, k * width + c))
                store(upper, r * width + c, sums)
        pivot = upper[r, r]
        if not (pivot > least_pivot and pivot < np.inf):
            return False
        root = math.sqrt(pivot)
        upper[r, r] = root
        for c in range(r + 1, dim):
            upper[r, c] /= root
    return True


@compiled
def solve_in_place(lower: Matrix, sides: Matrix) -> None:
    """Solve for every column of ``sides``, whose rows are whole vectors."""
    dim, width = sides.shape
    for r in range(dim):
        for k in range(r):
            scale = spread(-lower[r, k])
            for c in range(0, width, WIDTH):
                sums = add_product(load(sides, r * width + c), scale, load(sides, k * width + c))
                store(sides, r * width + c, sums)
        for c in range(width):
            sides[r, c] /= lower[r, r]


def tiled(rows: int, columns: int) -> Matrix:
    """Zeros, with room to the right so that rows are whole tiles."""
    return aligned_zeros((rows, -(-columns // _TILE) * _TILE))


def _padded(matrix: npt.ArrayLike) -> Matrix:
    values = np.asarray(matrix, float)
    copy = tiled(*values.shape)
    copy[:, : values.shape[1]] = values
    return copy


def _sides(right: npt.ArrayLike) -> Matrix:
    values = np.asarray(right, float)
    return _padded(values if values.ndim == 2 else values[:, None])


def _unpadded(sides: Matrix, right: npt.ArrayLike) -> npt.NDArray[np.float64]:
    if np.ndim(right) == 1:
        return np.ascontiguousarray(sides[:, 0])
    return np.ascontiguousarray(sides[:, : np.shape(right)[1]])
