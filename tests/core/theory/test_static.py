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
