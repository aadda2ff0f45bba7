"""Prop. 1 and what follows from it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise import theory
from equipoise.errors import InvalidArgument

UNEQUAL = [0.01, 0.02, 0.75, 1, 2, 2, 3]
noises = st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=8)
dims = st.integers(1, 12)


@given(
    noise=noises, dim=dims, extra=st.integers(0, 500), objective=st.sampled_from(["max", "mean", 2.0, 7.5])
)
def test_allocation_sums_to_the_budget(noise, dim, extra, objective):
    budget = len(noise) * (dim + 1) + extra
    counts = theory.optimal_allocation(noise=noise, dim=dim, budget=budget, objective=objective)
    assert counts.sum() == budget
    assert counts.min() >= dim + 1
    ideal = theory.ideal_allocation(noise=noise, dim=dim, budget=budget, objective=objective)
    assert np.all(np.abs(counts - ideal) < 1 + 1e-6)


@given(noise=noises, dim=dims, extra=st.integers(1, 500))
def test_ideal_allocation_is_equation_7(noise, dim, extra):
    budget = len(noise) * (dim + 1) + extra
    ideal = theory.ideal_allocation(noise=noise, dim=dim, budget=budget)
    s = np.array(noise)
    np.testing.assert_allclose(ideal, s / s.sum() * budget + (dim + 1) * (1 - s / s.mean()), rtol=1e-9)
    losses = theory.static_losses(noise, ideal, dim)
    np.testing.assert_allclose(losses, theory.optimal_loss(noise, dim, budget), rtol=1e-6)


@pytest.mark.parametrize("objective", ["max", "mean", 3.0])
@pytest.mark.parametrize("weights", [[1.0, 1.0], [1.0, 5.0]])
def test_allocation_is_the_best_split(objective, weights):
    noise, dim, budget = [0.5, 2.0], 3, 80
    best = min(
        theory.static_loss(noise, [k, budget - k], dim, objective, weights) for k in range(4, budget - 3)
    )
    settings = {"noise": noise, "dim": dim, "budget": budget, "objective": objective, "weights": weights}
    chosen = theory.best_allocation(**settings)
    assert theory.static_loss(noise, chosen, dim, objective, weights) == pytest.approx(best, rel=1e-12)
    rounded = theory.optimal_allocation(**settings)
    assert np.all(np.abs(rounded - chosen) <= 1)


def test_the_best_allocation_leaves_no_arm_without_a_finite_loss():
    # Twenty quiet arms: largest remainders give each d + 1 units, where dσ²/(k−d−1) is infinite.
    noise = [1e-6] * 20 + [1000.0]
    terms = {"noise": noise, "dim": 3, "budget": 150}
    assert math.isinf(theory.static_loss(noise, theory.optimal_allocation(**terms), 3))
    chosen = theory.best_allocation(**terms)
    assert chosen.tolist() == [5] * 20 + [50]
    # With less than d + 2 units an arm some loss is infinite whatever is done.
    assert sorted(theory.best_allocation(**terms | {"budget": 90})) == [4] * 15 + [5] * 6


@pytest.mark.parametrize("objective", ["max", "mean", 3.0])
def test_the_best_allocation_with_limits_is_the_best_of_all(objective):
    noise, dim, budget, floors, caps = [0.2, 1.0, 4.0], 2, 30, [0, 9, 0], [30, 30, 14]
    terms = {"noise": noise, "dim": dim, "budget": budget, "objective": objective}
    allowed = [
        (i, j, budget - i - j) for i in range(3, 31) for j in range(9, 31) if 3 <= budget - i - j <= 14
    ]
    best = min(theory.static_loss(noise, counts, dim, objective) for counts in allowed)
    chosen = theory.best_allocation(**terms, floors=floors, caps=caps)
    assert tuple(chosen) in allowed
    assert theory.static_loss(noise, chosen, dim, objective) == pytest.approx(best, rel=1e-12)


def test_ties_of_the_best_allocation_go_where_one_says():
    terms = {"noise": [1.0, 1.0, 1.0], "dim": 2, "budget": 20}
    assert theory.best_allocation(**terms).tolist() == [7, 7, 6]
    assert theory.best_allocation(**terms, tie_break=[2, 1, 0]).tolist() == [6, 7, 7]


def test_the_bounds_of_proposition_1():
    for budget in (154, 200, 5_000):
        lower, upper = theory.optimal_loss_bounds(UNEQUAL, 10, budget)
        assert lower <= theory.optimal_loss(UNEQUAL, 10, budget) <= upper * (1 + 1e-12)
    assert upper == pytest.approx(2 * lower)
    with pytest.raises(InvalidArgument, match="from n = 2m"):
        theory.optimal_loss_bounds(UNEQUAL, 10, 153)


def test_edges():
    assert theory.optimal_loss(UNEQUAL, 10, 77) == math.inf
    assert theory.static_losses([1.0, 0.0], [11, 5], 10).tolist() == [math.inf, 0.0]
    assert theory.optimal_allocation(noise=[0.0, 0.0], dim=1, budget=10).tolist() == [5, 5]
    assert theory.uniform_allocation(3, 11).tolist() == [4, 4, 3]
    assert theory.wild_arms(UNEQUAL).tolist() == [False] * 4 + [True] * 3
    with pytest.raises(InvalidArgument, match="below m"):
        theory.optimal_allocation(noise=[1.0, 1.0], dim=3, budget=7)


@pytest.mark.parametrize("noise", [[], [-1.0], [math.nan], ["x"], [[1.0]], None, [math.inf]])
def test_bad_noise(noise):
    with pytest.raises(InvalidArgument, match="not a list of variances"):
        theory.static_losses(noise, [20], 3)


def test_equal_remainders_follow_the_tie_break():
    assert theory.optimal_allocation(noise=[1.0, 1.0], dim=1, budget=9).tolist() == [5, 4]
    assert theory.optimal_allocation(noise=[1.0, 1.0], dim=1, budget=9, tie_break=[1, 0]).tolist() == [4, 5]


@pytest.mark.parametrize("objective", ["max", "mean", 3.0])
@pytest.mark.parametrize("costs", [[1.0, 4.0], [2.5, 0.5], [3.0, 3.0]])
def test_allocation_is_the_best_buy(objective, costs):
    noise, dim, budget, weights = [0.5, 2.0], 3, 150.0, [2.0, 1.0]
    most = [int(budget // cost) for cost in costs]
    affordable = (
        (k, int((budget - k * costs[0]) // costs[1])) for k in range(4, most[0]) if budget - k * costs[0] > 0
    )
    best = min(theory.static_loss(noise, pair, dim, objective, weights) for pair in affordable)
    terms = {"noise": noise, "dim": dim, "budget": budget, "objective": objective, "weights": weights}
    chosen = theory.best_allocation(**terms, costs=costs)
    assert np.dot(chosen, costs) <= budget
    assert theory.static_loss(noise, chosen, dim, objective, weights) <= best * (1 + 0.01)
    ideal = theory.ideal_allocation(**terms, costs=costs)
    assert np.dot(ideal, costs) == pytest.approx(budget)
    assert theory.static_loss(noise, ideal, dim, objective, weights) <= best * (1 + 1e-9)


@given(noise=noises, dim=dims, extra=st.floats(0, 500), data=st.data())
def test_static_allocations_keep_limits(noise, dim, extra, data):
    m = len(noise)

    def drawn(strategy):
        return np.array(data.draw(st.lists(strategy, min_size=m, max_size=m)), float)

    costs = drawn(st.sampled_from([0.3, 1.0, 2.5]))
    floors = drawn(st.integers(0, 40))
    caps = np.maximum(drawn(st.sampled_from([50, 80, np.inf])), dim + 1)
    least = float(np.sum(costs * np.maximum(floors, dim + 1)))
    budget = min(least + extra, float(np.sum(costs * caps)))
    objective = data.draw(st.sampled_from(["max", "mean", 2.0]))
    terms = {"noise": noise, "dim": dim, "budget": budget, "objective": objective, "costs": costs}
    terms |= {"floors": floors, "caps": caps}
    ideal = theory.ideal_allocation(**terms)
    assert np.sum(costs * ideal) == pytest.approx(budget)
    for counts in (ideal, theory.optimal_allocation(**terms)):
        assert np.all(counts <= caps * (1 + 1e-9))
        assert np.all(counts >= np.maximum(floors, dim + 1) - 1e-9)
        assert np.sum(costs * counts) <= budget * (1 + 1e-9)
    # Nobody between floor and cap would rather have another's money: k − d − 1 ∝ need for all of them.
    inside = (ideal > np.maximum(floors, dim + 1) + 1e-6) & (ideal < caps - 1e-6)
    shares = theory.optimal_shares(noise, objective, costs=costs)
    levels = ((ideal - dim - 1) / shares)[inside]
    np.testing.assert_allclose(levels, levels[:1].repeat(len(levels)), rtol=1e-6)


def test_costs_of_one_are_no_costs():
    for extra in (0, 1, 37, 200):
        terms = {"noise": UNEQUAL, "dim": 4, "budget": 35 + extra, "objective": 2.0}
        for function in (theory.ideal_allocation, theory.optimal_allocation, theory.best_allocation):
            assert function(**terms, costs=[1.0] * 7).tolist() == function(**terms).tolist()
    assert theory.uniform_allocation(3, 11.0, [1.0, 1.0, 1.0]).tolist() == [4, 4, 3]
    assert theory.uniform_allocation(2, 11.0, [1.0, 2.0]).tolist() == [4, 3]
    assert theory.optimal_loss(UNEQUAL, 4, 100, 3.0) == pytest.approx(
        theory.optimal_loss(UNEQUAL, 4, 100 / 3)
    )


def test_optimal_loss_with_costs_is_that_of_the_ideal_allocation():
    noise, costs = [0.5, 2.0, 1.0], [1.0, 3.0, 0.5]
    ideal = theory.ideal_allocation(noise=noise, dim=3, budget=100, costs=costs)
    loss = theory.optimal_loss(noise, 3, 100, costs)
    assert theory.static_losses(noise, ideal, 3).tolist() == pytest.approx([loss] * 3)


@pytest.mark.parametrize("costs", [[1.0, 2.0, 3.0], [0.0, 1.0], "x", [1.0, math.inf]])
def test_bad_costs(costs):
    with pytest.raises(InvalidArgument, match=r"costs .* are not positive numbers"):
        theory.optimal_shares([1.0, 2.0], costs=costs)


def test_noiseless_arms_share_what_others_may_not_have():
    ideal = theory.ideal_allocation(noise=[0.0, 0.0, 4.0], dim=1, budget=40, caps=[np.inf, np.inf, 10])
    assert ideal.tolist() == [15, 15, 10]
