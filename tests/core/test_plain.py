"""Problems, policies and scenarios become plain data and come back equal, through JSON and TOML."""

from __future__ import annotations

import dataclasses
import json
import math
import pickle
import tomllib

import numpy as np
import pytest
import tomli_w
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import equipoise as eq
from equipoise.core.plain import NotPlain, from_plain, to_plain
from equipoise.errors import EquipoiseError, InvalidPolicy, UnknownPolicy

EXTREMES = [5e-324, 2.2250738585072014e-308, 1e-300, 0.1, 1 / 3, 1.0, 1e16, 1.7976931348623157e308]


def travelled(values):
    """The same values after every journey that plain data can make."""
    return [
        json.loads(json.dumps(values, allow_nan=False)),
        json.loads(json.dumps(values, allow_nan=False, ensure_ascii=False).encode()),
        tomllib.loads(tomli_w.dumps(values)),
    ]


# Values

anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from([value * sign for value in EXTREMES for sign in (1, -1)])
    | st.text()
    | st.sampled_from(
        ["none", "'none'", "'", "''", "inf", "nan", "-inf", "%", "'%'", "\ud800", "\ud83d\ude00"]
    ),
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=8,
)


@given(anything)
def test_values_come_back_with_their_types_and_signs(value):
    for values in travelled({"value": to_plain(value)}):
        assert repr(from_plain(values["value"])) == repr(value)


@given(st.floats(allow_nan=False) | st.sampled_from(EXTREMES))
def test_floats_come_back_to_the_last_bit(number):
    for values in travelled({"numbers": to_plain(np.array([number, -number]))}):
        assert [x.hex() for x in from_plain(values["numbers"])] == [number.hex(), (-number).hex()]


@pytest.mark.parametrize(
    "value", [{}, object(), b"x", 1j, {1}, 10**5000], ids=lambda value: type(value).__name__
)
def test_other_values_are_refused(value):
    with pytest.raises(NotPlain):
        to_plain((1.0, value))


# Problems

names = st.text(min_size=1, max_size=4).filter(
    lambda name: not any("\ud800" <= sign <= "\udfff" for sign in name)
)
positive = st.floats(1e-3, 1e3)


@st.composite
def problems(draw):
    arms = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    dim = draw(st.integers(1, 3))
    some = st.sets(st.sampled_from(arms)).map(sorted)
    terms = {"weights": {arm: draw(st.floats(5e-324, 1e308)) for arm in draw(some)}}
    least = len(arms) * (dim + 1)
    budget = draw(st.integers(least, least + 50))
    if draw(st.booleans()):
        terms["costs"] = {arm: draw(positive) for arm in draw(some)}
        budget = budget * 1000.0 + draw(st.floats(0.0, 1.0))
    else:
        terms["caps"] = {arm: budget + draw(st.integers(70, 79)) for arm in draw(some)}
        terms["floors"] = {arm: draw(st.integers(0, dim + 1)) for arm in draw(some)}
    if draw(st.booleans()) and "costs" not in terms:
        budget = draw(st.integers(least, least + 9)) if terms["floors"] else draw(st.integers(1, least))
        terms["allow_small_budget"] = True
    moment = None
    if draw(st.booleans()):
        scale = st.sampled_from([*EXTREMES[:3], 1.0, 7.3e200])
        moment = np.diag([draw(scale) for _ in range(dim)]) * draw(st.sampled_from([1.0, 3.0]))
        if dim == 2 and moment[0, 0] == moment[1, 1] == 1.0:
            moment[0, 1] = moment[1, 0] = draw(st.floats(-0.9, 0.9))
    objective = draw(st.sampled_from(["max", "mean", math.inf, 2]) | st.floats(1.0, 1e300))
    return eq.Problem(arms, dim, budget=budget, moment=moment, objective=objective, **terms)


@settings(max_examples=200)
@given(problems())
def test_problems_come_back_equal(problem):
    for values in travelled(problem.to_dict()):
        again = eq.Problem.from_dict(values)
        assert again == problem
        assert hash(again) == hash(problem)
        assert repr(again) == repr(problem)
        assert again.units == problem.units
        assert again.allow_small_budget == problem.allow_small_budget
        assert again.to_dict() == problem.to_dict()


