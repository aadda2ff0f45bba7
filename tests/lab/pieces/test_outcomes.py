"""Answers and counts: rates, noise and the best linear fit are what the pieces say.

A comparison at 6 standard errors fails for one seed in 5·10⁸, a p-value below 10⁻⁶ for one in 10⁶.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate, stats
from single_trials import drawn

import equipoise as eq
from equipoise.lab.pieces import CountOutcomes, YesNoOutcomes
from equipoise.lab.pieces.outcomes.links import COUNTS, HIGHEST_COUNT_RATE, YES_NO, best_linear_fit
from equipoise.lab.trial.run import draw_outcomes, open_trial

N = 200_000
MATRIX = ((2.0, 0.6, -0.3), (0.6, 1.0, 0.2), (-0.3, 0.2, 0.5))
YES = YesNoOutcomes(effect=1.5)
MANY = CountOutcomes(effect=0.6)


def outcomes_of(scenario, arm, seed=2):
    world = drawn(scenario.replace(budget=N), seed)
    outcomes = np.zeros(N)
    open_trial(world, 0, 0)
    draw_outcomes(world, np.full(N, arm), outcomes)
    return world.contexts[0], outcomes, world.coefs[0, arm]


@pytest.mark.parametrize("effect", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("level", [-3.0, -0.5, 0.0])
@pytest.mark.parametrize("code", [YES_NO, COUNTS])
def test_expectations_are_exact(code, level, effect):
    def rate(u):
        eta = level + effect * u
        return min(math.exp(eta), HIGHEST_COUNT_RATE) if code == COUNTS else 1 / (1 + math.exp(-eta))

    def expected(function):
        return integrate.quad(lambda u: function(u) * stats.norm.pdf(u), -9, 9, epsabs=1e-13)[0]

    found = np.zeros(3)
    best_linear_fit(code, level, effect, found)
    mean, slope = expected(rate), expected(lambda u: u * rate(u))
    square = expected(lambda u: rate(u) ** 2)
    inner = mean if code == COUNTS else mean - square
    # Exact to rounding but for the end of rates, far out.
    assert found == pytest.approx([mean, slope, inner + square - mean**2 - slope**2], abs=1e-6)


@pytest.mark.parametrize(
    ("outcomes", "rates"),
    [(YES, (0.03, 0.2, 0.5)), (YesNoOutcomes(effect=0.0), (0.5, 1e-6)), (MANY, (0.1, 1.0, 20.0))],
)
def test_rates_and_noise_belong_together(outcomes, rates):
    assert outcomes.rates(outcomes.noise(rates)) == pytest.approx(rates, rel=1e-6)


def test_yes_and_no_may_be_exchanged():
    assert YES.noise([0.9, 0.2]) == pytest.approx(YES.noise([0.1, 0.8]), rel=1e-12)


@pytest.mark.parametrize("covariance", ["identity", MATRIX])
@pytest.mark.parametrize(("outcomes", "rates"), [(YES, (0.1, 0.5)), (MANY, (0.5, 5.0))], ids=str)
def test_outcomes_have_the_stated_rate_noise_and_best_linear_fit(outcomes, rates, covariance):
    noise = outcomes.noise(rates)
    given = eq.GaussianScenario(
        noise, 4, 100, covariance=covariance, intercept=True, outcomes=outcomes, estimator="ridge"
    )
    for arm, rate in enumerate(rates):
        x, y, truth = outcomes_of(given, arm)
        whole = {0.0, 1.0} if outcomes is YES else set(np.arange(200.0))
        assert set(np.unique(y)) <= whole
        assert abs(y.mean() - rate) < 6 * y.std() / math.sqrt(N)
        assert truth[0] == pytest.approx(rate)
        squares = (y - x @ truth) ** 2
        assert abs(squares.mean() - noise[arm]) < 6 * squares.std() / math.sqrt(N)
        fit = np.linalg.lstsq(x, y, rcond=None)[0]
        inverse = np.linalg.inv(x.T @ x)
        spread = inverse @ (x.T * (y - x @ fit) ** 2) @ x @ inverse
        assert np.all(np.abs(fit - truth) < 6 * np.sqrt(np.diag(spread)))


def test_answers_follow_the_logistic_curve():
    given = eq.GaussianScenario(YES.noise([0.3]), 3, 100, intercept=True, outcomes=YES)
    x, y, truth = outcomes_of(given, 0)
    along = x[:, 1:] @ truth[1:] / np.linalg.norm(truth[1:])
    level = YES.curves(given.noise)[0, 0]
    expected = 1 / (1 + np.exp(-(level + 1.5 * along)))
    for low in np.arange(-2.0, 2.0, 0.5):
        inside = (along >= low) & (along < low + 0.5)
        gap = np.mean(y[inside] - expected[inside])
        assert abs(gap) < 6 * 0.5 / math.sqrt(inside.sum())


def test_counts_are_poisson():
    plain = CountOutcomes(effect=0.0)
    given = eq.GaussianScenario(plain.noise([3.0, 120.0]), 1, 100, intercept=True, outcomes=plain)
    for arm, mean in enumerate((3.0, 120.0)):
        _, y, _ = outcomes_of(given, arm)
        usual = [k for k in range(300) if N * stats.poisson(mean).pmf(k) > 20]
        found = [np.sum(y == k) for k in usual]
        due = [N * stats.poisson(mean).pmf(k) for k in usual]
        found.append(N - sum(found))
        due.append(N - sum(due))
        assert stats.chisquare(found, due).pvalue > 1e-6


def test_given_coefficients_are_directions():
    outcomes = YesNoOutcomes(effect=0.7)
    coef = ((0.0, 3.0, 4.0), (0.0, -1.0, 0.0))
    noise = outcomes.noise([0.2, 0.4])
    world = drawn(eq.GaussianScenario(noise, 3, 50, intercept=True, outcomes=outcomes, coef=coef), 1, 3)
    slopes = outcomes.curves(noise)[:, 3]
    np.testing.assert_allclose(world.coefs[0, 0], [0.2, 0.6 * slopes[0], 0.8 * slopes[0]], rtol=1e-9)
    np.testing.assert_allclose(world.coefs[0, 1], [0.4, -slopes[1], 0.0], rtol=1e-9, atol=1e-12)


def test_policies_meet_the_same_answers():
    given = eq.GaussianScenario(YES.noise([0.2, 0.5]), 3, 100, intercept=True, outcomes=YES)
    one = eq.simulate(given, ["uniform", "trace-ucb"], trials=20, seed=3)
    other = eq.simulate(given, ["trace-ucb"], trials=20, seed=3, workers=1)
    np.testing.assert_array_equal(one["trace-ucb"].errors, other["trace-ucb"].errors)


def test_late_answers_arrive():
    given = eq.GaussianScenario(
        YES.noise([0.2, 0.5]), 3, 100, intercept=True, outcomes=YES, delay=eq.Delay(mean=5), lost=0.1
    )
    result = eq.simulate(given, ["trace-ucb"], trials=20, seed=3)["trace-ucb"]
    assert np.all(np.isfinite(result.errors))
