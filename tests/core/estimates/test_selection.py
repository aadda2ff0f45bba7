"""Noise and expected errors, corrected for what adaptive allocation does to them."""

from __future__ import annotations

import numpy as np
import pytest
from inner_state import settle

import equipoise as eq
from equipoise.core.estimates.intervals import elasticities
from equipoise.core.estimates.selection import measure_selection, moment_optimism


def run(policy, *, arms=3, units=70, scale=1.0, order=None, moment=True, intercept=False, **options):
    names = [f"arm-{i}" for i in range(arms)]
    order = range(arms) if order is None else order
    moment = np.eye(3) if moment else None
    problem = eq.Problem([names[i] for i in order], 3, budget=units, moment=moment, **options)
    experiment = eq.Experiment(problem, policy, seed=2)
    rng = np.random.default_rng(3)
    for _ in range(units):
        x = rng.normal(size=3)
        shocks = dict(zip(names, np.sqrt(1.0 + np.arange(arms)) * rng.normal(size=arms), strict=True))
        if intercept:
            x[0] = 1.0
        assignment = experiment.ask(x)
        experiment.tell(assignment.id, float(scale * (x.sum() + shocks[assignment.arm])))
    settle(experiment)
    return experiment


def selection_of(experiment):
    stage = experiment._stage
    return measure_selection(experiment._state, stage.score, stage.settings)


def test_the_factors_are_those_of_the_formula():
    experiment = run("trace-ucb")
    stage, arms = experiment._stage, experiment._state.arms
    dof, variance = arms["dof"], arms["noise_variance"]
    left = 1 - dof / dof.sum()
    # At one degree of freedom Δ is the arms' mean σ̂².
    weight = left * variance / (variance + experiment._state.trial["mean_variance"][0])
    selected, fading = elasticities(experiment._state, stage.score, stage.settings) * left, 1 / (1 + dof / 40)
    found = selection_of(experiment)
    noise = selected * (1 - 1 / dof) / dof * (2 + (1.5 * weight**3 + selected) * fading)
    error = selected * (1 - 1 / dof) ** 1.5 / dof * (4 + (22 * weight**3 + 2 * selected) * fading)
    np.testing.assert_allclose(found.noise, 1 + noise, rtol=1e-5)
    np.testing.assert_allclose(found.error, 1 + error, rtol=1e-5)
    for arm, noise, error in zip(experiment.estimates(), found.noise, found.error, strict=True):
        assert 1.0 < noise < error
        assert arm.noise_variance == noise * arm.residual_variance
        assert arm.error_factor == error
        assert arm.record()["residual_variance"] == arm.residual_variance
        trace = np.trace(np.linalg.inv(arm.gram))
        assert arm.least_squares_error == pytest.approx(error * arm.residual_variance * trace)
        low, high = arm.noise_interval
        assert low < arm.residual_variance < arm.noise_variance < high


def test_a_pooling_policy_forgets_its_first_estimates_less():
    experiment = run("trace-gain")
    stage, state = experiment._stage, experiment._state
    dof, variance, trial = state.arms["dof"], state.arms["noise_variance"], state.trial[0]
    left = 1 - dof / dof.sum()
    # At one degree of freedom the pool weighs pooled_dof as much as the arm's own σ̂².
    weight = left * variance / (variance + trial["pooled_dof"] * trial["pooled_variance"])
    selected, fading = elasticities(state, stage.score, stage.settings) * left, 1 / (1 + dof / 40)
    found = selection_of(experiment)
    noise = selected * (1 - 1 / dof) / dof * (2 + (8 * weight**3 + selected) * fading)
    error = selected * (1 - 1 / dof) ** 1.5 / dof * (4 + (22 * weight**3 + 2 * selected) * fading)
    np.testing.assert_allclose(found.noise, 1 + noise, rtol=1e-4)
    np.testing.assert_allclose(found.error, 1 + error, rtol=1e-4)
    assert np.all(found.error > found.noise)
    assert np.all(found.noise > 1.0)


@pytest.mark.parametrize("policy", ["uniform", eq.Oracle(noise=(1.0, 2.0, 3.0)), eq.TraceGain(chance=1.0)])
def test_nothing_is_corrected_where_noise_decides_nothing(policy):
    found = selection_of(run(policy))
    assert found.noise.tolist() == found.error.tolist() == [1.0] * 3


def test_an_arm_alone_cannot_be_left_alone():
    found = selection_of(run("trace-ucb", arms=1))
    assert found.noise.tolist() == found.error.tolist() == [1.0]


def test_first_estimates_are_not_selected():
    # Every arm has d + 1 outcomes: one degree of freedom.
    experiment = run("trace-ucb", units=12)
    assert experiment._state.arms["dof"].tolist() == [1, 1, 1]
    assert selection_of(experiment).error.tolist() == [1.0] * 3


@pytest.mark.parametrize("policy", ["trace-ucb", "trace-gain", "var-ucb", "gafs-max", "b-as"])
@pytest.mark.parametrize("objective", ["max", "mean"])
def test_units_do_not_matter(policy, objective):
    one, other = (selection_of(run(policy, scale=scale, objective=objective)) for scale in (1.0, 1e4))
    np.testing.assert_allclose(one.error, other.error, rtol=1e-6)
    np.testing.assert_allclose(one.noise, other.noise, rtol=1e-6)
    assert np.all((one.error >= 1.0) & (one.error < 31.0))


def test_the_order_of_arms_does_not_matter():
    one, other = run("trace-gain").estimates(), run("trace-gain", order=[2, 0, 1]).estimates()
    for arm in one:
        assert other[arm.arm].noise_variance == pytest.approx(arm.noise_variance, rel=1e-9)
        assert other[arm.arm].expected_error == pytest.approx(arm.expected_error, rel=1e-9)


# A Σ that was learned from the same contexts


def test_a_learned_moment_is_corrected_for_and_a_given_one_is_not():
    assert moment_optimism(run("uniform")._state) == 1.0
    experiment = run("uniform", moment=False, intercept=True)
    seen = experiment._state.contexts[:70]
    lengths = np.sum(seen @ np.linalg.inv(seen.T @ seen / 70) * seen, axis=1)
    assert moment_optimism(experiment._state) == pytest.approx(70 / (71 - np.mean(lengths**2) / 3))


def test_a_constant_has_nothing_to_learn():
    experiment = eq.Experiment(eq.Problem(["a", "b"], 1, budget=20), "uniform", seed=1)
    assert moment_optimism(experiment._state) == 1.0
    for _ in range(20):
        experiment.tell(experiment.ask([2.0]).id, 1.0)
    settle(experiment)
    assert moment_optimism(experiment._state) == pytest.approx(1.0, abs=1e-12)


def test_a_learned_moment_is_as_good_as_a_given_one_on_average():
    # Tr(Σ̂S⁻¹) against Tr(ΣS⁻¹) over 300 experiments: the standard error of the ratio is 0.4 %, and the band
    # five of them. Without the correction the ratio is 0.9.
    learned = given = 0.0
    rng = np.random.default_rng(8)
    for _ in range(300):
        experiment = eq.Experiment(eq.Problem(["a", "b"], 3, budget=40), "uniform", seed=1)
        for x in rng.normal(size=(40, 3)):
            experiment.tell(experiment.ask(x).id, float(rng.normal()))
        for arm in experiment.estimates(estimator="ridge"):
            learned += arm.least_squares_error / arm.residual_variance
            given += np.trace(np.linalg.inv(arm.gram))
    assert 0.98 < learned / given < 1.02