@given(problems())
def test_problems_can_be_replaced(problem):
    assert dataclasses.replace(problem) == problem
    assert repr(dataclasses.replace(problem)) == repr(problem)
    richer = dataclasses.replace(problem, budget=problem.budget + 10)
    assert richer.budget == problem.budget + 10
    assert dataclasses.replace(richer, budget=problem.budget) == problem


def test_what_replace_checks():
    problem = eq.Problem(["a", "b"], 2, budget=20, weights={"b": 2.0}, caps={"a": 12})
    assert dataclasses.replace(problem, weights={"a": 3.0}).weights.tolist() == [3.0, 1.0]
    assert dataclasses.replace(problem, dim=3).to_dict() == {**problem.to_dict(), "dim": 3}
    assert dataclasses.replace(eq.Problem(2, 2, budget=20), arms=["x", "y", "z"]).arms == ("x", "y", "z")
    with pytest.raises(eq.errors.BudgetTooSmall):
        dataclasses.replace(problem, budget=5)
    with pytest.raises(EquipoiseError, match=r"2 caps for 3 arms.*name them"):
        dataclasses.replace(problem, arms=["a", "b", "c"])
    with pytest.raises(ValueError, match="units"):
        dataclasses.replace(problem, units=3)


def test_keywords_follow_the_dimension():
    with pytest.raises(TypeError, match="positional"):
        eq.Problem(["a", "b"], 2, 20)


def test_small_budgets_stay_allowed():
    small = eq.Problem(3, 500, budget=300, allow_small_budget=True)
    assert eq.Problem.from_dict(small.to_dict()).allow_small_budget
    assert dataclasses.replace(small, budget=200).budget == 200
    assert "allow_small_budget=True" in repr(small)
    values = small.to_dict()
    del values["allow_small_budget"]
    with pytest.raises(eq.errors.BudgetTooSmall):
        eq.Problem.from_dict(values)


def test_a_problem_that_an_arm_has_joined_comes_back():
    experiment = eq.Experiment(eq.Problem(["a", "b", "c"], 2, budget=9), "uniform")
    experiment.close_arm("a")
    experiment.add_arm("d")
    assert eq.Problem.from_dict(experiment.problem.to_dict()) == experiment.problem


def test_zeros_of_a_moment_have_one_sign():
    one, other = ([[1.0, zero], [zero, 1.0]] for zero in (0.0, -0.0))
    assert eq.Problem(2, 2, budget=9, moment=one) == eq.Problem(2, 2, budget=9, moment=other)


GOOD = {"arms": ["a", "b"], "dim": 2, "budget": 10}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {**GOOD, "budgets": 3},
            r"a problem has no 'budgets' \(did you mean 'budget'\? it takes arms, dim, features, outcome",
        ),
        ({**GOOD, "units": 3}, "a problem has no 'units'"),
        ({**GOOD, 3: 3}, "a problem has no 3"),
        ({"arms": ["a"]}, "does not say budget"),
        ([1, 2], r"a table of values by name, not \[1, 2\]"),
        (None, "arms, dim, features, outcome, budget"),
        ({**GOOD, "dim": "two"}, "dim='two'"),
        ({**GOOD, "budget": 2.5}, "budget=2.5"),
        ({**GOOD, "moment": "learned"}, "moment"),
        ({**GOOD, "weights": [1, 2]}, "weights="),
        ({**GOOD, "weights": {"a": "heavy"}}, "weight 'heavy' of arm 'a'"),
        ({**GOOD, "objective": "least"}, "objective 'least'"),
        ({**GOOD, "allow_small_budget": "yes"}, "allow_small_budget='yes'"),
    ],
)
def test_wrong_values_of_a_problem_are_named(values, message):
    with pytest.raises(EquipoiseError, match=message):
        eq.Problem.from_dict(values)


# Policies; test_arguments.py has those of every policy


