"""Shrunk estimates: their equations, their invariances, and what they do where data are few."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats
from single_trials import SimulatedTrials

import equipoise as eq
from equipoise.core.estimates.estimators.stein import signal_variance
from equipoise.core.estimates.selection import moment_optimism

# Made-up outcomes are bent now and then.
pytestmark = pytest.mark.filterwarnings("ignore::equipoise.errors.FitWarning")

STEIN = ["empirical-bayes", "pooled"]
ESTIMATORS = ("leave-one-out", "empirical-bayes", "pooled")
SKEWED = np.array([[2.0, 0.3, 0.0, 0.1], [0.3, 1.0, -0.2, 0.0], [0.0, -0.2, 0.5, 0.0], [0.1, 0.0, 0.0, 1.0]])
MOMENTS = {"white": np.eye(4), "skewed": SKEWED, "learned": None}
NAMES = ("a", "b", "c")


def run(
    *, seed=0, units=60, names=NAMES, moment=SKEWED, budget=None, size=0.3, apart=1.0, noise=1.0, scale=1.0,
    mix=None, contexts=None,
):  # fmt: skip
    """A finished uniform allocation; coefficients are ``size`` · (common + ``apart`` · the arm's own)."""
    rng = np.random.default_rng(seed)
    dim = 4 if moment is None else len(moment)
    drawn = rng.normal(size=(units, dim)) if contexts is None else contexts
    common, own = (
        rng.normal(size=dim),
        dict(zip(sorted(names), rng.normal(size=(len(names), dim)), strict=True)),
    )
    shocks = math.sqrt(noise) * rng.normal(size=units)
    if mix is not None and moment is not None:
        moment = mix @ moment @ mix.T
    problem = eq.Problem(
        list(names), dim, budget=budget or max(units, 1), moment=moment, allow_small_budget=True
    )
    experiment = eq.Experiment(problem, "uniform", seed=1)
    for x, shock in zip(drawn, shocks, strict=True):
        assignment = experiment.ask(x if mix is None else mix @ x)
        y = x @ (size * (common + apart * own[assignment.arm])) + shock
        experiment.tell(assignment.id, float(scale * y))
    return experiment


def moment_of(experiment):
    if experiment.problem.moment is not None:
        return experiment.problem.moment
    seen = experiment._state.contexts[: experiment.asked]
    return seen.T @ seen / len(seen)


def whitened(experiment, arm):
    """Least squares, its covariance over σ², and RSS/(dof + 2), where Σ = I; and the way back."""
    contexts, outcomes = experiment.data(arm)
    lower = np.linalg.cholesky(moment_of(experiment))
    z = np.linalg.solve(lower, contexts.T).T
    inverse = np.linalg.inv(z.T @ z)
    fit = inverse @ z.T @ outcomes
    rss = np.sum((outcomes - z @ fit) ** 2)
    return fit, inverse, rss, len(outcomes) - len(fit), lower


# The equations


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("apart", [0.0, 0.3, 3.0])
@pytest.mark.parametrize("estimator", STEIN)
def test_a_ridge_estimate_around_the_center(estimator, apart, moment):
    experiment = run(moment=MOMENTS[moment], apart=apart)
    sigma = moment_of(experiment)
    for arm in experiment.estimates(estimator=estimator):
        assert arm.estimator == estimator
        contexts, outcomes = experiment.data(arm.arm)
        if math.isinf(arm.ridge):
            np.testing.assert_array_equal(arm.coef, arm.center)
            continue
        expected = np.linalg.solve(
            contexts.T @ contexts + arm.ridge * sigma, contexts.T @ outcomes + arm.ridge * sigma @ arm.center
        )
        np.testing.assert_allclose(arm.coef, expected, rtol=1e-10, atol=1e-13)
        assert np.any(arm.center != 0.0) <= (estimator == "pooled")


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("estimator", STEIN)
def test_the_penalty_solves_its_equation(estimator, moment):
    experiment = run(moment=MOMENTS[moment], size=0.5)
    solved = 0
    for arm in experiment.estimates(estimator=estimator):
        fit, inverse, rss, dof, lower = whitened(experiment, arm.arm)
        assert arm.ridge > 1 / 60
        if math.isinf(arm.ridge):
            continue
        noise = rss / (dof + 2)
        signal = noise / (arm.ridge + 9 / 60)
        gap = fit - lower.T @ arm.center
        assert gap @ np.linalg.solve(signal * np.eye(4) + noise * inverse, gap) == pytest.approx(
            2.0, rel=1e-9
        )
        shrunk = np.linalg.inv(np.eye(4) + arm.ridge * inverse)
        # What is kept counts as at a σ² that is smaller by dof/(dof + 2).
        less = noise * dof / (dof + 2)

        def excess(signal, less=less, gap=gap, inverse=inverse):
            return gap @ np.linalg.solve(signal * np.eye(4) + less * inverse, gap) - 2.0

        lower = max(less / optimize.brentq(excess, 1e-9, 1e9, xtol=1e-14) - 9 / 60, 1 / 60)
        noise_error = rss / dof * np.trace(np.linalg.inv(np.eye(4) + lower * inverse) @ inverse)
        if experiment.problem.moment is None:
            noise_error *= moment_optimism(experiment._state)
        shift = gap - shrunk @ gap
        assert arm.bias == pytest.approx(shift @ shift, rel=1e-9)  # 2/(d−2) = 1
        assert arm.expected_error == pytest.approx(noise_error + arm.bias, rel=1e-6)
        solved += 1
    assert solved


def test_james_and_stein_when_the_design_is_orthogonal():
    contexts = np.vstack([np.eye(6)] * 8)
    # With so large a budget 1/n is nothing.
    experiment = run(names=("only",), units=48, moment=np.eye(6), budget=10**9, contexts=contexts, size=0.5)
    (arm,) = experiment.estimates(estimator="empirical-bayes")
    fit, _, rss, dof, _ = whitened(experiment, "only")
    factor = 1.0 - (6 - 2) * rss / (dof + 2) / (8.0 * fit @ fit)
    assert 0.2 < factor < 0.9
    np.testing.assert_allclose(arm.coef, factor * fit, rtol=1e-6)
    # Stein's unbiased estimate of the error, with a σ² that is estimated, too (James and Stein 1961)
    expected = 6 * rss / dof / 8.0 - (6 - 2) * rss / (dof + 2) / 8.0 * (1 - factor)
    assert arm.expected_error == pytest.approx(expected, rel=1e-6)


def test_the_center_is_the_posterior_mean_given_the_other_arms():
    experiment = run(apart=0.5, size=1.0, seed=3)
    fits = {name: whitened(experiment, name) for name in NAMES}
    mean = np.mean([rss / dof for _, _, rss, dof, _ in fits.values()])
    covariances = {
        name: (rss + mean) / (dof + 1) * inverse for name, (_, inverse, rss, dof, _) in fits.items()
    }

    def total(variance, names):
        weights = {name: np.linalg.inv(variance * np.eye(4) + covariances[name]) for name in names}
        precision = sum(weights.values())
        center = np.linalg.solve(precision, sum(weights[name] @ fits[name][0] for name in names))
        gaps = {name: fits[name][0] - center for name in names}
        return sum(gaps[name] @ weights[name] @ gaps[name] for name in names), center, precision

    spread = bisected(lambda variance: total(variance, NAMES)[0], 2 * 4 - 2)
    for arm in experiment.estimates(estimator="pooled"):
        _, center, precision = total(spread, [name for name in NAMES if name != arm.arm])
        covariance = np.linalg.inv(precision)
        prior = bisected(lambda v, c=center, k=covariance: c @ np.linalg.solve(v * np.eye(4) + k, c), 2)
        expected = np.linalg.solve(precision + np.eye(4) / prior, precision @ center)
        np.testing.assert_allclose(fits[arm.arm][4].T @ arm.center, expected, rtol=1e-6)


def bisected(function, target):
    low, high = 1e-12, 1e6
    for _ in range(200):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if function(middle) > target else (low, middle)
    return low


@given(
    st.lists(st.floats(0.0, 1e6), min_size=3, max_size=8),
    st.floats(1e-6, 1e6),
    st.integers(0, 2**32 - 1),
)
def test_signal_variance_solves_or_is_zero(squares, noise, seed):
    squares = np.array(squares)
    spectrum = np.exp(np.random.default_rng(seed).uniform(-8, 8, len(squares)))
    target = len(squares) - 2.0
    variance = signal_variance(squares, spectrum, noise, target)
    total = np.sum(squares / (variance + noise / spectrum))
    assert total == pytest.approx(target, rel=1e-9) if variance > 0 else total <= target


# Invariances, at settings that are not the default


def compared(estimator, one, other, back=lambda arm, coef: coef, rtol=1e-6):
    """Estimates of two experiments, arm by arm; ``back`` undoes what was done to the other."""
    first, second = one.estimates(estimator=estimator), other.estimates(estimator=estimator)
    # The errors that leaving out one compares can be flat: its λ is found less closely.
    rtol = max(rtol, 1e-3) if estimator == "leave-one-out" else rtol
    for arm in first:
        twin = second[arm.arm]
        size = np.abs(arm.coef).max() + 1e-9
        np.testing.assert_allclose(back(arm, twin.coef), arm.coef, rtol=rtol, atol=rtol * size)
        # Where small penalties do nothing, leaving out one cannot tell them apart.
        if estimator != "leave-one-out":
            assert twin.ridge == pytest.approx(arm.ridge, rel=1e-5)
        yield arm, twin


cases = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**32 - 1),
        "units": st.integers(0, 50),
        "size": st.sampled_from([0.0, 0.1, 1.0, 10.0]),
        "apart": st.sampled_from([0.0, 0.2, 1.0]),
        "moment": st.sampled_from(list(MOMENTS.values())),
        "budget": st.sampled_from([None, 500]),
    }
)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@given(cases, st.permutations(NAMES))
def test_relabelling_arms_permutes_the_estimates(estimator, case, names):
    for arm, twin in compared(estimator, run(**case), run(**case, names=names)):
        np.testing.assert_allclose(twin.center, arm.center, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@given(cases, st.sampled_from([1e-3, 0.3, 8.0, 1e5]))
def test_rescaling_outcomes_rescales_the_estimates(estimator, case, scale):
    one, other = run(**case), run(**case, scale=scale)
    for arm, twin in compared(estimator, one, other, back=lambda arm, coef: coef / scale):
        np.testing.assert_allclose(twin.center, scale * arm.center, rtol=1e-5, atol=1e-7 * scale)
        assert twin.expected_error == pytest.approx(scale**2 * arm.expected_error, rel=1e-5)


@pytest.mark.parametrize("estimator", STEIN)
@given(cases, st.integers(0, 2**32 - 1))
def test_other_coordinates_of_contexts_change_nothing(estimator, case, seed):
    mix = np.random.default_rng(seed).normal(size=(4, 4)) + 3.0 * np.eye(4)
    one, other = run(**case), run(**case, mix=mix)
    if not all(state.arms["data_ready"].all() for state in (one._state, other._state)):
        return  # what is not determined has no coordinates of its own
    for arm, twin in compared(estimator, one, other, back=lambda arm, coef: mix.T @ coef):
        assert twin.expected_error == pytest.approx(arm.expected_error, rel=1e-5)


# Where data are few or odd


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("units", [0, 1, 2, 7, 13])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_estimates_before_anything_is_determined(estimator, units, moment):
    for arm in run(units=units, moment=MOMENTS[moment], budget=40).estimates(estimator=estimator):
        assert np.all(np.isfinite(arm.coef))
        assert np.all(np.isfinite(arm.center))
        assert arm.ridge > 0
        if arm.observed == 0:
            np.testing.assert_array_equal(arm.coef, 0.0)
        if arm.observed <= 4:
            assert arm.expected_error == arm.error_bound == math.inf


@pytest.mark.parametrize("moment", MOMENTS)
def test_an_arm_without_data_borrows_from_arms_that_are_alike(moment):
    experiment = run(units=59, moment=MOMENTS[moment], apart=0.0, size=2.0, budget=60)
    for unit in range(1, 60):
        if experiment._state.rows["arm"][unit - 1] == 1:
            experiment.withdraw(unit)
    estimates = experiment.estimates(estimator="pooled")
    assert estimates["b"].observed == 0
    np.testing.assert_array_equal(experiment.estimates(estimator="empirical-bayes")["b"].coef, 0.0)
    np.testing.assert_allclose(estimates["b"].coef, estimates["a"].coef, atol=0.6)
    assert np.linalg.norm(estimates["b"].coef) > 1.5


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_feature_that_never_varies(estimator):
    rng = np.random.default_rng(0)
    problem = eq.Problem(list(NAMES), 4, budget=60)
    experiment = eq.Experiment(problem, "uniform")
    for _ in range(60):
        x = np.append(rng.normal(size=3), 0.0)
        experiment.tell(experiment.ask(x).id, float(x.sum() + rng.normal()))
    for arm in experiment.estimates(estimator=estimator):
        assert np.all(np.isfinite(arm.coef))
        assert arm.coef[3] == 0.0
        assert arm.expected_error == math.inf
        assert np.abs(arm.coef[:3] - 1.0).max() < 1.0


@pytest.mark.parametrize("value", [0.0, 5.0])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_constant_outcomes(estimator, value):
    problem = eq.Problem(list(NAMES), 4, budget=60, moment=np.eye(4))
    experiment = eq.Experiment(problem, "uniform")
    rng = np.random.default_rng(0)
    for _ in range(60):
        experiment.tell(experiment.ask(np.append(1.0, rng.normal(size=3))).id, value)
    for arm in experiment.estimates(estimator=estimator):
        np.testing.assert_allclose(arm.coef, [value, 0.0, 0.0, 0.0], atol=0.02)
        assert arm.expected_error == math.inf  # outcomes that are all alike say nothing of the noise


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_huge_and_tiny_outcomes(estimator):
    for scale in (1e130, 1e-130):
        for arm in run(scale=scale).estimates(estimator=estimator):
            assert np.all(np.isfinite(arm.coef))


@pytest.mark.parametrize("dim", [1, 2])
@pytest.mark.parametrize("estimator", STEIN)
def test_two_features_leave_nothing_to_gain(estimator, dim):
    experiment = run(moment=np.eye(dim))
    for arm, usual in zip(
        experiment.estimates(estimator=estimator), experiment.estimates(estimator="ridge"), strict=True
    ):
        assert arm.ridge == usual.ridge == 1 / 60
        np.testing.assert_allclose(arm.coef, usual.coef, rtol=1e-12)
        assert arm.expected_error == pytest.approx(usual.expected_error, rel=1e-6)


def test_one_arm_has_nothing_to_be_pooled_with():
    experiment = run(names=("only",))
    alone, pooled = (experiment.estimates(estimator=estimator)["only"] for estimator in STEIN)
    np.testing.assert_array_equal(alone.coef, pooled.coef)


def test_arms_that_differ_are_not_pooled():
    experiment = run(apart=30.0, size=1.0, units=90)
    for arm, alone in zip(
        experiment.estimates(estimator="pooled"),
        experiment.estimates(estimator="empirical-bayes"),
        strict=True,
    ):
        np.testing.assert_allclose(arm.coef, alone.coef, atol=0.01)
        np.testing.assert_allclose(arm.coef, arm.least_squares, atol=0.05)


def test_large_coefficients_are_left_at_least_squares():
    for arm in run(size=1e4, budget=200).estimates(estimator="empirical-bayes"):
        assert arm.ridge < 1e-3 / 200
        assert np.linalg.norm(arm.coef - arm.least_squares) < 1e-2


# What surrounds the coefficients


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_intervals_and_ellipsoids_do_not_depend_on_the_method(estimator):
    experiment = run()
    for arm, usual in zip(
        experiment.estimates(estimator=estimator), experiment.estimates(estimator="ridge"), strict=True
    ):
        np.testing.assert_array_equal(arm.intervals, usual.intervals)
        np.testing.assert_array_equal(arm.noise_interval, usual.noise_interval)
        one, other = (estimate.ellipsoid(deviation=1.0, norm=3.0) for estimate in (arm, usual))
        np.testing.assert_array_equal(one.center, other.center)
        assert one.radius == other.radius
        assert arm.record()["estimator"] == estimator
        assert arm.record()["center"] == arm.center.tolist()


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_error_is_bounded_by_that_of_least_squares(estimator):
    for size in (0.0, 0.3, 3.0):
        for arm in run(size=size).estimates(estimator=estimator):
            trace = np.trace(SKEWED @ np.linalg.inv(arm.gram))
            assert arm.least_squares_error == pytest.approx(arm.noise_variance * trace)
            upper = arm.dof * arm.noise_variance / stats.chi2.ppf(0.05, arm.dof)
            assert arm.error_bound == pytest.approx(upper * trace)
            assert 0.0 < arm.bias <= arm.expected_error < arm.error_bound


def test_expected_errors_are_those_that_happen():
    # 400 trials of 7 arms: standard errors are below 2 %. Adaptivity is another matter, see intervals.
    for size, low, high in ((0.0, 1.0, 3.0), (0.3, 0.9, 1.1), (1.0, 0.9, 1.1)):
        coef = size * np.random.default_rng(5).normal(size=(7, 10))
        scenario = eq.GaussianScenario(noise=[1.0] * 7, dim=10, budget=350, coef=coef, estimator="pooled")
        bench = SimulatedTrials(scenario, eq.Uniform(), 1)
        actual = expected = 0.0
        for trial in range(400):
            actual += bench.run(trial).errors.sum()
            expected += bench.workspace.noise_errors.sum() + bench.workspace.biases.sum()
        assert low < expected / actual < high
