"""The first trial of every kind is run once beforehand, so that compilation is in nobody's time."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import equipoise as eq
from equipoise.lab import (
    Accrual,
    Closure,
    CountOutcomes,
    Delay,
    DropOut,
    OneHotContexts,
    SkewedNoise,
    SparseTruth,
    StopRule,
    StudentContexts,
    StudentNoise,
)
from equipoise.lab.running import simulate as module

outline = module.outline

SCENARIO = eq.GaussianScenario(noise=(0.5, 2.0), dim=4, budget=60, estimator="ridge")
# Every field, at a value that is not the default.
OTHERS = {
    "noise": (0.0, 2.0),
    "dim": None,  # numbers that are never 0 decide nothing
    "budget": None,
    "contexts": OneHotContexts(),
    "intercept": True,
    "noise_shape": StudentNoise(),
    "coef": np.ones((2, 4)),
    "truth": SparseTruth(features=2),
    "heteroscedasticity": 1.0,
    "curvature": 0.5,
    "curved": "all",
    "outcomes": CountOutcomes(),
    "coef_drift": 1.0,
    "noise_drift": 1.0,
    "moment": "learned",
    "delay": Delay(mean=3.0),
    "lost": 0.1,
    "arms": ("low", "high"),
    "features": ("1", "age", "sex", "dose"),
    "accrual": Accrual(rate=3.0),
    "drop_out": DropOut(rate=0.1),
    "closures": (Closure("arm-1", after=30),),
    "stop": StopRule(target=0.5),
    "estimator": "pooled",
    "intervals": "robust",
    "ridge": 0.1,
    "objective": "mean",
    "weights": (1.0, 2.0),
    "costs": (1.0, 2.0),
    "floors": (10, 0),
    "caps": (40, None),
}


@pytest.fixture
def warmed(monkeypatch):
    """Kinds of trials that were run beforehand."""
    kinds: set = set()
    monkeypatch.setattr(module, "_WARM", kinds)
    return kinds


def test_every_field_is_tried():
    assert OTHERS.keys() == {field.name for field in dataclasses.fields(eq.Scenario)}


@pytest.mark.parametrize("field", [name for name, value in OTHERS.items() if value is not None])
def test_every_field_of_a_scenario_counts(field):
    needed = SCENARIO.replace(intercept=True) if field == "outcomes" else SCENARIO
    needed = needed.replace(delay=Delay(mean=3.0)) if field == "drop_out" else needed
    changed = needed.replace(**{field: OTHERS[field]})
    assert outline(changed.to_dict()) != outline(needed.to_dict())


def test_pieces_count():
    for one, other in [
        ({"contexts": StudentContexts(dof=3.0)}, {"contexts": OneHotContexts()}),
        ({"noise_shape": StudentNoise()}, {"noise_shape": SkewedNoise()}),
        ({"delay": Delay(mean=3.0)}, {"delay": Delay(mean=3.0, shape="fixed")}),
        ({"estimator": "pooled"}, {"estimator": "leave-one-out"}),
    ]:
        assert outline(SCENARIO.replace(**one).to_dict()) != outline(SCENARIO.replace(**other).to_dict())


def test_sizes_do_not():
    larger = eq.GaussianScenario(noise=(0.5, 2.0, 3.0), dim=5, budget=600, estimator="ridge")
    assert outline(larger.to_dict()) == outline(SCENARIO.to_dict())


def test_a_new_kind_of_trial_is_warmed_up(warmed):
    sparse = SCENARIO.replace(truth=SparseTruth(features=2))
    ran = []
    for scenario, policy in [
        (SCENARIO, "uniform"),
        (SCENARIO, "uniform"),
        (SCENARIO.replace(budget=80), "uniform"),
        (sparse, "uniform"),
        (sparse, "trace-ucb"),
        (sparse, "sparse-trace-ucb:support=0,1"),
        (sparse, "sparse-trace-ucb:support=0,1:look=true"),
        (sparse, "sparse-trace-ucb:support=0,2:look=true"),
    ]:
        before = len(warmed)
        eq.simulate(scenario, [policy], trials=1, workers=1)
        ran.append(len(warmed) - before)
    assert ran == [1, 0, 0, 1, 1, 1, 1, 0]


def test_compilation_is_not_timed(warmed):
    """A bench that takes long the first time only, as compilation does."""

    class Slow(type(SCENARIO)):
        def open(self, policies, seed):
            bench = super().open(policies, seed)

            def first_time_slow(first, ledgers):
                if done:
                    return bench(first, ledgers)
                done.append(first)
                return bench(first, ledgers) + 0.5

            return first_time_slow

    done: list[int] = []
    scenario = Slow(noise=(0.5, 2.0), dim=4, budget=60, truth=SparseTruth(features=2))
    eq.simulate(scenario.replace(truth=None), ["uniform"], trials=1)  # another kind is known already
    done.clear()
    result = eq.simulate(scenario, ["uniform"], trials=1, workers=1)
    assert done == [0]
    assert result["uniform"].seconds < 0.4
