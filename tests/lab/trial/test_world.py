"""Every piece of a scenario does what it says, by large samples from the compiled draws.

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
    Delay,
    DiscreteContexts,
    GaussianContexts,
    OneHotContexts,
    SkewedNoise,
    StudentContexts,
    StudentNoise,
)
from equipoise.lab.trial.run import draw_outcomes, open_trial
from equipoise.lab.trial.world import Draws

RARE = 1e-6
MATRIX = ((2.0, 0.6, -0.3), (0.6, 1.0, 0.2), (-0.3, 0.2, 0.5))


def scenario(**pieces) -> eq.Scenario:
    settings = {"noise": (0.5, 2.0), "dim": 3, "budget": 100, **pieces}
    return eq.Scenario(**settings)


def contexts_of(given, seed, count, trial=0):
    return drawn(given.replace(budget=count), seed, trial).contexts[0]


def outcomes_of(given, count, arm=0, seed=2, trial=0):
    """Contexts, outcomes and the world that they come from; drifts last for ``count`` units."""
    world = drawn(given.replace(budget=count), seed, trial)
    outcomes = np.zeros(count)
    open_trial(world, 0, trial)
    draw_outcomes(world, np.full(count, arm), outcomes)
    return world.contexts[0], outcomes, world


def blocks_of(given, seed, trials, name):
    """What is drawn for many trials, in blocks that do not divide their number."""
    draws, parts = Draws(given, seed), []
    size = min(draws.block, 7)
    for first in range(0, trials, size):
        count = min(size, trials - first)
        draws.draw(first, count)
        parts.append(getattr(draws.world, name)[:count].copy())
    return np.concatenate(parts)


# Contexts


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(
    "contexts",
    [
        GaussianContexts(),
        GaussianContexts(covariance="ar1:0.8"),
        GaussianContexts(covariance="ar1:-0.4"),
        GaussianContexts(covariance=MATRIX),
        StudentContexts(dof=9.0),
        StudentContexts(dof=12.0, covariance=MATRIX),
        DiscreteContexts(levels=2),
        DiscreteContexts(levels=5, covariance="ar1:0.8"),
        DiscreteContexts(levels=4, covariance=MATRIX),
    ],
    ids=repr,
)
def test_contexts_have_the_stated_moments(contexts, intercept):
    given = scenario(contexts=contexts, intercept=intercept, dim=3 + intercept)
    x = contexts_of(given, 1, 200_000)
    products = x[:, :, None] * x[:, None, :]
    stderr = products.std(axis=0) / math.sqrt(len(x))
    # The rounding matters where an entry never varies: an intercept, features of two values.
    assert np.all(np.abs(products.mean(axis=0) - given.true_moment()) <= 6 * stderr + 1e-12)
    assert np.all(
        np.abs(x[:, intercept:].mean(axis=0)) < 6 * x[:, intercept:].std(axis=0) / math.sqrt(len(x))
    )
    if intercept:
        assert np.all(x[:, 0] == 1.0)


def test_gaussian_contexts_are_normal():
    given = scenario(contexts=GaussianContexts(covariance=MATRIX))
    x = contexts_of(given, 4, 100_000)
    distances = np.einsum("tr,rc,tc->t", x, np.linalg.inv(MATRIX), x)
    assert stats.kstest(distances, stats.chi2(3).cdf).pvalue > RARE
    for c in range(3):
        assert stats.kstest(x[:, c] / math.sqrt(MATRIX[c][c]), "norm").pvalue > RARE


def test_student_contexts_are_a_multivariate_t():
    dof = 3.0
    given = scenario(contexts=StudentContexts(dof=dof, covariance=MATRIX))
    x = contexts_of(given, 4, 100_000)
    # A t vector with scale Σ(ν−2)/ν has xᵀΣ⁻¹x·ν/(ν−2)/d ~ F(d, ν): one scale for all features of a unit.
    distances = np.einsum("tr,rc,tc->t", x, np.linalg.inv(MATRIX), x) * dof / (dof - 2.0) / 3.0
    assert stats.kstest(distances, stats.f(3, dof).cdf).pvalue > RARE


@pytest.mark.parametrize("levels", [2, 3, 7])
def test_discrete_contexts_take_equally_likely_levels(levels):
    x = contexts_of(scenario(contexts=DiscreteContexts(levels=levels)), 5, 50_000)
    for c in range(3):
        values, counts = np.unique(x[:, c], return_counts=True)
        assert len(values) == levels
        np.testing.assert_allclose(np.diff(values), values[1] - values[0])
        assert stats.chisquare(counts).pvalue > RARE


@pytest.mark.parametrize("probabilities", [None, (0.7, 0.2, 0.1), (0.05, 0.05, 0.9)])
def test_one_hot_contexts_have_the_stated_shares(probabilities):
    given = scenario(contexts=OneHotContexts(probabilities=probabilities))
    x = contexts_of(given, 6, 50_000)
    assert np.all((x == 0) | (x == 1))
    assert np.all(x.sum(axis=1) == 1)
    shares = np.full(3, 1 / 3) if probabilities is None else np.array(probabilities)
    assert stats.chisquare(x.sum(axis=0), 50_000 * shares).pvalue > RARE
    np.testing.assert_allclose(given.true_moment(), np.diag(shares))


def test_contexts_of_a_unit_depend_on_seed_trial_and_place_alone():
    given = scenario(contexts=StudentContexts(covariance="ar1:0.5"))
    few, many = contexts_of(given, 8, 5, trial=2), contexts_of(given, 8, 50, trial=2)
    np.testing.assert_array_equal(few, many[:5])
    assert not np.any(few == contexts_of(given, 8, 5, trial=3))


# Truth


def test_coefficients_are_drawn_anew_for_every_trial():
    coefs = blocks_of(scenario(noise=(1.0,) * 4), 9, 2_000, "coefs")
    assert stats.kstest(coefs.ravel(), "norm").pvalue > RARE
    assert len(np.unique(coefs)) == coefs.size == 2_000 * 4 * 3


def test_given_coefficients_stay():
    coef = ((1.0, 2.0, 3.0), (-1.0, 0.0, 0.5))
    world = drawn(scenario(coef=coef, coef_drift=2.0), 9, 4)
    np.testing.assert_array_equal(world.coefs[0], coef)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(
    "contexts", [GaussianContexts(covariance=MATRIX), DiscreteContexts(levels=3)], ids=repr
)
def test_curvature_leaves_the_best_linear_fit(contexts, intercept):
    given = scenario(
        contexts=contexts, intercept=intercept, dim=3 + intercept, curvature=1.5, noise=(0.0, 0.0)
    )
    x, y, world = outcomes_of(given, 400_000)
    # Without noise what is left is the quadratic term itself.
    feature = x[:, int(intercept)]
    variance = contexts.covariance_matrix(3)[0, 0]
    np.testing.assert_allclose(y - x @ world.coefs[0, 0], 1.5 * (feature**2 / variance - 1), atol=1e-10)
    fit = np.linalg.lstsq(x, y, rcond=None)[0]
    inverse = np.linalg.inv(x.T @ x)
    spread = inverse @ (x.T * (y - x @ fit) ** 2) @ x @ inverse  # the misfit depends on x
    assert np.all(np.abs(fit - world.coefs[0, 0]) < 6 * np.sqrt(np.diag(spread)))


def test_coefficients_drift_to_the_truth():
    n, length = 1_000, 0.7
    x, y, world = outcomes_of(scenario(noise=(0.0, 0.0), coef_drift=length), n)
    assert np.linalg.norm(world.drifts[0], axis=1) == pytest.approx([length, length])
    assert not np.allclose(*world.drifts[0])
    ages = np.arange(1, n + 1) / n
    np.testing.assert_allclose(y, x @ world.coefs[0, 0] - (1 - ages) * (x @ world.drifts[0, 0]), atol=1e-12)
    assert y[-1] == pytest.approx(x[-1] @ world.coefs[0, 0], abs=1e-12)


def test_drifts_have_no_preferred_direction():
    drifts = blocks_of(scenario(coef_drift=1.0, dim=2), 10, 5_000, "drifts")
    angles = np.arctan2(*drifts[:, 0].T)
    assert stats.kstest(angles, stats.uniform(-math.pi, 2 * math.pi).cdf).pvalue > RARE


# Noise


def residuals_of(given, count, arm=1):
    x, y, world = outcomes_of(given, count, arm=arm)
    return x, y - x @ world.coefs[0, arm]


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        (None, stats.norm()),
        (StudentNoise(dof=5.0), stats.t(5.0, scale=math.sqrt(3 / 5))),
        (StudentNoise(dof=2.5), stats.t(2.5, scale=math.sqrt(0.5 / 2.5))),
        (SkewedNoise(shape=1.0), stats.gamma(1.0, loc=-1.0)),
        (SkewedNoise(shape=4.0), stats.gamma(4.0, loc=-2.0, scale=0.5)),
        (SkewedNoise(shape=0.3), stats.gamma(0.3, loc=-(0.3**0.5), scale=1 / 0.3**0.5)),
    ],
    ids=lambda value: str(value) if isinstance(value, StudentNoise | SkewedNoise) else "",
)
def test_noise_has_the_arms_variance_and_its_own_shape(shape, expected):
    assert expected.mean() == pytest.approx(0.0, abs=1e-12)
    assert expected.var() == pytest.approx(1.0)
    given = scenario() if shape is None else scenario(noise_shape=shape)
    for arm, variance in enumerate(given.noise):
        _, residuals = residuals_of(given, 100_000, arm)
        assert stats.kstest(residuals / math.sqrt(variance), expected.cdf).pvalue > RARE


def test_skewed_noise_has_the_stated_skewness():
    _, residuals = residuals_of(scenario(noise_shape=SkewedNoise(shape=4.0)), 400_000)
    cubes = (residuals / math.sqrt(2.0)) ** 3
    # Skewness 2/√shape = 1.
    assert abs(cubes.mean() - 1.0) < 6 * cubes.std() / math.sqrt(len(cubes))


@pytest.mark.parametrize(
    "contexts", [GaussianContexts(covariance=MATRIX), OneHotContexts(probabilities=(0.2, 0.5, 0.3))], ids=repr
)
@pytest.mark.parametrize("intercept", [False, True])
def test_heteroscedastic_noise_keeps_its_mean_variance(contexts, intercept):
    if intercept and isinstance(contexts, OneHotContexts):
        pytest.skip("one-hot contexts take no intercept")
    strength = 1.5
    given = scenario(contexts=contexts, intercept=intercept, dim=3 + intercept, heteroscedasticity=strength)
    x, residuals = residuals_of(given, 200_000)
    squares = residuals**2
    assert abs(squares.mean() - 2.0) < 6 * squares.std() / math.sqrt(len(squares))
    # It is the stated function of the first varying feature that is left out here.
    scaled = x[:, int(intercept)] ** 2 / contexts.covariance_matrix(3)[0, 0]
    standardised = residuals / np.sqrt(2.0 * (1 + strength * scaled) / (1 + strength))
    assert stats.kstest(standardised, "norm").pvalue > RARE
    assert stats.kstest(residuals / math.sqrt(2.0), "norm").pvalue < RARE


@pytest.mark.parametrize("drift", [2.0, -1.0])
def test_noise_drifts_around_its_value_half_way(drift):
    n = 100_000
    _, residuals = residuals_of(scenario(noise_drift=drift), n)
    ages = np.arange(1, n + 1) / n
    standardised = residuals / np.sqrt(2.0 * np.exp(drift * (ages - 0.5)))
    assert stats.kstest(standardised, "norm").pvalue > RARE
    # The halves of the trial differ as they should, not only on average.
    for half in (standardised[: n // 2], standardised[n // 2 :]):
        assert abs(np.mean(half**2) - 1) < 6 * math.sqrt(2 / len(half))


# Arrival


@pytest.mark.parametrize(
    ("delay", "expected"),
    [
        (Delay(mean=7.0, shape="fixed"), stats.rv_discrete(values=([7], [1.0]))),
        (Delay(mean=7.0, shape="geometric"), stats.geom(1 / 8.0, loc=-1)),
        (Delay(mean=0.3, shape="geometric"), stats.geom(1 / 1.3, loc=-1)),
        (Delay(mean=7.0, shape="uniform"), stats.randint(0, 15)),
        (Delay(mean=2.5, shape="uniform"), stats.randint(0, 6)),
    ],
    ids=lambda value: str(value) if isinstance(value, Delay) else "",
)
def test_delays_have_the_stated_distribution(delay, expected):
    delays = drawn(scenario(delay=delay, budget=50_000), 3).delays[0]
    assert expected.mean() == pytest.approx(delay.mean)
    assert np.all(expected.pmf(np.unique(delays)) > 0)
    # Every value that is expected 20 times has its own class, the rest share one.
    usual = [k for k in range(200) if len(delays) * expected.pmf(k) > 20]
    found = [np.sum(delays == k) for k in usual]
    due = [len(delays) * expected.pmf(k) for k in usual]
    if sum(due) < len(delays) - 1:
        found.append(len(delays) - sum(found))
        due.append(len(delays) - sum(due))
    assert sum(found) == len(delays)
    if len(found) > 1:
        assert stats.chisquare(found, due).pvalue > RARE


@pytest.mark.parametrize("lost", [0.03, 0.6])
def test_the_stated_share_is_lost(lost):
    flags = drawn(scenario(lost=lost, budget=50_000), 3).delays[0] < 0
    assert abs(flags.mean() - lost) < 6 * math.sqrt(lost * (1 - lost) / len(flags))
