"""Names of arms and features in scenarios, and of the arms that are closed."""

from __future__ import annotations

import pytest

import equipoise as eq
from equipoise.lab import Accrual, Closure

PLAIN = eq.GaussianScenario(noise=[0.5, 2.0], dim=2, budget=60, estimator="ridge")


def test_names_of_arms_and_features():
    named = PLAIN.replace(arms=["low", "high"], features=["1", "age"])
    assert named.arms == named.problem().arms == ("low", "high")
    assert named.feature_names == ("1", "age")
    assert named.to_dict()["arms"] == ["low", "high"]
    assert named.replace(budget=80).arms == ("low", "high")
    assert PLAIN.feature_names == ("x[0]", "x[1]")


def test_names_that_nobody_gave_are_not_written_and_go_with_the_size():
    assert PLAIN.arms == ("arm-1", "arm-2")
    assert PLAIN.replace(arms=["arm-1", "arm-2"], features=["x[0]", "x[1]"]) == PLAIN
    assert "arms" not in PLAIN.to_dict()
    larger = PLAIN.replace(noise=[1.0, 2.0, 3.0], dim=3)
    assert larger.arms == ("arm-1", "arm-2", "arm-3")
    assert larger.feature_names == ("x[0]", "x[1]", "x[2]")
    with pytest.raises(eq.errors.InvalidScenario, match="2 names for 3 arms"):
        PLAIN.replace(arms=["low", "high"]).replace(noise=[1.0, 2.0, 3.0])


def test_arms_that_lose_alike_are_not_told_apart():
    assert PLAIN.replace(lost=[0.1, 0.1]) == PLAIN.replace(lost=0.1)


def test_closures_are_tables_in_a_file():
    scenario = eq.Scenario.from_toml("""
        noise = [1.0, 2.0]
        dim = 2
        budget = 60
        arms = ["low", "high"]

        [accrual]
        rate = 4

        [[closures]]
        arm = "high"
        after = 6.5
        by = "time"
    """)
    assert scenario.closures == (Closure("high", after=6.5, by="time"),)
    assert scenario.accrual == Accrual(rate=4.0)


def test_columns_of_features_are_names():
    features = eq.Features("1 + age", age=eq.Number(18, 90))
    assert PLAIN.replace(features=features).feature_names == features.names


def test_features_say_their_number_and_whether_there_is_an_intercept():
    features = eq.Features("1 + age + sex", age=eq.Number(18, 90), sex=eq.Category("f", "m"))
    scenario = eq.Scenario(noise=[1.0, 2.0], budget=40, features=features)
    assert (scenario.dim, scenario.intercept) == (3, True)
    assert eq.Scenario.from_toml(scenario.to_toml()) == scenario
    assert not eq.Scenario(noise=[1.0], budget=9, features=eq.Features("0 + age", age=eq.Number())).intercept
    named = eq.Scenario.from_dict({"noise": [1.0], "budget": 20, "features": ["1", "age"]})
    assert (named.dim, named.intercept) == (2, False)
    with pytest.raises(eq.errors.InvalidScenario, match="dim=0"):
        eq.Scenario(noise=[1.0], budget=20)


def test_names_are_where_arms_are_listed():
    named = PLAIN.replace(arms=["low", "high"], features=["1", "age"])
    record = eq.simulate(named, ["uniform"], trials=2).record()
    assert record["arms"] == ["low", "high"]
    assert record["features"] == ["1", "age"]
