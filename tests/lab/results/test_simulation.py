"""Losses and their errors."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import equipoise as eq
from equipoise.errors import InvalidArgument
from equipoise.lab.results.estimate import mean_estimate, quantile_estimate

SCENARIO = eq.GaussianScenario(noise=[0.2, 1.0, 3.0], dim=3, budget=60, weights=(1.0, 2.0, 1.0))


@pytest.fixture(scope="module")
def result():
    return eq.simulate(SCENARIO, ["uniform", eq.TraceUCB(width=0.5), "oracle"], trials=300, seed=4)


def test_losses_are_what_they_say(result):
    errors = result["uniform"].ledger.errors * [1.0, 2.0, 1.0]
    assert result["uniform"].expected_max().value == pytest.approx(errors.mean(axis=0).max())
    assert result["uniform"].median_max().value == pytest.approx(np.median(errors.max(axis=1)))
    assert result["uniform"].mean().value == pytest.approx(errors.mean())
    assert result["uniform"].quantile_max(0.9).value == pytest.approx(np.quantile(errors.max(axis=1), 0.9))
    assert sum(pull.value for pull in result["oracle"].pulls()) == pytest.approx(60)


def test_tidy_table(result):
    table = result.losses(quantiles=(0.25,))
    assert table.columns == ("policy", "loss", "value", "stderr")
    assert set(table.column("policy")) == {"uniform", "trace-ucb:width=0.5", "oracle"}
    assert set(table.column("loss")) == {
        "expected_max",
        "median_max",
        "mean",
        "regret",
        "coverage",
        "quantile_max_0.25",
    }
    assert table.metadata["seed"] == 4
    assert table.metadata["version"] == eq.__version__
    assert eq.Scenario.from_dict(table.metadata["scenario"]) == SCENARIO


def test_standard_errors_are_honest():
    """Over 200 repetitions the spread of each loss matches its stderr."""
    # The mean stderr of 200 runs is known to 3 %, the spread to 5 %; 25 % are 4 standard errors.
    scenario = eq.GaussianScenario(noise=[0.5, 2.0], dim=2, budget=30)
    runs = eq.simulate(scenario, ["uniform"], trials=200 * 60, seed=9)["uniform"].errors.reshape(200, 60, 2)
    for estimate in (
        lambda errors: mean_estimate(errors[:, 1]),
        lambda errors: quantile_estimate(errors.max(axis=1), 0.5),
        lambda errors: quantile_estimate(errors.max(axis=1), 0.8),
    ):
        found = [estimate(errors) for errors in runs]
        spread = np.std([value.value for value in found], ddof=1)
        assert np.mean([value.stderr for value in found]) == pytest.approx(spread, rel=0.25)


def test_pairing_makes_differences_sharper(result):
    paired = result.difference("trace-ucb:width=0.5", "oracle", "mean")
    one, other = result["trace-ucb:width=0.5"].mean(), result["oracle"].mean()
    assert paired.value == pytest.approx(one.value - other.value)
    assert paired.stderr < math.hypot(one.stderr, other.stderr)
    for loss in ("expected_max", "median_max"):
        assert math.isfinite(result.difference("uniform", "oracle", loss).stderr)
    with pytest.raises(InvalidArgument, match="use expected_max"):
        result.difference("uniform", "oracle", "max")


def test_regret(result):
    assert result.regret("oracle").value == 0.0
    assert result.regret("uniform").value == result.difference("uniform", "oracle").value
    alone = eq.simulate(SCENARIO, ["uniform"], trials=100, seed=4)
    closed = eq.theory.optimal_loss([0.2, 2.0, 3.0], 3, 60)
    assert alone.regret("uniform").value == pytest.approx(alone["uniform"].expected_max().value - closed)


def test_json_object(result):
    record = json.loads(json.dumps(result.record()))
    assert {"scenario", "trials", "seed", "policies"} <= set(record)
    for policy in record["policies"].values():
        assert set(policy) == {
            "expected_max",
            "median_max",
            "mean",
            "regret",
            "difference",
            "errors",
            "pulls",
            "units",
            "coverage",
            "decisions_per_second",
        }
        assert set(policy["expected_max"]) == {"value", "stderr"}
        assert policy["decisions_per_second"] > 0
    single = eq.simulate(SCENARIO, ["uniform"], trials=1, seed=4).record()
    assert single["policies"]["uniform"]["mean"]["stderr"] is None


def test_save_and_load(result, tmp_path):
    path = tmp_path / "result.npz"
    result.save(path)
    loaded = eq.SimulationResult.load(path)
    assert loaded.scenario == result.scenario
    assert loaded.metadata == result.metadata
    for name in result.policies:
        np.testing.assert_array_equal(loaded[name].errors, result[name].errors)
        assert loaded[name].decisions_per_second == result[name].decisions_per_second
    assert str(loaded) == str(result)
    assert "<table>" in loaded._repr_html_()


def test_unknown_policy(result):
    with pytest.raises(InvalidArgument, match="simulated: uniform"):
        result["var-ucb"]


@settings(max_examples=50)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40), st.floats(0.01, 0.99))
def test_quantiles_of_anything(values, level):
    estimate = quantile_estimate(np.array(values), level)
    assert min(values) <= estimate.value <= max(values)
    assert math.isnan(estimate.stderr) == (len(values) == 1)
