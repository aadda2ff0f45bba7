"""What a forecast answers, refuses, prints and keeps."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from experiments.half_way import half_way

import equipoise as eq
from equipoise.errors import (
    BudgetTooSmall,
    DataNotFound,
    InvalidArgument,
    InvalidData,
    InvalidProblem,
    NotIdentified,
    UnknownArm,
    UnknownPolicy,
)
from equipoise.lab.forecast import target


@pytest.fixture(scope="module")
def experiment():
    return half_way(asked=42, awaited=3, noise=[1.0, 1.0, 1.0], seed=3)[0]


@pytest.fixture(scope="module")
def found(experiment):
    return eq.forecast(experiment, policies=["uniform"], budgets=[100], target=0.12, trials=200, seed=3)


def test_more_units_give_smaller_errors(found):
    own, larger = found.course(), found.course(budget=100)
    assert found.band(larger).median < found.band(own).median < found.band(own, 0).median
    medians = [found.band(own, look).median for look in range(len(own.units))]
    assert medians == sorted(medians, reverse=True)
    assert found.better(larger) > 0.6
    assert found.difference(larger).value < 0.0


def test_bands_enclose_each_other(found):
    for row in found.bands():
        ends = [row[name] for name in ("low_95", "low_80", "median", "high_80", "high_95")]
        assert ends == sorted(ends)
        assert row["low_95"] < row["mean"] < row["high_95"]


def test_the_budget_that_reaches_a_target(experiment, found):
    for answer in found.targets:
        assert 42 < answer.low <= answer.budget <= answer.high
        again = eq.forecast(
            experiment, policies=["uniform"], budgets=[answer.budget], trials=400, seed=11, looks=1
        )
        ends = again.course(answer.policy, answer.budget).values[:, -1]
        if answer.criterion == "mean":
            assert ends.mean() == pytest.approx(0.12, rel=0.2)
        else:
            level = float(answer.criterion.split()[1])
            # 200 and 400 trials, other seeds: four standard errors of the difference, 6 in 10⁵ a number.
            error = math.sqrt(level * (1 - level) * (1 / 200 + 1 / 400))
            assert np.mean(ends <= 0.12) == pytest.approx(level, abs=4 * error + 0.02)


def test_targets_that_are_reached_already_or_never():
    experiment, _ = half_way()
    reached = eq.forecast(experiment, target=1e6, trials=30)
    assert {answer.budget for answer in reached.targets} == {30}
    capped, _ = half_way(caps={"a": 40, "b": 40, "c": 40})
    never = eq.forecast(capped, target=1e-9, trials=30)
    assert {answer.budget for answer in never.targets} == {math.inf}
    assert "not reached" in str(never)


def test_a_closed_arm_that_is_little_known_ends_the_search_soon(monkeypatch):
    experiment = half_way(asked=30, awaited=0, noise=[1.0, 1.0, 1.0], seed=3)[0]
    experiment.close_arm(experiment.problem.arms[0])
    now = min(arm.expected_error for arm in experiment.estimates())
    tried, simulate = [], target._Curve._simulate
    monkeypatch.setattr(target._Curve, "_simulate", lambda self, n: [tried.append(n), simulate(self, n)])
    found = eq.forecast(experiment, target=now / 20, trials=30)
    assert {answer.budget for answer in found.targets} == {math.inf}
    assert max(tried) < 5000  # and not the 200,000 that could be
    assert "at 30 of 60 units:" in str(found)


def test_budgets_that_are_near_each_other_do_not_end_the_search():
    rng = np.random.default_rng(0)
    experiment = eq.Experiment(eq.Problem(["a", "b"], dim=2, budget=1000), seed=1)
    for _ in range(30):
        experiment.tell(experiment.ask(rng.normal(size=2)).id, rng.normal())
    for seed in (7, 9):  # here chance makes the larger of two budgets worse
        found = eq.forecast(experiment, trials=30, seed=seed)
        wanted = found.band(found.courses[0]).mean / 2
        found = eq.forecast(experiment, trials=30, seed=seed, budgets=[1001], target=wanted)
        assert all(1000 < answer.budget < 20_000 for answer in found.targets)


def test_where_arms_have_costs_nobody_knows_how_many_units_will_come():
    rng = np.random.default_rng(1)
    problem = eq.Problem(["a", "b"], dim=1, budget=40.0, costs={"b": 2.5})
    experiment = eq.Experiment(problem, seed=1)
    for _ in range(12):
        experiment.tell(experiment.ask([1.0]).id, rng.normal())
    assert "at 12 of up to 40 units:" in str(eq.forecast(experiment, trials=20))


def test_weights_are_in_what_is_forecast_and_named():
    rng = np.random.default_rng(1)
    experiment = eq.Experiment(eq.Problem(["a", "b"], dim=1, budget=40, weights={"b": 9.0}), seed=1)
    for _ in range(12):
        experiment.tell(experiment.ask([1.0]).id, rng.normal())
    assert "The worst arm's error, times weights, in squared units" in str(eq.forecast(experiment, trials=20))


def test_too_few_outcomes_for_a_mean():
    experiment, _ = half_way(asked=15)
    found = eq.forecast(experiment, trials=50, target=1.0)
    few = [arm.arm for arm in experiment.estimates() if arm.dof <= 2]
    assert few
    assert math.isnan(found.band(found.courses[0]).mean)
    assert math.isnan(found.band(found.courses[0], -1, few[0]).mean)
    assert f"No mean: {'arm' if len(few) == 1 else 'arms'} {', '.join(few)}" in str(found)
    assert found.record()["courses"][0]["looks"][-1]["objective"]["mean"] is None


def test_print_and_tables(found):
    text = str(found)
    assert "42 of 60 units, 3 outcomes awaited: 200 trials of the rest, seed 3" in text
    assert "probability 0.9" in text
    assert "uniform" in text
    assert len(found.bands()) == 4 * 5 * 4
    assert len(found.ends()) == len(found.records()) == 4 * 4
    assert [row["budget"] for row in found.differences()] == [100, 60, 100]
    assert found.ends().column("arm")[:4] == [None, "a", "b", "c"]
    assert found._repr_html_().count("<table") == 3


def test_plain_data(found, tmp_path):
    text = found.to_json(tmp_path / "forecast.json")
    record = json.loads(text)
    assert record == found.record() == json.loads((tmp_path / "forecast.json").read_text())
    assert record["version"] == eq.__version__
    assert record["numerics"] == eq.NUMERICS
    assert record["experiment"]["asked"] == 42
    assert record["courses"][0]["looks"][-1]["units"] == 60


def test_kept_and_read_again(found, tmp_path):
    found.save(tmp_path / "forecast.npz")
    again = eq.Forecast.load(tmp_path / "forecast.npz")
    assert str(again) == str(found)
    assert again.record() == found.record()
    assert np.array_equal(again.courses[3].errors, found.courses[3].errors)
    with pytest.raises(DataNotFound, match="no file"):
        eq.Forecast.load(tmp_path / "none.npz")
    whole = (tmp_path / "forecast.npz").read_bytes()
    (tmp_path / "cut.npz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InvalidData, match="not a whole forecast"):
        eq.Forecast.load(tmp_path / "cut.npz")
    np.savez(tmp_path / "other.npz", header=np.array(json.dumps({"kind": "replay"})))
    with pytest.raises(InvalidData, match="not a whole forecast: it holds a replay"):
        eq.Forecast.load(tmp_path / "other.npz")


def test_features_that_a_pipeline_makes_are_not_needed_to_read_a_forecast(tmp_path):
    pandas = pytest.importorskip("pandas")
    pipeline = pytest.importorskip("sklearn.preprocessing").StandardScaler()
    rng = np.random.default_rng(2)
    pipeline.fit(pandas.DataFrame(rng.normal(3.0, 2.0, size=(50, 2)), columns=["age", "dose"]))
    features = eq.Transformed(pipeline, fields=["age", "dose"])
    problem = eq.Problem(arms=["a", "b"], features=features, budget=40, weights={"a": 2.0}, objective=3.0)
    experiment = eq.Experiment(problem, seed=3)
    while experiment.asked < 20:
        age, dose = rng.normal(3.0, 2.0, size=2)
        unit = experiment.ask({"age": age, "dose": dose})
        experiment.tell(unit.id, float(age - dose + rng.normal()))
    found = eq.forecast(experiment, trials=20)
    found.save(tmp_path / "forecast.npz")
    again = eq.Forecast.load(tmp_path / "forecast.npz")
    assert again.to_json() == found.to_json()
    assert again.band(again.courses[0], -1, "b") == found.band(found.courses[0], -1, "b")
    with pytest.raises(UnknownArm, match="the arms are a, b"):
        again.band(again.courses[0], -1, "c")


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"policies": ["unifrom"]}, UnknownPolicy, "unifrom"),
        ({"budgets": [20]}, BudgetTooSmall, "42 units assigned have cost 42"),
        ({"budgets": [70.5]}, InvalidProblem, "budget=70.5"),
        ({"budgets": "70"}, InvalidArgument, "not a list"),
        ({"target": 0}, InvalidArgument, "target=0 is not a positive number"),
        ({"target": "low"}, InvalidArgument, "not a positive number"),
        ({"trials": 0}, InvalidArgument, "trials=0"),
        ({"seed": -1}, InvalidArgument, "seed=-1"),
        ({"lag": -1}, InvalidArgument, "lag=-1"),
        ({"losses": 1.0}, InvalidArgument, "losses=1.0 is not a share"),
        ({"losses": "few"}, InvalidArgument, "losses='few' is not a share"),
        ({"losses": {"a": -0.1}}, InvalidArgument, "losses=-0.1 is not a share"),
        ({"losses": {"z": 0.1}}, UnknownArm, "no arm 'z'"),
        ({"looks": 0}, InvalidArgument, "looks=0"),
        ({"truth": "known"}, InvalidArgument, "none of 'pooled', 'unshrunk' and 'sparse'"),
        ({"estimator": "pooledd"}, InvalidArgument, "pooledd"),
        ({"contexts": np.zeros((0, 3))}, InvalidArgument, "empty"),
    ],
)
def test_refusals(experiment, arguments, error, words):
    with pytest.raises(error, match=words):
        eq.forecast(experiment, **{"trials": 5, **arguments})


def test_an_arm_without_a_model():
    experiment, _ = half_way(asked=8)
    with pytest.raises(NotIdentified, match=r"arm '.' has no model yet: \d outcomes.*d \+ 1 = 4"):
        eq.forecast(experiment)
    experiment.add_arm("d")
    with pytest.raises(NotIdentified):
        eq.forecast(experiment)


def test_outcomes_that_are_all_alike():
    experiment, _ = half_way(asked=0)
    rng = np.random.default_rng(0)
    while experiment.asked < 30:
        unit = experiment.ask([1.0, *rng.normal(size=2)])
        experiment.tell(unit.id, 1.0 if unit.arm == "b" else float(rng.normal()))
    with pytest.raises(NotIdentified, match="outcomes of arm 'b' are alike"):
        eq.forecast(experiment)


@pytest.mark.filterwarnings("ignore::equipoise.errors.FitWarning")
def test_an_experiment_that_chooses_features():
    problem = eq.Problem(arms=2, dim=8, budget=60)
    experiment = eq.Experiment(problem, policy="sparse-trace-ucb:shared=true", seed=1)
    with pytest.raises(NotIdentified, match="arm 'arm-1' has 0 outcomes; a forecast takes at least 3"):
        eq.forecast(experiment)
    rng = np.random.default_rng(1)
    while experiment.asked < 30:
        x = rng.normal(size=8)
        experiment.tell(experiment.ask(x).id, float(3.0 * x[2] + rng.normal()))
    found = eq.forecast(experiment, policies=["uniform"], budgets=[80], target=0.3, trials=20, looks=1)
    assert found.origin.truth == "sparse"
    assert found.band(found.course()).median < found.band(found.course(), 0).median
    own = np.median(found.course().errors[:, -1])
    assert own < np.median(found.course("uniform").errors[:, -1])
    assert eq.forecast(experiment, truth="unshrunk", trials=5).origin.truth == "unshrunk"
    with pytest.raises(InvalidArgument, match="sparse-oracle would have to be told the features"):
        eq.forecast(experiment, policies=["sparse-oracle"])


def test_redacted_units_and_a_policy_that_chooses_features(experiment):
    redacted = experiment.in_memory()
    redacted.redact(3)
    with pytest.raises(InvalidArgument, match="contexts of redacted units are no longer there"):
        eq.forecast(redacted, policies=["sparse-trace-ucb"])


def test_only_experiments_are_forecast():
    with pytest.raises(InvalidArgument, match="not an experiment"):
        eq.forecast(eq.Problem(arms=2, dim=8, budget=60))