DEEP = [1.0]
for _ in range(2_000):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"name": "trace-usb"}, r"no policy 'trace-usb' \(did you mean 'trace-ucb'\? One of your own"),
        (
            {"name": "trace-ucb", "widht": 1},
            r"has no 'widht' \(did you mean 'width'\? it takes name, width, bound, delta, spread\)",
        ),
        ({"name": "uniform", "width": 1}, "policy 'uniform' has no 'width'"),
        ({"width": 1}, "a table with a name"),
        ({"name": 5}, "a table with a name"),
        ("uniform", "a table with a name"),
        ({"name": "trace-ucb", "width": [1, 2]}, "width"),
        ({"name": "oracle", "noise": "loud"}, "loud"),
        ({"name": "oracle", "noise": DEEP}, "more than 20 lists within each other"),
    ],
)
def test_wrong_values_of_a_policy_are_named(values, message):
    with pytest.raises(InvalidPolicy, match=message):
        eq.Policy.from_dict(values)


def test_a_class_builds_its_own_policies_only():
    assert eq.TraceUCB.from_dict({"name": "trace-ucb"}) == eq.TraceUCB()
    with pytest.raises(InvalidPolicy, match="'uniform' is a Uniform, not a TraceUCB"):
        eq.TraceUCB.from_dict({"name": "uniform"})
    with pytest.raises(UnknownPolicy):
        eq.TraceUCB.from_dict({"name": "nobody"})


def test_own_policies_with_arguments_that_must_be_given():
    @eq.register("test-plain-needs")
    class Needs(eq.Policy):
        share: float
        names: tuple[str, ...] = ()

        @staticmethod
        def score(arm, trial, settings):
            return -float(arm.count)

    policy = Needs(share=0.5, names=("none", "b"))
    assert policy.to_dict() == {"name": "test-plain-needs", "share": 0.5, "names": ["'none'", "b"]}
    assert eq.Policy.from_dict(policy.to_dict()) == policy
    for build in (
        lambda: eq.Policy.from_dict({"name": "test-plain-needs"}),
        lambda: eq.parse_policy("test-plain-needs"),
    ):
        with pytest.raises(InvalidPolicy, match="needs share"):
            build()
    with pytest.raises(InvalidPolicy, match=r"share of .* cannot be written"):
        Needs(share={}).to_dict()
    with pytest.raises(InvalidPolicy, match="is called 'name'"):
        eq.register(
            "test-plain-name", dataclasses.make_dataclass("Named", [("name", str, "x")], bases=(eq.Policy,))
        )


# Scenarios; tests/lab/test_scenario.py has those of every kind

PAPER = eq.GaussianScenario(noise=[0.5, 2.0], dim=2, budget=60)


def test_a_gaussian_scenario_is_a_class():
    assert isinstance(PAPER, eq.GaussianScenario)
    assert isinstance(PAPER, eq.Scenario)
    plain = eq.Scenario(noise=(0.5, 2.0), dim=2, budget=60)
    assert not isinstance(plain, eq.GaussianScenario)
    assert plain == PAPER
    assert PAPER == plain
    assert hash(plain) == hash(PAPER)
    assert len({plain, PAPER}) == 1
    assert plain != "scenario"


@pytest.mark.parametrize(
    "again",
    [
        lambda: PAPER.replace(),
        lambda: dataclasses.replace(PAPER),
        lambda: pickle.loads(pickle.dumps(PAPER)),
        lambda: eq.GaussianScenario.from_dict(PAPER.to_dict()),
        lambda: eq.GaussianScenario.from_toml(PAPER.to_toml()),
        lambda: eval(repr(PAPER), vars(eq.lab)),
        lambda: eq.simulate(PAPER, ["uniform"], trials=1).scenario,
    ],
    ids=["replace", "dataclasses", "pickle", "dict", "toml", "repr", "result"],
)
def test_copies_stay_gaussian_scenarios(again):
    assert type(again()) is eq.GaussianScenario
    assert again() == PAPER


def test_the_covariance_is_replaced_like_any_field():
    ar1 = eq.GaussianScenario([0.5, 2.0], 2, 60, covariance="ar1:0.5")
    assert PAPER.replace(covariance="ar1:0.5") == ar1
    assert dataclasses.replace(ar1, budget=61).contexts == ar1.contexts
    student = PAPER.replace(contexts=eq.StudentContexts(dof=7))
    assert student.replace(covariance="ar1:0.5").contexts == eq.StudentContexts(dof=7, covariance="ar1:0.5")
    with pytest.raises(eq.errors.InvalidScenario, match="no covariance"):
        PAPER.replace(contexts=eq.OneHotContexts(), covariance="ar1:0.5")


