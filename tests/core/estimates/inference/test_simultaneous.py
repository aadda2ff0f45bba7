"""Intervals of sums of variance estimates: Welch's, and the bound that holds for all at once."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from equipoise.core.estimates.inference.simultaneous import Spread


def spread_of(variances, dof, inflation=None):
    variances, dof = np.atleast_2d(variances), np.atleast_2d(dof)
    factor = np.ones(variances.shape) if inflation is None else np.atleast_2d(inflation)
    return Spread(np.asarray(variances, float), np.asarray(dof, float), np.asarray(factor, float))


def test_one_term_is_the_t_interval():
    spread = spread_of([4.0, 9.0], [5, 12])
    np.testing.assert_allclose(spread.half(0.9), stats.t.ppf(0.95, [5, 12]) * [2.0, 3.0])
    level = 0.5 + 0.5 * math.sqrt(0.9)  # Šidák's for two
    np.testing.assert_allclose(spread.half_of_all(0.9), stats.t.ppf(level, [5, 12]) * [2.0, 3.0])
    p = 2 * stats.t.sf([1.5, 1.0], [5, 12])
    np.testing.assert_allclose(spread.p_values(np.array([3.0, -3.0])), p)
    np.testing.assert_allclose(spread.p_values_of_all(np.array([3.0, -3.0])), 1 - (1 - p) ** 2)


@pytest.mark.parametrize(("dofs", "most"), [((2, 20), 1), ((4, 30), 21), ((6, 6), 210), ((1, 20), 21)])
def test_the_bound_of_all_holds_whatever_the_two_noises_are(dofs, most):
    """Given the variance estimates errors are Gaussian, so chances are averaged and not drawn.

    Errors of the averages are below 2 % of the level's, so a bound that just holds fails never.
    """
    rng = np.random.default_rng(4)
    estimates = rng.chisquare(np.array(dofs)[:, None], size=(2, 40_000)) / np.array(dofs)[:, None]
    for share in (0.02, 0.3, 0.7, 0.98):
        variances = np.array([[share], [1.0 - share]]) * estimates
        spread = spread_of(variances, np.broadcast_to(np.array(dofs)[:, None], variances.shape))
        level = 1.0 - 0.95 ** (1.0 / most)
        missed = np.mean(2.0 * stats.norm.sf(spread._root(np.full(40_000, level))))
        assert missed <= 1.02 * level


def test_welch_would_not_hold():
    """Why all at once are not Welch's: an arm with two degrees of freedom can look quiet and not be."""
    rng = np.random.default_rng(4)
    estimates = rng.chisquare([[2], [20]], size=(2, 40_000)) / np.array([[2], [20]])
    variances = np.array([[0.95], [0.05]]) * estimates
    spread = spread_of(variances, np.broadcast_to([[2], [20]], variances.shape))
    level = 1.0 - 0.95 ** (1.0 / 210)
    assert np.mean(2.0 * stats.norm.sf(spread.half(1.0 - level))) > 5.0 * level


def test_adaptive_allocation_counts_twice_for_all_at_once():
    plain, adaptive = spread_of([1.0, 1.0], [9, 9]), spread_of([1.2, 1.2], [9, 9], [1.2, 1.2])
    np.testing.assert_allclose(adaptive.half(0.95), math.sqrt(1.2) * plain.half(0.95))
    np.testing.assert_allclose(adaptive.half_of_all(0.95), 1.2 * plain.half_of_all(0.95))


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 2), st.integers(1, 30), st.sampled_from([0.5, 0.9, 0.95]))
def test_p_values_agree_with_intervals(seed, terms, count, confidence):
    rng = np.random.default_rng(seed)
    spread = spread_of(
        rng.exponential(size=(terms, count)),
        rng.integers(1, 40, size=(terms, count)),
        1.0 + rng.exponential(size=(terms, count)),
    )
    values = 4.0 * rng.normal(size=count)
    each, all_of = spread.half(confidence), spread.half_of_all(confidence)
    assert np.all(all_of >= each)
    np.testing.assert_array_equal(np.abs(values) > each, spread.p_values(values) < 1.0 - confidence)
    np.testing.assert_array_equal(np.abs(values) > all_of, spread.p_values_of_all(values) < 1.0 - confidence)
    assert np.all(spread.p_values_of_all(values) >= spread.p_values(values))


def test_what_is_not_known_is_not_counted():
    known = spread_of([[1.0], [2.0]], [[5], [9]])
    among = spread_of([[1.0, math.inf, 1.0], [2.0, 1.0, 1.0]], [[5, 0, 0], [9, 3, 3]])
    assert among.known.tolist() == [True, False, False]
    for name in ("half", "half_of_all"):
        assert getattr(among, name)(0.95).tolist() == [*getattr(known, name)(0.95), math.inf, math.inf]
    values = np.array([3.0, math.nan, 3.0])
    assert among.p_values_of_all(values)[0] == known.p_values_of_all(values[:1])[0]
    assert np.isnan(among.p_values(values)[1:]).all()
    assert np.isnan(among.p_values_of_all(values)[1:]).all()
    assert among.stderr.tolist() == [math.sqrt(3.0), math.inf, math.inf]
    assert among.freedom[1:].tolist() == [0.0, 0.0]


def test_without_noise_a_number_is_zero_or_not():
    spread = spread_of([0.0, 0.0], [5, 5])
    assert spread.half_of_all(0.95).tolist() == [0.0, 0.0]
    for p in (spread.p_values, spread.p_values_of_all):
        assert p(np.array([0.0, 1e-9])).tolist() == [1.0, 0.0]
