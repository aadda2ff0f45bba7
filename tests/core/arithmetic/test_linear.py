"""Cross-products, Cholesky factors and triangular systems: right, and in the order that is written."""

from __future__ import annotations

import math

import numpy as np
import pytest
from exact import exact_fma
from hypothesis import given
from hypothesis import strategies as st

from equipoise.core.arithmetic.linear import (
    cholesky,
    column_squares,
    column_sums,
    cross_product,
    dot,
    matvec,
    product,
    scaled_cholesky,
    solve_lower,
    solve_upper,
    subtract_products,
    tiled,
)
from equipoise.core.arithmetic.sums import exact_sum

SIZES = [(1, 1), (5, 3), (12, 8), (130, 9), (300, 37)]


def in_order(left, right, step):
    """LᵀR, one row after the other."""
    total = np.zeros((left.shape[1], right.shape[1]))
    for one, other in zip(left, right, strict=True):
        total = step(total, one[:, None], other[None, :])
    return total


def fused(total, one, other):
    return np.vectorize(exact_fma)(np.broadcast_to(one, total.shape), other, total)


@pytest.mark.parametrize(("rows", "columns"), SIZES[:4])
def test_rows_are_added_in_order(rows, columns):
    rng = np.random.default_rng(rows)
    left, right = rng.normal(size=(rows, columns)), rng.normal(size=(rows, columns + 2))
    # Products rounded on their own or with the sum, as lanes.py does it, but in no other order.
    ways = [in_order(left, right, step) for step in (lambda total, one, other: total + one * other, fused)]
    found = cross_product(left, right)
    assert any(np.array_equal(found, way) for way in ways)
    assert np.array_equal(product(left.T, right), found)
    assert np.array_equal(matvec(right.T, left[:, 0]), found[0])
    assert dot(left[:, 0], right[:, 1]) == found[0, 1]


@pytest.mark.parametrize(("rows", "columns"), SIZES)
def test_cross_product_with_itself(rows, columns):
    x = np.random.default_rng(1).normal(size=(rows, columns))
    assert np.array_equal(cross_product(x), cross_product(x, x))
    assert np.array_equal(cross_product(x), cross_product(x).T)
    np.testing.assert_allclose(cross_product(x), x.T @ x, rtol=1e-12, atol=1e-12)
    assert np.array_equal(cross_product(np.asfortranarray(x)), cross_product(x))


@pytest.mark.parametrize("dim", [1, 2, 3, 4, 5, 8, 17, 64])
def test_factors_and_systems(dim):
    rng = np.random.default_rng(dim)
    moment = cross_product(rng.normal(size=(2 * dim + 3, dim)))
    lower = cholesky(moment)
    assert np.array_equal(lower, np.tril(lower))
    np.testing.assert_allclose(lower, np.linalg.cholesky(moment), rtol=1e-10, atol=1e-13)
    sides = rng.normal(size=(dim, 3))
    for solve, matrix in ((solve_lower, lower), (solve_upper, lower.T)):
        solution = solve(matrix, sides)
        np.testing.assert_allclose(matrix @ solution, sides, atol=1e-11)
        assert np.array_equal(solve(matrix, sides[:, 1]), solution[:, 1])


def test_the_upper_triangle_is_not_read():
    matrix = np.array([[4.0, np.nan], [2.0, 5.0]])
    assert cholesky(matrix).tolist() == [[2.0, 0.0], [1.0, 2.0]]


@pytest.mark.parametrize(
    "matrix", [[[0.0]], [[-1.0]], [[np.nan]], [[np.inf]], [[1.0, 2.0], [2.0, 1.0]], [[1.0, 1.0], [1.0, 1.0]]]
)
def test_no_factor(matrix):
    assert cholesky(matrix) is None


def test_pivots_may_have_to_be_larger():
    matrix = [[1.0, 0.6], [0.6, 1.0]]  # pivots 1 and 0.64
    assert cholesky(matrix, 0.63) is not None
    assert cholesky(matrix, 0.65) is None


def test_nothing_to_add_up():
    assert cross_product(np.zeros((0, 3))).tolist() == np.zeros((3, 3)).tolist()
    assert dot([], []) == 0.0


@given(st.lists(st.floats(-1e300, 1e300)), st.randoms())
def test_sums_do_not_depend_on_the_order(numbers, random):
    shuffled = numbers.copy()
    random.shuffle(shuffled)
    assert exact_sum(numbers) == exact_sum(shuffled) == math.fsum(numbers)


def test_sums_of_anything():
    assert exact_sum([1e308] * 3 + [-1e308] * 3) == 0.0
    assert exact_sum([-1e308] * 3) == -math.inf
    assert exact_sum([math.inf, 1.0]) == math.inf
    assert math.isnan(exact_sum([math.inf, -math.inf]))
    assert exact_sum(np.array([])) == 0.0


def test_sums_of_columns_are_in_the_order_of_the_rows():
    x = np.random.default_rng(2).normal(size=(300, 11)) * 1e3
    for found, terms in ((column_sums(x), x), (column_squares(x), x * x)):
        total = np.zeros(11)
        for row in terms:
            total = total + row
        assert np.array_equal(found, total)
    assert np.array_equal(column_sums(np.asfortranarray(x)), column_sums(x))


def test_products_are_subtracted_in_order():
    rng = np.random.default_rng(3)
    left, right, rest = tiled(6, 5), tiled(8, 3), tiled(6, 3)
    left[:, :5], right[:5, :3], rest[:, :3] = (rng.normal(size=size) for size in ((6, 5), (5, 3), (6, 3)))
    expected = rest[:, :3].copy()
    for k in range(5):
        expected = np.vectorize(exact_fma)(-left[:, k : k + 1], right[k, :3], expected)
    subtract_products(left, right, rest)
    assert np.array_equal(rest[:, :3], expected)
    assert not rest[:, 3:].any()


@pytest.mark.parametrize("unit", [1e-150, 1.0, 1e150])
def test_units_decide_nothing(unit):
    units = np.array([1.0, unit])
    near, singular = (
        np.array([[1.0, 1.0 - gap], [1.0 - gap, 1.0]]) * units * units[:, None] for gap in (1e-9, 0.0)
    )
    lower = scaled_cholesky(near, 1e-12)
    np.testing.assert_allclose(lower @ lower.T / units / units[:, None], near / units / units[:, None])
    assert scaled_cholesky(singular, 1e-12) is None
    assert scaled_cholesky([[0.0]]) is None
    assert scaled_cholesky([[-1.0]]) is None
