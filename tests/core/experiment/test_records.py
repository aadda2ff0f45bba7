"""Experiments whose units are records: the same decisions as for vectors, and nothing half-done."""

import copy
import dataclasses
import pickle

import numpy as np
import pandas as pd
import pytest

import equipoise as eq

FEATURES = eq.Features(
    "1 + age + sex",
    age=eq.Number(18, 90, center=50, scale=10, unit="years"),
    sex=eq.Category("f", "m"),
)


def problem(**options):
    return eq.Problem(["placebo", "drug"], features=FEATURES, budget=30, **options)


def units(count=20):
    rng = np.random.default_rng(5)
    return [{"age": float(rng.uniform(18, 90)), "sex": str(rng.choice(["f", "m"]))} for _ in range(count)]


def test_a_problem_knows_its_columns():
    assert problem().dim == 3
    assert problem().feature_names == ("intercept", "age", "sex[m]")
    assert eq.Problem(2, 2, budget=9).feature_names == ("x[0]", "x[1]")
    assert eq.Problem(2, features=["1", "age"], budget=9).feature_names == ("1", "age")


def test_records_are_decided_as_their_vectors_are():
    by_name = eq.Experiment(problem(), seed=3)
    by_vector = eq.Experiment(eq.Problem(["placebo", "drug"], 3, budget=30), seed=3)
    for j, unit in enumerate(units()):
        one, other = by_name.ask(unit), by_vector.ask(FEATURES.encode(unit))
        assert (one.id, one.arm, one.scores) == (other.id, other.arm, other.scores)
        for experiment in (by_name, by_vector):
            experiment.tell(one.id, float(j % 7))


def test_batches_are_data_frames():
    one, other = (eq.Experiment(problem(), seed=3) for _ in range(2))
    found = one.ask_many(pd.DataFrame(units()))
    assert [unit.arm for unit in found] == [unit.arm for unit in other.ask_many(units())]


def test_a_wrong_record_changes_nothing():
    experiment = eq.Experiment(problem(), seed=3)
    with pytest.raises(eq.errors.InvalidRecord, match="age"):
        experiment.ask({"age": 3, "sex": "f"})
    with pytest.raises(eq.errors.InvalidContext, match="not a record"):
        experiment.ask([1.0, 0.0, 1.0])
    with pytest.raises(eq.errors.InvalidRecord, match="unit 1 of the batch"):
        experiment.ask_many([{"age": 30, "sex": "f"}, {"age": 3, "sex": "f"}])
    assert experiment.asked == 0


def test_outcomes_have_a_range():
    experiment = eq.Experiment(problem(outcome=eq.Number(0, 100, unit="points")), seed=3)
    unit = experiment.ask(units()[0])
    with pytest.raises(eq.errors.InvalidOutcome, match="0 to 100 points"):
        experiment.tell(unit.id, 101)
    assert experiment.pending == [unit.id]
    experiment.tell(unit.id, 100)
    with pytest.raises(eq.errors.InvalidOutcome, match="0 to 100 points"):
        experiment.correct(unit.id, -0.5)


@pytest.mark.parametrize("field", [eq.Category("f", "m"), 3, eq.Number(center=3), eq.Number(missing=1)])
def test_an_outcome_has_a_range_and_a_unit_only(field):
    with pytest.raises(eq.errors.InvalidProblem, match="outcome"):
        problem(outcome=field)


def test_problems_with_fields_are_plain_data():
    whole = problem(outcome=eq.Number(0, 100, unit="points"))
    assert eq.Problem.from_dict(whole.to_dict()) == whole
    named = eq.Problem(2, features=["1", "age"], budget=9)
    assert named.to_dict()["features"] == ["1", "age"]
    assert eq.Problem.from_dict(named.to_dict()) == named
    assert named != eq.Problem(2, 2, budget=9)
    assert dataclasses.replace(whole, budget=40).features == FEATURES
    assert dataclasses.replace(eq.Problem(2, 2, budget=99), dim=5).dim == 5