def test_pieces_that_would_be_read_as_others_are_not_written():
    class Mine(eq.GaussianContexts):
        pass

    with pytest.raises(eq.errors.InvalidScenario, match="no Mine would be read"):
        PAPER.replace(contexts=Mine()).to_dict()


tiny = st.sampled_from(EXTREMES[:5])
fields = {
    "noise": st.lists(st.sampled_from([0.0, -0.0, *EXTREMES[:6]]), min_size=2, max_size=2),
    "budget": st.integers(1, 5) | st.integers(6, 10**9),
    "coef": st.lists(st.lists(st.floats(-1e300, 1e300), min_size=2, max_size=2), min_size=2, max_size=2),
    "curvature": st.floats(-1e300, 1e300) | tiny,
    "curved": st.sampled_from(["first", "all"]),
    "heteroscedasticity": tiny,
    "lost": tiny | st.just(math.nextafter(1.0, 0.0)),
    "estimator": st.sampled_from(["pooled", "leave-one-out"]),
    "objective": st.sampled_from([math.inf, 1.0, 1e300, "max", "mean"]),
    "weights": st.lists(st.sampled_from(EXTREMES), min_size=2, max_size=2),
    "caps": st.lists(st.none() | st.integers(10**9, 2**53), min_size=2, max_size=2),
    "floors": st.just([0, 1]),
    "moment": st.sampled_from(["true", "learned", [[1.0, -0.0], [0.0, 2.0]], [[1e-300, 0], [0, 1e300]]]),
    "delay": st.none() | st.builds(eq.Delay, mean=st.floats(1e-300, 1e8)),
    "accrual": st.none()
    | st.builds(eq.Accrual, rate=st.floats(1e-300, 1e300), time=st.sampled_from(["'", "inf"])),
    "closures": st.just([eq.Closure("arm-1", after=5, until=2**60)]),
    "stop": st.just(eq.StopRule(target=5e-324, by="bound")),
    "contexts": st.sampled_from(
        [
            eq.StudentContexts(dof=math.nextafter(2.0, 3.0), covariance="ar1:-0.1"),
            eq.GaussianContexts(covariance=[[1e300, 0.0], [-0.0, 1e-300]]),
            eq.DiscreteContexts(levels=2**40),
        ]
    ),
    "truth": st.just(eq.SparseTruth(features=0, overlap=5e-324, values="normal", scale=5e-324)),
    "noise_shape": st.sampled_from([eq.SkewedNoise(shape=5e-324), eq.StudentNoise(dof=1e300)]),
}


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(st.fixed_dictionaries({}, optional=fields))
def test_unusual_scenarios_come_back_equal(changes):
    try:
        scenario = PAPER.replace(**changes)
    except eq.errors.InvalidScenario:
        assume(False)
    for values in travelled(scenario.to_dict()):
        again = eq.Scenario.from_dict(values)
        assert again == scenario
        assert again.to_dict() == scenario.to_dict()
        assert eq.Problem.from_dict(scenario.problem().to_dict()) == scenario.problem()
    assert repr(eval(repr(scenario), vars(eq.lab) | {"inf": math.inf})) == repr(scenario)


@pytest.mark.parametrize("name", sorted(eq.Scenario.__dataclass_fields__))
@pytest.mark.parametrize("junk", ["word", {"a": 1}, [[["x"]]], [{"a": 1}], True, -1e308, b"x"], ids=repr)
def test_wrong_values_of_a_scenario_are_named(name, junk):
    values = {**PAPER.to_dict(), name: junk}
    try:
        eq.Scenario.from_dict(values)
    except eq.errors.InvalidScenario as error:
        assert name.rstrip("s") in error.message or "covariance" in error.message, error
    else:
        assert (name, repr(junk)) in {
            ("intercept", "True"),
            ("curvature", "-1e+308"),
            ("noise_drift", "-1e+308"),
        }
