import dataclasses

import numpy as np
import pytest

import equipoise as eq
from equipoise.cli.demo.tables import verdict
from equipoise.cli.demo.trial import DIM, NOISE, World

BUDGET, SEED = 120, 11


@pytest.fixture(scope="module")
def world():
    return World(budget=BUDGET, seed=SEED)


@pytest.fixture(scope="module")
def comparison(world):
    return world.compare(world.experiment(eq.TraceUCB()), world.experiment(eq.Uniform()))


def test_the_scenario_is_the_paper_s():
    assert NOISE == (0.01, 0.02, 0.75, 1.0, 2.0, 2.0, 3.0)
    assert DIM == 10


@pytest.mark.parametrize("policy", [eq.TraceUCB(width=0.3), eq.Uniform()])
def test_the_nth_unit_of_an_arm_meets_the_same_noise_under_every_policy(world, policy):
    experiment = world.experiment(policy)
    world.run(experiment)
    for i, arm in enumerate(world.problem.arms):
        contexts, outcomes = experiment.data(arm)
        shocks = outcomes - contexts @ world.coefs[i]
        np.testing.assert_allclose(shocks, world.shocks[i, : len(shocks)], atol=1e-12)


def test_noise_has_the_variances_of_the_scenario():
    world = World(budget=20_000, seed=SEED)
    # 6 standard errors of a variance, √(2/n) each: fails by chance less than once in 10⁷ seeds.
    np.testing.assert_allclose(world.shocks.var(axis=1) / NOISE, 1.0, atol=6 * np.sqrt(2 / 20_000))


def test_results_are_the_experiment_s_estimates(world):
    experiment = world.experiment(eq.TraceUCB(width=0.3))
    result = world.run(experiment)
    assert result.policy == "trace-ucb:width=0.3"
    assert result.confidence == 0.95
    for i, (arm, fitted) in enumerate(zip(result.arms, experiment.estimates(estimator="ridge"), strict=True)):
        inside = [low <= b <= high for b, (low, high) in zip(world.coefs[i], fitted.intervals, strict=True)]
        assert arm.arm == fitted.arm
        assert arm.units == experiment.counts[arm.arm]
        assert arm.true_noise == NOISE[i]
        assert arm.estimated_noise == fitted.noise_variance
        assert arm.noise_interval == fitted.noise_interval
        assert arm.expected_error == fitted.expected_error
        assert arm.actual_error == pytest.approx(np.linalg.norm(fitted.coef - world.coefs[i]) ** 2)
        assert arm.covered == sum(inside)


def test_worst_arms(comparison):
    for result in (comparison.chosen, comparison.uniform):
        assert result.worst_expected == max(arm.expected_error for arm in result.arms)
        assert result.worst_actual == max(arm.actual_error for arm in result.arms)


def test_the_comparison_knows_the_optimum(comparison):
    assert sum(arm.units for arm in comparison.chosen.arms) == BUDGET
    assert comparison.optimal_loss == eq.theory.optimal_loss(NOISE, DIM, BUDGET)
    assert sum(comparison.optimal_units) == BUDGET


def test_the_oracle_is_told_the_noise(world, comparison):
    result = world.run(world.experiment(eq.Oracle()))
    assert result.policy == "oracle"
    assert tuple(arm.units for arm in result.arms) == comparison.optimal_units


def test_an_oracle_that_was_told_something_else_keeps_it(world):
    wrong = eq.Oracle(noise=NOISE[::-1])
    result = world.run(world.experiment(wrong))
    assert result.policy == wrong.spec
    assert result.arms[0].units > result.arms[-1].units


def test_every_unit_is_reported(world):
    calls = []
    world.compare(
        world.experiment(eq.TraceUCB()), world.experiment(eq.Uniform()), advance=lambda: calls.append(None)
    )
    assert len(calls) == 2 * BUDGET


def test_seeds_and_nothing_else_decide(comparison):
    def again(seed):
        world = World(budget=BUDGET, seed=seed)
        return world.compare(world.experiment(eq.TraceUCB()), world.experiment(eq.Uniform()))

    assert again(SEED) == comparison
    assert again(SEED + 1).chosen != comparison.chosen


@pytest.mark.parametrize(
    ("actual", "expected", "words"),
    [
        (0.5, 0.75, ["0.5 with trace-ucb", "2 with uniform: 75 % lower", "0.75 against 1, 25 % lower"]),
        (3.0, 1.1, ["3 with trace-ucb", "50 % higher", "1.1 against 1, 10 % higher"]),
        (2.0, 1.0, ["2 with uniform: the same", "1 against 1, the same"]),
    ],
)
def test_the_verdict_says_which_way_it_went(comparison, actual, expected, words):
    def with_worst(result, actual, expected):
        arm = dataclasses.replace(result.arms[0], actual_error=actual, expected_error=expected)
        return dataclasses.replace(result, arms=(arm,))

    text = verdict(
        dataclasses.replace(
            comparison,
            chosen=with_worst(comparison.chosen, actual, expected),
            uniform=with_worst(comparison.uniform, 2.0, 1.0),
            optimal_loss=0.321,
        )
    )
    for phrase in [*words, "would expect 0.321"]:
        assert phrase in text


def test_the_verdict_at_the_smallest_budget(comparison):
    assert "no finite error" in verdict(dataclasses.replace(comparison, optimal_loss=np.inf))
