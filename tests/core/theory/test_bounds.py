"""Props. 2 and 3, Theorems 1 to 3 and the ridge lemma, against their printed forms and simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest

from equipoise import theory
from equipoise.errors import InvalidArgument

UNEQUAL = [0.01, 0.02, 0.75, 1, 2, 2, 3]


def test_proposition_2_as_printed():
    width = theory.variance_width(pulls=40, dim=10, arms=7, budget=350, bound=3.0, delta=0.05)
    assert width == pytest.approx(3.0 * math.sqrt(64 / 30 * math.log(2 * 7 * 350 / 0.05) ** 2))


def test_proposition_2_holds_in_simulation():
    # The bound is so wide that no violation is expected in any run.
    rng = np.random.default_rng(0)
    dof = np.arange(1, 60)
    strays = np.abs(rng.chisquare(dof, size=(5_000, 59)) / dof - 1.0)
    widths = [
        theory.variance_width(pulls=5 + k, dim=5, arms=1, budget=65, bound=1.0, delta=0.05) for k in dof
    ]
    assert np.all(strays <= widths)


def test_proposition_3_holds_in_simulation():
    rng = np.random.default_rng(1)
    dim, pulls = 3, 400
    lower, upper = theory.trace_bounds(pulls=pulls, dim=dim, arms=1, budget=400, delta=0.05)
    assert 0 < lower < 1 < upper < math.inf
    for _ in range(200):
        x = rng.normal(size=(pulls, dim))
        assert lower <= np.trace(np.linalg.inv(x.T @ x / pulls)) / dim <= upper
    constant = theory.trace_constant(dim=dim, arms=1, budget=400, delta=0.05)
    assert constant == pytest.approx(1 + math.sqrt(2 * math.log(4 * 400 / 0.05) / 3))
    assert upper == pytest.approx((1 + 2 * constant * math.sqrt(dim / pulls)) ** 2)


def test_proposition_3_where_it_says_nothing():
    assert theory.trace_bounds(pulls=11, dim=10, arms=7, budget=350, delta=0.05) == (0.0, math.inf)


def test_theorem_1():
    bound = theory.pulls_lower_bound(noise=UNEQUAL, dim=10, budget=350, bound=3.0, delta=0.05)
    c_delta = 16 * 3.0 * math.log(2 * 7 * 350 / 0.05)
    c_trace = 1 + math.sqrt(2 * math.log(4 * 350 * 7 / 0.05) / 10)
    share = 0.01 / sum(UNEQUAL)
    gap = (c_delta + 8 * c_trace) / 0.01 * math.sqrt(350 * 10 / share)
    ideal = theory.ideal_allocation(noise=UNEQUAL, dim=10, budget=350)
    np.testing.assert_allclose(bound, ideal - gap)
    with pytest.raises(InvalidArgument, match="below the largest"):
        theory.pulls_lower_bound(noise=UNEQUAL, dim=10, budget=350, bound=2.0, delta=0.05)


def test_theorem_2_rate():
    rate = theory.regret_rate(noise=[1.0, 3.0], dim=4, budget=100)
    assert rate == pytest.approx((4 / (0.25 * 100)) ** 1.5)
    again = theory.regret_rate(noise=[1.0, 3.0], dim=4, budget=400)
    assert rate / again == pytest.approx(8.0)
    with pytest.raises(InvalidArgument, match="above zero"):
        theory.regret_rate(noise=[0.0, 1.0], dim=4, budget=100)


def test_theorem_3_leading_term():
    value = theory.high_probability_loss(noise=[1.0, 3.0], dim=4, budget=100, delta=0.1)
    assert value == pytest.approx(0.04 * (4 + 2 * math.log(60)))


def test_norm_corollary_holds_in_simulation():
    rng = np.random.default_rng(2)
    bound = theory.mean_square_norm_bound(pulls=30, dim=4, delta=0.05)
    means = np.mean(rng.chisquare(4, size=(2_000, 30)), axis=1)
    assert np.mean(means > bound) <= 0.05


def test_ridge_lemma_holds_in_simulation():
    # 5 standard errors: fails by chance less than once in 10⁶ seeds.
    rng = np.random.default_rng(3)
    x, coef, ridge, variance = rng.normal(size=(12, 3)), np.array([1.0, -2.0, 3.0]), 2.5, 1.7
    moment = np.diag([1.0, 2.0, 0.5])
    y = x @ coef + math.sqrt(variance) * rng.normal(size=(20_000, 12))
    estimates = np.linalg.solve(x.T @ x + ridge * np.eye(3), x.T @ y.T).T - coef
    errors = np.einsum("ti,ij,tj->t", estimates, moment, estimates)
    expected = theory.ridge_loss(moment, x.T @ x, variance, coef, ridge)
    assert abs(errors.mean() - expected) < 5 * errors.std() / math.sqrt(20_000)


@pytest.mark.parametrize("delta", [0.0, 1.0, -0.1, 2.0])
def test_bad_delta(delta):
    for call in (
        lambda: theory.variance_width(pulls=9, dim=2, arms=2, budget=50, bound=1.0, delta=delta),
        lambda: theory.trace_bounds(pulls=9, dim=2, arms=2, budget=50, delta=delta),
        lambda: theory.high_probability_loss(noise=[1.0], dim=2, budget=50, delta=delta),
        lambda: theory.mean_square_norm_bound(pulls=9, dim=2, delta=delta),
    ):
        with pytest.raises(InvalidArgument, match="delta"):
            call()


def test_too_few_pulls():
    for call in (
        lambda: theory.variance_width(pulls=2, dim=2, arms=2, budget=50, bound=1.0, delta=0.1),
        lambda: theory.trace_bounds(pulls=2, dim=2, arms=2, budget=50, delta=0.1),
        lambda: theory.mean_square_norm_bound(pulls=2, dim=2, delta=0.1),
    ):
        with pytest.raises(InvalidArgument, match="d \\+ 1 = 3"):
            call()