@pytest.mark.parametrize("again", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_copies_and_pickles_go_on_with_records(again):
    experiment = eq.Experiment(problem(outcome=eq.Number(0, 100)), seed=3)
    for unit in units():
        experiment.tell(experiment.ask(unit).id, 1.0)
    other = again(experiment)
    assert other.problem == experiment.problem
    unit = {"age": 30, "sex": "f"}
    assert other.ask(unit).arm == experiment.ask(unit).arm


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "does not say what a context is"),
        ({"features": FEATURES, "dim": 4}, "3 columns: intercept, age"),
        ({"features": "1 + age"}, "one string"),
        ({"features": ["a", "a"]}, "used twice"),
        ({"features": []}, "no features"),
        ({"features": [1]}, "not a non-empty string"),
        ({"features": 3}, "neither eq.Features nor"),
    ],
)
def test_contradictions_are_refused(options, words):
    with pytest.raises(eq.errors.InvalidProblem, match=words):
        eq.Problem(2, budget=30, **options)


def test_named_vectors_go_by_name_or_by_place():
    experiment = eq.Experiment(eq.Problem(2, features=["1", "age", "dose"], budget=30), seed=1)
    experiment.ask([1.0, 2.0, 3.0])
    experiment.ask({"dose": 3.0, "1": 1, "age": 2.0})
    experiment.ask_many(pd.DataFrame({"dose": [3.0], "age": [2.0], "1": [1.0]}))
    contexts = np.vstack([experiment.data(arm)[0] for arm in experiment.problem.arms])
    assert len(contexts) == 0  # nothing is known yet
    for unit in experiment.pending:
        experiment.tell(unit, 0.0)
    contexts = np.vstack([experiment.data(arm)[0] for arm in experiment.problem.arms])
    np.testing.assert_array_equal(contexts, [[1, 2, 3]] * 3)
    with pytest.raises(eq.errors.InvalidContext, match=r"no feature 'agee'.*did you mean 'age'"):
        experiment.ask({"dose": 3.0, "1": 1, "agee": 2.0})
    with pytest.raises(eq.errors.InvalidContext, match="no value of dose"):
        experiment.ask({"1": 1, "age": 2.0})
    with pytest.raises(eq.errors.InvalidContext, match="no names"):
        eq.Experiment(eq.Problem(2, 2, budget=30)).ask({"a": 1, "b": 2})


def test_policies_that_choose_features_take_records():
    names = {f"f{j}": eq.Number() for j in range(30)}
    big = eq.Problem(2, features=eq.Features(**names), budget=60, allow_small_budget=True)
    experiment = eq.Experiment(big, policy="sparse-trace-ucb", seed=2)
    rng = np.random.default_rng(2)
    for _ in range(60):
        unit = dict(zip(names, rng.normal(size=30), strict=True))
        experiment.tell(experiment.ask(unit).id, float(3 * unit["f1"] + rng.normal()))
    assert experiment.support is not None
    assert 2 in experiment.support  # the intercept comes first
    pickle.loads(pickle.dumps(experiment)).estimates()


def test_a_fitted_pipeline_stands_in():
    from sklearn.compose import make_column_transformer
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    frame = pd.DataFrame(units(50))
    pipeline = make_column_transformer((StandardScaler(), ["age"]), (OneHotEncoder(drop="first"), ["sex"]))
    with pytest.raises(eq.errors.InvalidFeatures, match="fit it first"):
        eq.Transformed(pipeline, fields=["age", "sex"])
    pipeline.fit(frame)
    features = eq.Transformed(pipeline, fields={"age": eq.Number(18, 90), "sex": eq.Category("f", "m")})
    assert features.dim == 3
    assert features.names[0] == "intercept"
    np.testing.assert_allclose(features.encode_many(frame)[:, 1].mean(), 0.0, atol=1e-12)
    np.testing.assert_array_equal(features.encode(units(3)[2]), features.encode_many(frame)[2])
    with pytest.raises(eq.errors.InvalidRecord, match="18 to 90"):
        features.encode({"age": 3, "sex": "f"})
    with pytest.raises(eq.errors.InvalidRecord, match="no field 'dose'"):
        features.encode({"age": 30, "sex": "f", "dose": 1})
    whole = eq.Problem(2, features=features, budget=30)
    experiment = eq.Experiment(whole, seed=1)
    experiment.ask(units(1)[0])
    again = pickle.loads(pickle.dumps(experiment))
    assert again.problem == whole
    assert again.ask(units(2)[1]).arm == experiment.ask(units(2)[1]).arm
    with pytest.raises(eq.errors.InvalidFeatures, match="not plain data"):
        eq.Problem.from_dict(whole.to_dict())
