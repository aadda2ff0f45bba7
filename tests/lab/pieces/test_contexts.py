"""Contexts that are skewed, rare, differ by site or drift: moments, and the truth under curvature.

A comparison at 6 standard errors fails for one seed in 5·10⁸, a p-value below 10⁻⁶ for one in 10⁶.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from single_trials import drawn

import equipoise as eq
from equipoise.lab.pieces import (
    BinaryContexts,
    DiscreteContexts,
    DriftingContexts,
    GaussianContexts,
    SiteContexts,
    SkewedContexts,
    StudentContexts,
)
from equipoise.lab.trial.run import draw_outcomes, open_trial
from equipoise.lab.trial.world import Draws

RARE = 1e-6
MATRIX = ((2.0, 0.6, -0.3), (0.6, 1.0, 0.2), (-0.3, 0.2, 0.5))


def scenario(**pieces):
    return eq.Scenario(**{"noise": (0.0, 0.0), "dim": 3, "budget": 100, **pieces})


def contexts_of(given, count, trial=0):
    return drawn(given.replace(budget=count), 1, trial).contexts[0]


def trials_of(given, trials):
    """Contexts of many trials."""
    draws, parts = Draws(given, 3), []
    for first in range(0, trials, draws.block):
        count = min(draws.block, trials - first)
        draws.draw(first, count)
        parts.append(draws.world.contexts[:count].copy())
    return np.concatenate(parts)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(
    "contexts",
    [
        SkewedContexts(),
        SkewedContexts(shape=4.0, covariance=MATRIX),
        BinaryContexts(share=0.05),
        BinaryContexts(share=0.7, covariance="ar1:0.5"),
    ],
    ids=repr,
)
def test_moments_up_to_the_third(contexts, intercept):
    given = scenario(contexts=contexts, intercept=intercept, dim=3 + intercept)
    x = contexts_of(given, 200_000)
    products = x[:, :, None] * x[:, None, :]
    stderr = products.std(axis=0) / math.sqrt(len(x))
    assert np.all(np.abs(products.mean(axis=0) - given.true_moment()) <= 6 * stderr + 1e-12)
    features = x[:, intercept:]
    assert np.all(np.abs(features.mean(axis=0)) < 6 * features.std(axis=0) / math.sqrt(len(x)))
    # The features before they were mixed are independent, with the stated skewness.
    root = np.linalg.cholesky(contexts.covariance_matrix(3))
    cubes = np.linalg.solve(root, features.T) ** 3
    stderr = cubes.std(axis=1) / math.sqrt(len(x))
    assert np.all(np.abs(cubes.mean(axis=1) - contexts.skewness) < 6 * stderr)


def test_skewed_contexts_of_shape_one_are_exponential():
    x = contexts_of(scenario(contexts=SkewedContexts()), 50_000)
    for c in range(3):
        assert stats.kstest(x[:, c] + 1.0, "expon").pvalue > RARE


def test_binary_contexts_have_two_values():
    x = contexts_of(scenario(contexts=BinaryContexts(share=0.2)), 50_000)
    assert sorted(np.unique(x)) == pytest.approx([-0.5, 2.0])
    assert abs(np.mean(x > 0) - 0.2) < 6 * math.sqrt(0.16 / x.size)


def test_sites_come_one_after_the_other():
    given = scenario(contexts=SiteContexts(sites=4, between=0.3), budget=400)
    x = trials_of(given, 3_000)
    means = x.reshape(3_000, 4, 100, 3).mean(axis=2)
    # Means of 100 units vary by 0.3 between sites and by 0.7/100 within them.
    values = means.reshape(-1, 3) / math.sqrt(0.3 + 0.007)
    for c in range(3):
        assert stats.kstest(values[:, c], "norm").pvalue > RARE
    assert abs(np.mean(means[:, 0, 0] * means[:, 1, 0])) < 6 * 0.307 / math.sqrt(3_000)
    within = x.reshape(3_000, 4, 100, 3) - means[:, :, None, :]
    assert np.mean(within**2) == pytest.approx(0.7 * 0.99, rel=0.01)
    np.testing.assert_array_equal(given.true_moment(), np.eye(3))


def test_drifting_contexts_move_by_their_shift():
    given = scenario(contexts=DriftingContexts(shift=2.0), budget=50, dim=2)
    x = trials_of(given, 20_000)
    # Up or down is drawn for every feature and trial; the size of the move is what was said.
    slopes = np.linalg.lstsq(np.arange(50.0)[:, None] - 24.5, x[:, :, 0].T, rcond=None)[0][0] * 50
    assert abs(np.mean(slopes > 0) - 0.5) < 6 * 0.5 / math.sqrt(20_000)
    assert np.mean(np.abs(slopes)) == pytest.approx(2.0, rel=0.01)
    squares = np.mean(x**2, axis=(0, 1))
    # Feature by feature, over units and trials, the variance is 1.
    assert np.all(np.abs(squares - 1.0) < 6 * math.sqrt(2 / x[:, :, 0].size))
    up = np.sign(slopes)[:, None]
    assert np.mean(x[:, 0, :1] * up) == pytest.approx(-0.98, abs=0.05)
    assert np.mean(x[:, -1, :1] * up) == pytest.approx(0.98, abs=0.05)


@pytest.mark.parametrize("curved", ["first", "all"])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(
    "contexts",
    [
        GaussianContexts(covariance=MATRIX),
        StudentContexts(dof=12.0),
        DiscreteContexts(levels=4, covariance="ar1:0.5"),
        SkewedContexts(covariance=MATRIX),
        BinaryContexts(share=0.1, covariance="ar1:-0.4"),
    ],
    ids=repr,
)
def test_the_truth_is_the_best_linear_fit(contexts, intercept, curved):
    given = scenario(
        contexts=contexts,
        intercept=intercept,
        dim=3 + intercept,
        curvature=0.8,
        curved=curved,
        coef=np.arange(2.0 * (3 + intercept)).reshape(2, -1),
        budget=400_000,
    )
    world = drawn(given, 2)
    x, y = world.contexts[0], np.zeros(400_000)
    open_trial(world, 0, 0)
    draw_outcomes(world, np.zeros(400_000, np.int64), y)
    varying = x[:, int(intercept) :]
    squares = varying**2 / np.diag(contexts.covariance_matrix(3)) - 1.0
    bend = squares[:, 0] if curved == "first" else squares.sum(axis=1) / math.sqrt(3)
    np.testing.assert_allclose(y, x @ np.array(given.coef[0]) + 0.8 * bend, atol=1e-9)
    fit = np.linalg.lstsq(x, y, rcond=None)[0]
    inverse = np.linalg.inv(x.T @ x)
    spread = inverse @ (x.T * (y - x @ fit) ** 2) @ x @ inverse  # the misfit depends on x
    # A square of two values is linear in them: then there is no misfit, and rounding is left.
    assert np.all(np.abs(fit - world.coefs[0, 0]) < 6 * np.sqrt(np.diag(spread)) + 1e-9)
    # All arms share it; only skewed contexts move the slopes.
    moved = world.coefs[0] - np.array(given.coef)
    np.testing.assert_allclose(moved[0], moved[1], atol=1e-12)
    assert np.any(np.abs(moved) > 0.1) == (contexts.skewness != 0.0)


@pytest.mark.parametrize(
    "policy", ["uniform", "oracle", "best-allocation", "trace-ucb", "trace-gain", "ch-as"]
)
@pytest.mark.parametrize("estimator", ["ridge", "pooled"])
def test_problems_of_an_intercept_alone(policy, estimator):
    given = eq.GaussianScenario([0.5, 2.0], 1, 40, intercept=True, estimator=estimator)
    np.testing.assert_array_equal(given.true_moment(), [[1.0]])
    result = eq.simulate(given, [policy], trials=200, seed=1)[policy]
    assert np.all(result.ledger.counts.sum(axis=1) == 40)
    # Means of 15 to 30 units: an error of 0.07 at most, ± 0.007.
    assert result.expected_max().value < 0.15
