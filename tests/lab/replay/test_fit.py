"""The whole table's moments: redundant columns, best models, rounding."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import equipoise as eq
from equipoise.lab.replay import fit as fit_module
from equipoise.lab.replay.fit import CENTERS, fit_table, redundant_columns
from equipoise.lab.replay.table import ReplayTable


def table_of(contexts, targets=None):
    contexts = np.ascontiguousarray(contexts, dtype=float)
    targets = np.ones((len(contexts), 1)) if targets is None else np.ascontiguousarray(targets, dtype=float)
    names = tuple(f"x{c}" for c in range(contexts.shape[1])), tuple(f"y{i}" for i in range(targets.shape[1]))
    return ReplayTable("table", contexts, targets, *names)


@pytest.mark.parametrize("center", CENTERS)
@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e7])
def test_best_models_are_least_squares(center, scale):
    rng = np.random.default_rng(1)
    contexts = rng.normal(size=(20_000, 3)) * [1.0, 1e3, 1e-3] + [0.0, 5e4, 1.0]
    targets = contexts @ rng.normal(size=(3, 2)) + rng.normal(size=(20_000, 2)) * [1.0, 0.1] + 3.0
    fit = fit_table(table_of(contexts, targets * scale), center)
    x = contexts if center == "none" else contexts - contexts.mean(axis=0)
    y = targets * scale - (targets.mean(axis=0) * scale if center == "table" else 0.0)
    if center == "intercept":
        x = np.column_stack([np.ones(len(x)), x])
    expected, rss, *_ = np.linalg.lstsq(x, y, rcond=None)
    np.testing.assert_allclose(fit.best.T, expected, rtol=1e-7, atol=1e-10 * scale)
    np.testing.assert_allclose(fit.residual, rss / len(x), rtol=1e-10)
    np.testing.assert_allclose(fit.noise, rss / (len(x) - x.shape[1]), rtol=1e-10)
    np.testing.assert_allclose(fit.moment, x.T @ x / len(x), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("rows_a_block", [4, 100, 1024])
def test_blocks_change_no_bit(rows_a_block, monkeypatch):
    """Sums go over the rows in their order, wherever a block ends."""
    rng = np.random.default_rng(2)
    contexts = rng.normal(size=(1003, 9)) + 4.0
    contexts[:, 5] = contexts[:, 1] - 2.0 * contexts[:, 3]
    table = table_of(contexts, contexts[:, :3] + rng.normal(size=(1003, 3)))
    whole = fit_table(table, "intercept")
    monkeypatch.setattr(fit_module, "_ROWS_A_BLOCK", rows_a_block)
    parts = fit_table(table, "intercept")
    assert whole.kept.tolist() == parts.kept.tolist() == [0, 1, 2, 3, 4, 6, 7, 8]
    for name in ("shift", "moment", "best", "residual", "noise"):
        assert getattr(whole, name).tobytes() == getattr(parts, name).tobytes()


@given(st.integers(0, 2**32), st.integers(1, 4), st.lists(st.integers(0, 9), min_size=1, max_size=4))
def test_combinations_of_other_columns_are_redundant(seed, dim, copies):
    """Whatever combinations are put behind independent columns, they and only they are left out."""
    rng = np.random.default_rng(seed)
    base = rng.normal(size=(60, dim)) * 10.0 ** rng.integers(-4, 5, dim)
    mixed = [base @ (rng.normal(size=dim) / base.std(axis=0)) + 7.0 * copy for copy in copies]
    table = table_of(np.column_stack([base, *mixed]))
    fit = fit_table(table, "intercept")
    assert fit.kept.tolist() == list(range(dim))
    assert redundant_columns(table, fit) == tuple(f"x{dim + place}" for place in range(len(copies)))


@pytest.mark.parametrize(("center", "kept"), [("intercept", [1]), ("table", [1]), ("none", [0, 1])])
def test_constants_are_redundant_where_a_mean_is_learned(center, kept):
    rng = np.random.default_rng(2)
    columns = np.column_stack([np.full(100, 0.1), rng.normal(size=100), np.zeros(100)])
    fit = fit_table(table_of(columns), center)
    assert fit.kept.tolist() == kept


def test_one_hot_with_an_intercept():
    codes = np.arange(90) % 3
    table = table_of(np.eye(3)[codes], (codes == 1)[:, None] * 2.0 + np.sin(np.arange(90))[:, None])
    fit = fit_table(table, "intercept")
    assert redundant_columns(table, fit) == ("x2",)
    assert fit_table(table, "none").kept.tolist() == [0, 1, 2]


def test_almost_equal_columns_are_both_kept():
    rng = np.random.default_rng(3)
    x = rng.normal(size=1_000)
    fit = fit_table(table_of(np.column_stack([x, x + 1e-3 * rng.normal(size=1_000)])), "intercept")
    assert len(fit.kept) == 2


@pytest.mark.parametrize("center", CENTERS)
def test_targets_that_need_no_noise(center):
    rng = np.random.default_rng(4)
    x = rng.normal(size=(200, 2))
    exact = np.column_stack([x @ [0.3, 0.7], np.zeros(200)])
    fit = fit_table(table_of(x, exact), center)
    assert fit.noise.tolist() == [0.0, 0.0]
    if center != "none":
        assert fit_table(table_of(x, np.full((200, 1), 0.1)), center).noise.tolist() == [0.0]


def test_no_column_varies():
    with pytest.raises(eq.errors.InvalidTable, match="no context column varies"):
        eq.replay({"x": [1.0] * 9, "y": range(9)}, ["uniform"], targets=["y"], budget=4, center="table")
