import json
import math

import numpy as np
import pytest

import equipoise as eq
from equipoise.studies.losses import Losses, _correlation, _medians, summarise
from equipoise.studies.reproduce import Point


@pytest.fixture(scope="module")
def result():
    scenario = eq.GaussianScenario([0.1, 1.0, 3.0], dim=3, budget=60)
    return eq.simulate(scenario, ["uniform", "oracle", "trace-ucb"], trials=4_000, seed=5)


@pytest.mark.parametrize("loss", ["expected_max", "median_max", "mean"])
def test_a_summary_has_the_simulation_s_numbers(result, loss):
    losses = summarise(result).losses[loss]
    for name, policy in result.policies.items():
        estimate = getattr(policy, loss)()
        assert losses.estimate(name) == pytest.approx((estimate.value, estimate.stderr))


@pytest.mark.parametrize("loss", ["expected_max", "median_max"])
def test_the_error_of_a_ratio_is_that_of_the_bootstrap(result, loss):
    ratio, stderr = summarise(result).losses[loss].ratio("trace-ucb", "oracle")
    rng = np.random.default_rng(1)
    draws = []
    for _ in range(400):
        rows = rng.integers(0, result.trials, result.trials)
        values = []
        for name in ("trace-ucb", "oracle"):
            errors = result[name].errors[rows]
            values.append(
                errors.mean(axis=0).max() if loss == "expected_max" else np.median(errors.max(axis=1))
            )
        draws.append(values[0] / values[1])
    assert ratio == pytest.approx(np.mean(draws), abs=4 * stderr)
    # 400 draws know a spread to 3.5 %; an order-statistic error varies by some 15 %.
    assert stderr == pytest.approx(np.std(draws), rel=0.35)


def test_correlation_makes_a_ratio_more_certain():
    values = {"one": 2.0, "other": 1.0}
    apart = Losses(values, ((0.04, 0.0), (0.0, 0.01)))
    together = Losses(values, ((0.04, 0.02), (0.02, 0.01)))
    assert apart.ratio("one", "other") == pytest.approx((2.0, 2.0 * math.sqrt(0.02)))
    assert together.ratio("one", "other") == pytest.approx((2.0, 0.0), abs=1e-7)


def test_a_point_survives_json(result):
    point = summarise(result)
    assert Point.from_record(json.loads(json.dumps(point.record()))) == point


def test_renaming_keeps_each_policy_s_numbers(result):
    point = summarise(result)
    renamed = point.renamed({"oracle": "oracle", "trace-ucb": "b"})
    for loss, losses in renamed.losses.items():
        assert list(losses.values) == ["oracle", "b"]
        assert losses.ratio("b", "oracle") == point.losses[loss].ratio("trace-ucb", "oracle")


def test_two_trials_have_finite_errors():
    scenario = eq.GaussianScenario([1.0, 1.0], dim=2, budget=20)
    point = summarise(eq.simulate(scenario, ["uniform", "oracle"], trials=2, seed=1))
    for losses in point.losses.values():
        assert np.all(np.isfinite(losses.covariance))


def test_policies_that_allocate_alike_have_a_ratio_without_error():
    scenario = eq.GaussianScenario([0.1, 1.0, 3.0], dim=3, budget=60)
    result = eq.simulate(scenario, ["trace-ucb", "trace-ucb:width=1.000000001"], trials=200, seed=5)
    for losses in summarise(result).losses.values():
        ratio, stderr = losses.ratio(*result.policies)
        assert ratio == pytest.approx(1.0, abs=1e-3)
        assert stderr < 0.1 * losses.estimate("trace-ucb")[1]


def test_medians_correlate_by_the_side_that_trials_fall_on():
    rng = np.random.default_rng(1)
    sides = rng.permutation(np.repeat([-1.0, 1.0], 500))
    # On the same side of their medians in every trial, at distances that have nothing to do with each other.
    worsts = [10.0 + sides * rng.exponential(size=1_000) for _ in range(2)]
    covariance = np.array(_medians(dict(zip(("one", "other"), worsts, strict=True))).covariance)
    assert covariance[0, 1] > 0.99 * math.sqrt(covariance[0, 0] * covariance[1, 1])


def test_constant_rows_correlate_with_themselves_alone():
    assert _correlation(np.ones((2, 5))).tolist() == [[1.0, 0.0], [0.0, 1.0]]
