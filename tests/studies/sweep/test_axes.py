"""Names of axes, and where their values go."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import equipoise as eq
from equipoise.errors import BudgetTooSmall, InvalidArgument, InvalidPolicy, InvalidScenario
from equipoise.lab.running.simulate import named_policies
from equipoise.studies.sweep.axes import known_names
from equipoise.studies.sweep.points import new_axes, sweep_points, swept_scenarios

SCENARIO = eq.GaussianScenario(noise=[0.5, 1.0, 2.0], dim=3, budget=60)
POLICIES = ["uniform", "trace-ucb", "var-ucb", "trace-gain"]


def points(scenario=SCENARIO, policies=POLICIES, joined=False, **axes):
    named = named_policies(policies)
    return sweep_points(scenario, named, new_axes(axes, scenario, named, joined=joined), joined=joined)


CHANGES = [
    ("dim", [2, 5], [SCENARIO.replace(dim=2), SCENARIO.replace(dim=5)]),
    ("dim", np.arange(2, 4), [SCENARIO.replace(dim=2), SCENARIO.replace(dim=3)]),
    ("noise[2]", [0.0, 9.0], [SCENARIO.replace(noise=(0.5, 1, value)) for value in (0.0, 9.0)]),
    ("noise[arm-2]", [5.0], [SCENARIO.replace(noise=(0.5, 5, 2))]),
    ("lost[1]", [0.5], [SCENARIO.replace(lost=(0, 0.5, 0))]),
    ("weights[0]", [2.0], [SCENARIO.replace(weights=(2, 1, 1))]),
    ("caps[1]", [20], [SCENARIO.replace(caps=(None, 20, None))]),
    ("noise", [[1, 1], [1, 2, 3]], [SCENARIO.replace(noise=noise) for noise in ((1, 1), (1, 2, 3))]),
    ("covariance", ["ar1:0.5"], [eq.GaussianScenario([0.5, 1, 2], 3, 60, covariance="ar1:0.5")]),
    ("contexts.dof", [5, 9], [SCENARIO.replace(contexts=eq.StudentContexts(dof=dof)) for dof in (5, 9)]),
    ("noise_shape.dof", [4], [SCENARIO.replace(noise_shape=eq.StudentNoise(dof=4))]),
    ("delay.mean", [0, 5], [SCENARIO, SCENARIO.replace(delay=eq.Delay(mean=5))]),
    ("truth.features", [1], [SCENARIO.replace(truth=eq.SparseTruth(features=1))]),
    ("contexts", [eq.SkewedContexts()], [SCENARIO.replace(contexts=eq.SkewedContexts())]),
    ("objective", ["max", 2], [SCENARIO, SCENARIO.replace(objective=2)]),
]


@pytest.mark.parametrize(("name", "values", "expected"), CHANGES, ids=lambda value: str(value)[:20])
def test_values_go_where_the_name_says(name, values, expected):
    found = points(**{name: values})
    assert [point.scenario for point in found] == expected
    assert all(list(point.at) == [name] for point in found)


def test_a_piece_keeps_its_other_fields():
    base = SCENARIO.replace(delay=eq.Delay(mean=10, shape="fixed"))
    (point,) = points(base, **{"delay.mean": [3]})
    assert point.scenario.delay == eq.Delay(mean=3, shape="fixed")


def test_a_field_of_policies_is_that_of_all_that_have_it():
    half, double = points(width=[0.5, 2])
    assert half.policies["trace-ucb"] == eq.TraceUCB(width=0.5)
    assert half.policies["var-ucb"] == eq.VarUCB(width=0.5)
    assert half.policies["trace-gain"] == eq.TraceGain()
    assert double.policies["uniform"] == eq.Uniform()
    assert half.scenario == double.scenario == SCENARIO


def test_a_field_of_one_policy_leaves_the_others():
    (point,) = points(**{"trace-ucb.width": [0.5]})
    assert point.policies["trace-ucb"] == eq.TraceUCB(width=0.5)
    assert point.policies["var-ucb"] == eq.VarUCB()
    named = ["trace-ucb", "trace-ucb:width=2"]
    (point,) = points(policies=named, **{"trace-ucb:width=2.spread": ["unequal"]})
    assert list(point.policies.values()) == [eq.TraceUCB(), eq.TraceUCB(width=2, spread="unequal")]


def test_scenario_and_policy_against_each_other():
    found = points(dim=[2, 4], width=[1, 2])
    assert [tuple(point.at.values()) for point in found] == [(2, 1), (2, 2), (4, 1), (4, 2)]
    assert [point.title for point in found][1] == "dim = 2, width = 2"


def test_joined_axes_go_together():
    found = points(dim=[2, 4, 6], budget=[30, 60, 90], lost=[0.0, 0.1, 0.2], joined=True)
    assert [(p.scenario.dim, p.scenario.budget, p.scenario.lost) for p in found] == [
        (2, 30, 0.0),
        (4, 60, 0.1),
        (6, 90, 0.2),
    ]


def test_whole_fields_come_before_their_parts():
    (point,) = points(**{"noise[0]": [7.0], "noise": [(1.0, 2.0)]})
    assert point.scenario.noise == (7.0, 2.0)


def test_scenarios_of_a_grid():
    grid = swept_scenarios(SCENARIO, {"budget": (40, 60), "dim": (2, 3)})
    assert [(one.budget, one.dim) for one in grid] == [(40, 2), (40, 3), (60, 2), (60, 3)]


def test_every_field_has_a_name():
    known = known_names(SCENARIO, named_policies(POLICIES))
    assert {field.name for field in dataclasses.fields(eq.Scenario)} <= set(known)
    assert {"contexts.covariance", "covariance", "width", "chance"} <= set(known)


@pytest.mark.parametrize(
    ("axes", "message", "hint"),
    [
        ({"dmi": [2]}, "a field 'dmi'", "did you mean 'dim'? fields: noise, dim, budget"),
        ({"wdith": [2]}, "a field 'wdith'", "did you mean 'width'?"),
        ({"contexts.dofs": [2]}, "a field 'contexts.dofs'", "fields: "),
        ({"uniform.width": [2]}, "a field 'uniform.width'", "fields: "),
        ({"dim[0]": [2]}, r"a field 'dim\[0\]'", "fields: "),
        ({"dim": 5}, "dim=5 is not a list", "dim=["),
        ({"estimator": "ridge"}, "is not a list", "estimator=["),
        ({"dim": []}, "dim has no values", ""),
        ({"dim": [5, 5]}, "dim has the value 5 twice", "leave one out"),
        ({}, "nothing is swept", "dim=["),
        ({"dim": [2], "budget": [50], "lost": [0]}, "at most 2 axes, not 3", "joined=True"),
    ],
)
def test_wrong_axes_are_refused(axes, message, hint):
    with pytest.raises(InvalidArgument, match=message) as caught:
        points(**axes)
    assert hint in caught.value.hint


def test_joined_axes_of_other_lengths_are_refused():
    with pytest.raises(InvalidArgument, match="not 2 of dim, 3 of budget"):
        points(dim=[2, 3], budget=[40, 50, 60], joined=True)


def test_a_field_that_a_policy_was_given_is_not_swept():
    with pytest.raises(InvalidArgument, match="trace-ucb:width=2 says width=2 itself") as caught:
        points(policies=["trace-ucb:width=2"], width=[1, 3])
    assert "trace-ucb.width" in caught.value.hint


@pytest.mark.parametrize(
    ("axes", "error", "message"),
    [
        (
            {"dim": [3, 20]},
            BudgetTooSmall,
            r"^at dim = 20: trace-ucb needs a budget of at least m\(d\+1\) = 63",
        ),
        ({"dim": [3, 20, 21], "lost": [0]}, BudgetTooSmall, "^2 of 3 points .* Nor can dim = 21, lost = 0"),
        ({"dim": [3, 2.5]}, InvalidScenario, "^at dim = 2.5: dim=2.5 is not a whole number"),
        ({"noise[3]": [1]}, InvalidArgument, r"^at noise\[3\] = 1: .* is not one of 3 arms"),
        ({"noise[high]": [1]}, InvalidArgument, r"noise\[high\] is not one of 3 arms"),
        ({"noise": [[1, -1]]}, InvalidScenario, "^at noise = 1,-1: "),
        ({"width": [1, "wide"]}, InvalidPolicy, "^at width = wide: unknown width"),
        ({"delay.mean": ["late"]}, eq.EquipoiseError, "^at delay.mean = late: "),
        ({"contexts": [5]}, InvalidScenario, "^at contexts = 5: "),
    ],
)
def test_a_point_that_cannot_be_run_is_named(axes, error, message):
    with pytest.raises(error, match=message):
        points(**axes)
