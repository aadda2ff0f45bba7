"""The loss of Sparse-Trace-UCB and of a static lasso, against their printed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise import theory
from equipoise.errors import InvalidArgument

noises = st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=8)


def printed(noise, s, n, L, delta):
    m, total, left = len(noise), sum(noise), n - L * len(noise)
    c = 2 * (1 + math.sqrt(2 * math.log(12 * m * n / delta) / s))
    first = total / left * (s + 2 * math.log(3 * m / delta))
    return first + 2 * c / math.sqrt(min(noise)) * (s * total / left) ** 1.5


@given(noise=noises, s=st.integers(1, 20), L=st.integers(0, 50), extra=st.integers(0, 10**6))
def test_sparse_theorem_as_printed(noise, s, L, extra):
    n = (L + s + 1) * len(noise) + extra
    bound = theory.sparse_loss_bound(noise=noise, sparsity=s, budget=n, pulls=L, delta=0.07)
    assert bound == pytest.approx(printed(noise, s, n, L, 0.07))


@given(
    noise=noises, s=st.integers(1, 6), dim=st.integers(8, 500), c1=st.integers(10, 50), c2=st.integers(1, 4)
)
def test_corollary_follows_by_substitution(noise, s, dim, c1, c2):
    # n = C₁·m·s·log d and L = C₂·s·log d, with log d rounded so that both are whole.
    m, log, total = len(noise), round(math.log(dim)), sum(noise)
    n, rest = c1 * m * s * log, (c1 - c2) * m * log
    bound = theory.sparse_loss_bound(noise=noise, sparsity=s, budget=n, pulls=c2 * s * log, delta=0.1)
    c = 2 * (1 + math.sqrt(2 * math.log(12 * m * n / 0.1) / s))
    corollary = total / (rest * s) * (s + 2 * math.log(3 * m / 0.1))
    corollary += 2 * c / math.sqrt(min(noise)) * (total / rest) ** 1.5
    assert bound == pytest.approx(corollary)


@given(noise=noises, s=st.integers(0, 10), L=st.integers(0, 30), scale=st.floats(0.1, 10.0))
def test_loss_bound_falls_with_the_budget_and_scales_with_the_noise(noise, s, L, scale):
    least = (L + s + 1) * len(noise)
    terms = {"noise": noise, "sparsity": s, "pulls": L, "delta": 0.05}
    bounds = [
        theory.sparse_loss_bound(**terms, budget=n) for n in (least, least + 1, 2 * least + 1, 9 * least)
    ]
    assert bounds == sorted(bounds, reverse=True)
    assert len(set(bounds)) == 4
    scaled = theory.sparse_loss_bound(**terms | {"noise": np.multiply(noise, scale)}, budget=least)
    assert scaled == pytest.approx(scale * bounds[0])
    wasteful = theory.sparse_loss_bound(**terms | {"pulls": L + 1}, budget=9 * least)
    assert wasteful > bounds[3]


def test_first_term_is_theorem_3_on_the_support():
    # A large budget leaves the first term alone, and L is paid for.
    n = 10**13
    bound = theory.sparse_loss_bound(noise=[1.0, 3.0], sparsity=4, budget=n, pulls=n // 4, delta=0.1)
    leading = theory.high_probability_loss(noise=[1.0, 3.0], dim=4, budget=n // 2, delta=0.1)
    assert bound == pytest.approx(leading, rel=1e-4)
    assert bound > leading


def test_nothing_to_estimate_and_one_arm():
    bound = theory.sparse_loss_bound(noise=[2.0], sparsity=0, budget=100, pulls=50, delta=0.1)
    assert bound == pytest.approx(2.0 / 50 * 2 * math.log(30))


def test_budgets_that_the_theorem_does_not_cover():
    terms = {"noise": [1.0, 1.0], "sparsity": 4, "pulls": 10, "delta": 0.1}
    assert theory.sparse_loss_bound(**terms, budget=30) > 0
    with pytest.raises(InvalidArgument, match=r"n − Lm = 9 .* below \(s\+1\)m = 10 .* at least 30"):
        theory.sparse_loss_bound(**terms, budget=29)
    for wrong in ({"noise": [0.0, 1.0]}, {"noise": []}, {"sparsity": -1}, {"pulls": -1}, {"pulls": 1.5}):
        with pytest.raises(InvalidArgument):
            theory.sparse_loss_bound(**terms | wrong, budget=100)
    for delta in (0.0, 1.0, -0.1):
        with pytest.raises(InvalidArgument, match="delta"):
            theory.sparse_loss_bound(**terms | {"delta": delta}, budget=100)


@given(noise=noises, s=st.integers(1, 20), dim=st.integers(20, 900), n=st.integers(1, 10**6))
def test_static_lasso_is_level_over_arms(noise, s, dim, n):
    bound = theory.static_lasso_bound(
        noise=noise, sparsity=s, dim=dim, budget=n, restricted_eigenvalue=0.3, c=2.0, tau=2.5
    )
    counts = theory.optimal_shares(noise) * n
    arms = 2.0**2 * np.array(noise) / 0.3**2 * 2.5 * s * math.log(dim) / counts
    np.testing.assert_allclose(arms, bound, rtol=1e-9)


def test_static_lasso_edges():
    terms = {
        "noise": [1.0, 2.0],
        "sparsity": 3,
        "dim": 50,
        "budget": 100,
        "restricted_eigenvalue": 0.5,
        "c": 1.0,
    }
    bound = theory.static_lasso_bound(**terms)
    assert bound == pytest.approx(3.0 / 0.25 * 3.0 * 3 * math.log(50) / 100)
    assert theory.static_lasso_bound(**terms | {"budget": 400}) == pytest.approx(bound / 4)
    assert theory.static_lasso_bound(**terms | {"noise": [0.0, 0.0]}) == 0.0
    assert theory.static_lasso_bound(**terms | {"sparsity": 0}) == 0.0
    assert theory.static_lasso_bound(**terms | {"sparsity": 50}) > bound
    for name, value in {
        "tau": 2.0,
        "c": 0.0,
        "restricted_eigenvalue": -1.0,
        "dim": 1,
        "sparsity": 51,
        "budget": 0,
    }.items():
        with pytest.raises(InvalidArgument, match=name):
            theory.static_lasso_bound(**terms | {name: value})
