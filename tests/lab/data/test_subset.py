"""Dense subsets: the search finds the best sets of small matrices and is never worse than popularity."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from equipoise.lab.data.matrix import RatingMatrix
from equipoise.lab.data.subset import _Ratings, choose_items, complete_users


def matrix_of(rated) -> RatingMatrix:
    rated = np.asarray(rated, dtype=np.uint8)
    return RatingMatrix(
        source="test", codes=rated, missing=0, unit=1.0, low=0.0, high=1.0,
        item_names=tuple(map(str, range(rated.shape[1]))), counts=rated.sum(axis=1).astype(np.int64),
        total_users=len(rated), total_items=rated.shape[1], total_ratings=int(rated.sum()),
    )  # fmt: skip


def users_for(matrix, items, method):
    chosen = choose_items(matrix, items, method)
    assert len(set(chosen.tolist())) == items
    popularity = matrix.rated().sum(axis=0)[chosen]
    assert (np.diff(popularity) <= 0).all()
    return len(complete_users(matrix, chosen))


matrices = st.tuples(st.integers(1, 70), st.integers(1, 7)).flatmap(
    lambda shape: arrays.arrays(np.uint8, shape, elements=st.integers(0, 1))
)


@given(matrices.filter(np.any), st.data())
def test_search_is_never_worse_and_close_to_the_best(rated, data):
    items = data.draw(st.integers(1, rated.shape[1]))
    matrix = matrix_of(rated)
    popular, searched = (users_for(matrix, items, method) for method in ("popular", "search"))
    best = max(
        rated[:, list(s)].all(axis=1).sum() for s in itertools.combinations(range(rated.shape[1]), items)
    )
    assert popular <= searched <= best
    # So few items that all are starts and every exchange is seen.
    assert searched == best


@given(matrices.filter(np.any), st.data())
def test_no_single_exchange_is_left_that_gains_users(rated, data):
    width = rated.shape[1]
    start = np.array(data.draw(st.permutations(range(width)))[: data.draw(st.integers(1, width))])
    rated = rated.astype(bool)
    chosen, users = _Ratings(rated, len(start)).exchange(start)
    assert rated[:, chosen].all(axis=1).sum() == users >= rated[:, start].all(axis=1).sum()
    for place, new in itertools.product(range(len(chosen)), set(range(width)) - set(chosen.tolist())):
        other = [*chosen[:place], new, *chosen[place + 1 :]]
        assert rated[:, other].all(axis=1).sum() <= users


@pytest.mark.parametrize("seed", range(3))
def test_a_planted_block_is_found(seed):
    """250 users who rated the same 10 items, among items that more users rated."""
    random = np.random.default_rng(seed)
    rated = random.uniform(size=(2_000, 120)) < np.linspace(0.45, 0.05, 120)
    block = np.sort(random.choice(np.arange(20, 60), 10, replace=False))
    rated[np.ix_(random.choice(2_000, 250, replace=False), block)] = True
    matrix = matrix_of(rated)
    assert set(choose_items(matrix, 10, "search").tolist()) == set(block.tolist())
    assert users_for(matrix, 10, "popular") < 50


def test_the_same_matrix_gives_the_same_items():
    matrix = matrix_of(np.random.default_rng(3).uniform(size=(300, 40)) < 0.4)
    first, again = (choose_items(matrix, 6, "search") for _ in range(2))
    np.testing.assert_array_equal(first, again)


def test_nobody_is_complete():
    matrix = matrix_of(np.eye(4))
    assert users_for(matrix, 3, "search") == 0
