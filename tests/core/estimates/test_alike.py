"""Outcomes that are all alike: the noise is unknown, and nothing pretends to know it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import equipoise as eq

KINDS = ("classical", "robust")


def run(outcome, *, dim=3, budget=30, policy="trace-ucb", constant=True, units=None):
    """An experiment of arms ``a`` and ``b``; ``outcome`` is called with arm, context and generator."""
    problem = eq.Problem(arms=["a", "b"], dim=dim, budget=budget, allow_small_budget=True)
    experiment, rng = eq.Experiment(problem, policy=policy, seed=2), np.random.default_rng(4)
    while experiment.remaining:
        x = rng.normal(size=dim)
        x[0] = 1.0 if constant else x[0]
        unit = experiment.ask(x)
        experiment.tell(unit.id, float(outcome(unit.arm, x, rng)))
        if units is not None:
            units.append(unit)
    return experiment


def never_in_a(arm, x, rng):
    return 0.0 if arm == "a" else rng.normal()


def is_unknown(arm):
    """Whether everything that rests on the noise says that it is not known."""
    return (
        arm.alike
        and math.isnan(arm.noise_variance)
        and arm.noise_interval == (0.0, math.inf)
        and arm.expected_error == arm.least_squares_error == arm.error_bound == math.inf
        and np.all(arm.intervals == [-math.inf, math.inf])
        and np.all(np.isinf(arm.predict_interval(np.ones(len(arm.coef)))))
        and np.all(np.isinf(arm.predict_interval(np.ones(len(arm.coef)), of="mean")))
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("estimator", ["pooled", "ridge", "leave-one-out", "empirical-bayes"])
def test_one_arm_whose_outcomes_never_differ_has_no_intervals(kind, estimator):
    estimates = run(never_in_a).estimates(estimator=estimator, intervals=kind)
    quiet, other = estimates
    assert quiet.dof > 0
    assert is_unknown(quiet)
    assert quiet.residual_variance == 0.0  # what the policy saw
    np.testing.assert_allclose(quiet.coef, 0.0, atol=1e-9)
    assert not other.alike
    assert np.all(np.isfinite(other.intervals))
    assert estimates.objective == math.inf
    assert math.isnan(estimates.oracle_objective)
    assert "'a' (" in estimates.complaint
    assert "'b'" not in estimates.complaint
    assert "all outcomes were alike" in str(estimates)
    assert "all outcomes were alike" in estimates._repr_html_()
    assert [record["alike"] for record in estimates.records()] == [True, False]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("value", [0.0, 1.0, -3.7, 1e6, 1e-9])
def test_all_arms_alike(kind, value):
    estimates = run(lambda arm, x, rng: value).estimates(intervals=kind)
    assert all(is_unknown(arm) for arm in estimates)
    for arm in estimates:
        np.testing.assert_allclose(arm.least_squares, [value, 0.0, 0.0], atol=1e-9 * max(1.0, abs(value)))


@pytest.mark.parametrize("kind", KINDS)
def test_a_line_without_noise_is_known_exactly(kind):
    estimates = run(lambda arm, x, rng: x.sum()).estimates(intervals=kind)
    assert estimates.complaint is None
    for arm in estimates:
        assert not arm.alike
        np.testing.assert_allclose(arm.intervals, 1.0, rtol=1e-9)
        assert arm.expected_error < 1e-20


@pytest.mark.parametrize("kind", KINDS)
def test_outcomes_that_no_model_fits_show_noise_although_they_are_alike(kind):
    """Without a constant feature, ones are no line: what is left is noise to the model."""
    for arm in run(lambda arm, x, rng: 1.0, constant=False).estimates(intervals=kind):
        assert not arm.alike
        assert arm.noise_variance > 0.1
        assert np.all(np.isfinite(arm.intervals))


@pytest.mark.parametrize("observed", range(6))
def test_from_no_outcome_to_more_than_features(observed):
    """Before d + 1 outcomes there is no degree of freedom; from then on they are alike."""
    problem = eq.Problem(arms=["a"], dim=2, budget=10, moment=np.eye(2))
    experiment, rng = eq.Experiment(problem, policy="uniform"), np.random.default_rng(1)
    for _ in range(observed):
        experiment.tell(experiment.ask([1.0, rng.normal()]).id, 0.0)
    estimates = experiment.estimates(intervals="robust")
    (arm,) = estimates
    assert arm.alike == (observed > 2)
    assert (estimates.complaint is not None) == (observed > 2)
    assert np.all(np.isinf(arm.intervals))
    assert arm.expected_error == math.inf
    assert math.isnan(arm.noise_variance)


def test_a_constant_as_the_only_feature():
    problem = eq.Problem(arms=["a", "b"], dim=1, budget=40)
    experiment = eq.Experiment(problem, policy="uniform")
    for number in range(40):
        unit = experiment.ask([1.0])
        experiment.tell(unit.id, float(unit.arm == "b" and number % 3 == 1))
    quiet, other = experiment.estimates()
    assert is_unknown(quiet)
    assert 0.0 < other.noise_variance < 1.0


def test_one_outcome_that_differs_is_enough_and_a_correction_counts():
    units = []
    experiment = run(never_in_a, units=units)
    row = next(unit.id for unit in units if unit.arm == "a")
    experiment.correct(row, 1.0)
    arm = experiment.estimates()["a"]
    assert not arm.alike
    assert arm.noise_variance > 0.0
    assert np.all(np.isfinite(arm.intervals))
    experiment.correct(row, 0.0)
    assert is_unknown(experiment.estimates()["a"])


def test_weighted_estimates_say_nothing_of_such_an_arm_either():
    experiment = run(never_in_a, budget=80, policy=eq.TraceGain(chance=0.5))
    weighted = experiment.weighted_estimates()
    np.testing.assert_allclose(weighted["a"].coef, 0.0, atol=1e-9)
    assert np.all(np.isinf(weighted["a"].intervals))
    assert np.all(np.isfinite(weighted["b"].intervals))
    difference = weighted.contrast("b", "a")
    assert np.all(np.isinf(difference.intervals))
    assert np.all(np.isnan(difference.p_values))


def test_sparse_models_and_lassos_are_asked_as_well():
    for policy in ("sparse-trace-ucb:screen=30", "uniform-lasso"):
        problem = eq.Problem(arms=["a", "b"], dim=8, budget=120, moment=np.eye(8))
        experiment, rng = eq.Experiment(problem, policy=policy, seed=1), np.random.default_rng(9)
        while experiment.remaining:
            x = rng.normal(size=8)
            unit = experiment.ask(x)
            experiment.tell(unit.id, 0.0 if unit.arm == "a" else float(3 * x[2] + rng.normal()))
        estimates = experiment.estimates()
        quiet = estimates["a"]
        assert quiet.alike
        assert math.isnan(quiet.noise_variance)
        assert quiet.noise_interval == (0.0, math.inf)
        assert np.all(np.isinf(quiet.intervals))
        assert "'a' (" in estimates.complaint


@settings(max_examples=40, deadline=None)
@given(
    rate=st.floats(0.0, 0.3),
    scale=st.floats(1e-6, 1e6),
    dim=st.integers(1, 4),
    budget=st.integers(2, 40),
    kind=st.sampled_from(KINDS),
)
def test_yes_and_no_never_have_intervals_of_no_width_unless_a_line_fits(rate, scale, dim, budget, kind):
    """Either outcomes differ, or intervals are unbounded; and units of the outcome do not matter."""
    experiments = [
        run(
            lambda arm, x, rng, unit=unit: unit * (rng.random() < rate),
            dim=dim,
            budget=budget,
            policy="uniform",
        )
        for unit in (1.0, scale)
    ]
    for arm, scaled in zip(*(each.estimates(intervals=kind) for each in experiments), strict=True):
        assert arm.alike == scaled.alike
        _, outcomes = experiments[0].data(arm.arm)
        same = len(set(outcomes.tolist())) <= 1
        if arm.dof > 0:
            assert arm.alike == same
        if same:
            assert np.all(np.isinf(arm.intervals))
            assert math.isnan(arm.noise_variance)
            assert arm.expected_error == math.inf
