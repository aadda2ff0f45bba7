"""Scenarios are plain data: they equal themselves and travel as TOML."""

from __future__ import annotations

import copy
import json
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import equipoise as eq
from equipoise.lab.pieces import (
    Accrual,
    BinaryContexts,
    Closure,
    CountOutcomes,
    Delay,
    DiscreteContexts,
    DriftingContexts,
    DropOut,
    GaussianContexts,
    GaussianNoise,
    OneHotContexts,
    SiteContexts,
    SkewedContexts,
    SkewedNoise,
    SparseTruth,
    StopRule,
    StudentContexts,
    StudentNoise,
)
from equipoise.lab.pieces.piece import KINDS

# Strategies


def numbers(low, high, **settings):
    return st.floats(low, high, allow_nan=False, **settings)


@st.composite
def matrices(draw, rows, columns):
    row = st.lists(numbers(-3, 3), min_size=columns, max_size=columns)
    return draw(st.lists(row, min_size=rows, max_size=rows))


@st.composite
def definite_matrices(draw, dim):
    root = np.array(draw(matrices(dim, dim)))
    return (root @ root.T + np.eye(dim)).tolist()


@st.composite
def shares(draw, dim):
    parts = np.array(draw(st.lists(numbers(0.1, 1.0), min_size=dim, max_size=dim)))
    return tuple((parts / parts.sum()).tolist())


def covariances(dim):
    named = st.just("identity") | st.builds("ar1:{}".format, numbers(-0.9, 0.9))
    return named | definite_matrices(dim)


@st.composite
def contexts(draw, dim):
    covariance = covariances(dim)
    return draw(
        st.one_of(
            st.builds(GaussianContexts, covariance=covariance),
            st.builds(StudentContexts, covariance=covariance, dof=numbers(2, 50, exclude_min=True)),
            st.builds(DiscreteContexts, covariance=covariance, levels=st.integers(2, 20)),
            st.builds(OneHotContexts, probabilities=st.none() | shares(dim)),
            st.builds(SkewedContexts, covariance=covariance, shape=numbers(0.01, 50)),
            st.builds(
                BinaryContexts, covariance=covariance, share=numbers(0, 1, exclude_min=True, exclude_max=True)
            ),
            st.builds(
                SiteContexts,
                covariance=covariance,
                sites=st.integers(1, 50),
                between=numbers(0, 1, exclude_max=True),
            ),
            st.builds(DriftingContexts, covariance=covariance, shift=numbers(0, 3.4)),
        )
    )


SHAPES = st.one_of(
    st.builds(GaussianNoise),
    st.builds(StudentNoise, dof=numbers(2, 50, exclude_min=True)),
    st.builds(SkewedNoise, shape=numbers(0.01, 50)),
)
DELAYS = st.one_of(
    st.builds(Delay, mean=numbers(0.01, 1e6), shape=st.just("geometric")),
    st.builds(Delay, mean=st.integers(1, 100), shape=st.just("fixed")),
    st.builds(Delay, mean=st.integers(1, 100).map(lambda k: k / 2), shape=st.just("uniform")),
)

ACCRUALS = st.builds(
    Accrual,
    rate=numbers(0.1, 50),
    pattern=st.sampled_from(["poisson", "steady"]),
    batch=st.integers(1, 9),
    ramp=numbers(0, 9),
    time=st.sampled_from(["weeks", "none", "days"]),
)
NAMES = st.text(st.characters(codec="utf-8"), min_size=1).filter(str.strip) | st.sampled_from(["none", "inf"])


@st.composite
def scenarios(draw):
    arms, varying = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    drawn = draw(contexts(varying))
    one_hot = isinstance(drawn, OneHotContexts)
    intercept = False if one_hot else draw(st.booleans())
    dim = varying + intercept
    per_arm = {"min_size": arms, "max_size": arms}
    optional = {
        "noise_shape": SHAPES,
        "coef": matrices(arms, dim),
        "heteroscedasticity": numbers(0, 5),
        "curvature": st.just(0.0) if one_hot else numbers(-2, 2),
        "curved": st.sampled_from(["first", "all"]),
        "coef_drift": numbers(0, 5),
        "noise_drift": numbers(-3, 3),
        "moment": st.sampled_from(["true", "learned"]) | definite_matrices(dim),
        "delay": DELAYS,
        "lost": numbers(0, 1, exclude_max=True) | st.lists(numbers(0, 1, exclude_max=True), **per_arm),
        "arms": st.lists(NAMES, unique=True, **per_arm),
        "features": st.lists(NAMES, unique=True, min_size=dim, max_size=dim),
        "accrual": ACCRUALS,
        "stop": st.builds(StopRule, target=numbers(0.01, 5), every=st.integers(1, 99)),
        "estimator": st.sampled_from(["leave-one-out", "empirical-bayes", "pooled", "ridge"]),
        "intervals": st.sampled_from(["classical", "robust"]),
        "objective": st.sampled_from(["max", "mean"]) | numbers(1, 20) | st.just(math.inf),
        "weights": st.lists(numbers(0.1, 10), **per_arm),
        "costs": st.lists(numbers(0.1, 10), **per_arm),
        "floors": st.just([0] * arms),
        "caps": st.lists(st.none() | st.integers(10**8, 10**9), **per_arm),
    }
    chosen = draw(st.sets(st.sampled_from(sorted(optional))))
    if chosen & {"coef_drift", "noise_drift"} or not drawn.steady:
        optional["costs"] = numbers(0.1, 10).map(lambda cost: [cost] * arms)
    return eq.Scenario(
        noise=draw(st.lists(numbers(0, 100), **per_arm)),
        dim=dim,
        budget=draw(st.integers(1, 10**6)),
        contexts=drawn,
        intercept=intercept,
        **{name: draw(optional[name]) for name in sorted(chosen)},
    )


# Round trips


@given(scenarios())
@settings(max_examples=100, deadline=None)
def test_plain_data_and_back(scenario):
    values = scenario.to_dict()
    for other in (
        eq.Scenario.from_dict(values),
        eq.Scenario.from_dict(json.loads(json.dumps(values))),
        eq.Scenario.from_toml(scenario.to_toml()),
        pickle.loads(pickle.dumps(scenario)),
        copy.deepcopy(scenario),
        scenario.replace(),
    ):
        assert other == scenario
        assert hash(other) == hash(scenario)
        assert repr(other) == repr(scenario)
        assert other.to_dict() == values
    problem = scenario.problem()
    assert (problem.dim, problem.budget, len(problem.arms)) == (
        scenario.dim,
        scenario.budget,
        len(scenario.noise),
    )


CHANGES = {
    "noise": (0.5, 2.5),
    "dim": 3,
    "budget": 61,
    "contexts": StudentContexts(),
    "intercept": True,
    "truth": SparseTruth(features=1),
    "noise_shape": SkewedNoise(),
    "coef": ((1.0, 0.0), (0.0, 1.0)),
    "heteroscedasticity": 0.1,
    "curvature": 0.1,
    "curved": "all",
    "outcomes": CountOutcomes(),
    "coef_drift": 0.1,
    "noise_drift": 0.1,
    "moment": "learned",
    "delay": Delay(),
    "lost": 0.1,
    "arms": ("low", "high"),
    "features": ("1", "age"),
    "accrual": Accrual(rate=3.0, pattern="steady", batch=2, ramp=5.0, time="days"),
    "drop_out": DropOut(rate=(0.1, 0.2)),
    "closures": (Closure("arm-1", after=30, until=40), Closure("arm-2", after=50)),
    "stop": StopRule(target=0.5, every=5, by="bound"),
    "estimator": "leave-one-out",
    "ridge": 0.1,
    "intervals": "robust",
    "objective": "mean",
    "weights": (1.0, 2.0),
    "costs": (1.0, 2.5),
    "floors": (0, 5),
    "caps": (30, None),
}
PLAIN = eq.GaussianScenario(noise=[0.5, 2.0], dim=2, budget=60, estimator="ridge")
NEEDS = {"outcomes": {"intercept": True}, "drop_out": {"delay": Delay()}}


def test_every_field_is_in_the_list_above():
    assert set(CHANGES) == set(eq.Scenario.__dataclass_fields__)


@pytest.mark.parametrize("field", CHANGES)
def test_every_field_counts(field):
    needed = PLAIN.replace(**NEEDS.get(field, {}))
    changed = needed.replace(**{field: CHANGES[field]})
    assert changed != needed
    assert eq.Scenario.from_toml(changed.to_toml()) == changed
    assert field in changed.to_dict()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (StudentContexts(dof=5), StudentContexts(dof=6)),
        (StudentContexts(), GaussianContexts()),
        (StudentContexts(covariance="ar1:0.5"), StudentContexts()),
        (DiscreteContexts(levels=3), DiscreteContexts(levels=4)),
        (DiscreteContexts(), StudentContexts()),
        (OneHotContexts(), OneHotContexts(probabilities=(0.4, 0.6))),
        (SkewedContexts(), SkewedContexts(shape=2)),
        (BinaryContexts(share=0.1), BinaryContexts(share=0.9)),
        (SiteContexts(sites=3), SiteContexts(sites=4)),
        (SiteContexts(), SiteContexts(between=0.1)),
        (DriftingContexts(), DriftingContexts(shift=2)),
    ],
    ids=repr,
)
def test_contexts_that_differ(one, other):
    scenarios = [PLAIN.replace(contexts=piece) for piece in (one, other)]
    assert scenarios[0] != scenarios[1]
    assert [eq.Scenario.from_toml(scenario.to_toml()) for scenario in scenarios] == scenarios


def test_every_kind_of_piece_has_a_name():
    kinds = [kind for table in KINDS.values() for kind in table.values()]
    assert {kind.__name__ for kind in kinds} == {
        name
        for name in eq.lab.__all__
        if name.endswith(("Contexts", "Noise", "Delay", "Truth", "Outcomes", "Accrual", "DropOut", "Rule"))
    }


def test_defaults_are_left_out():
    assert PLAIN.to_dict() == {"noise": [0.5, 2.0], "dim": 2, "budget": 60, "estimator": "ridge"}
    assert "estimator" not in PLAIN.replace(estimator="pooled").to_dict()
    assert PLAIN.replace(contexts=StudentContexts()).to_dict()["contexts"] == {"kind": "student"}


def test_arrays_and_lists_are_the_same():
    matrix = np.array([[2.0, 0.5], [0.5, 1.0]])
    given_arrays = eq.GaussianScenario(
        noise=np.array([1, 2]), dim=np.int64(2), budget=np.int32(50), covariance=matrix, coef=np.eye(2)
    )
    given_lists = eq.GaussianScenario(
        noise=[1.0, 2.0], dim=2, budget=50, covariance=matrix.tolist(), coef=[[1, 0], [0, 1]]
    )
    assert given_arrays == given_lists
    assert hash(given_arrays) == hash(given_lists)
    assert given_arrays.to_toml() == given_lists.to_toml()


def test_numpy_numbers_become_plain():
    scenario = PLAIN.replace(
        noise_shape=StudentNoise(dof=np.int64(5)),
        contexts=DiscreteContexts(levels=np.int64(3)),
        delay=Delay(mean=np.float32(2.0)),
        lost=np.float32(0.5),
        intercept=np.bool_(True),
        objective=np.int64(2),
        ridge=np.int64(1),
    )
    assert eq.Scenario.from_toml(scenario.to_toml()) == scenario
    json.dumps(scenario.to_dict())


def test_a_document_written_by_hand():
    scenario = eq.Scenario.from_toml(
        """
        noise = [0.5, 2]
        dim = 3
        budget = 60
        intercept = true
        lost = 0.05

        [contexts]
        kind = "discrete"
        levels = 3
        covariance = "ar1:0.5"

        [delay]
        mean = 12
        """
    )
    assert scenario == eq.Scenario(
        noise=(0.5, 2.0),
        dim=3,
        budget=60,
        intercept=True,
        lost=0.05,
        contexts=DiscreteContexts(levels=3, covariance="ar1:0.5"),
        delay=Delay(mean=12.0),
    )


# Moments


def test_powers_of_a_correlation_are_products():
    moment = PLAIN.replace(contexts=GaussianContexts(covariance="ar1:-0.7"), dim=5).true_moment()
    assert moment[0].tolist() == [1.0, -0.7, -0.7 * -0.7, -0.7 * -0.7 * -0.7, -0.7 * -0.7 * -0.7 * -0.7]
    assert np.array_equal(moment, moment.T)
    assert np.array_equal(moment[1:, 1:], moment[:-1, :-1])


def test_true_moments():
    np.testing.assert_array_equal(PLAIN.true_moment(), np.eye(2))
    ar1 = PLAIN.replace(contexts=GaussianContexts(covariance="ar1:0.5"), dim=3)
    np.testing.assert_allclose(ar1.true_moment(), [[1, 0.5, 0.25], [0.5, 1, 0.5], [0.25, 0.5, 1]])
    with_intercept = ar1.replace(intercept=True)
    np.testing.assert_allclose(with_intercept.true_moment(), [[1, 0, 0], [0, 1, 0.5], [0, 0.5, 1]])
    one_hot = PLAIN.replace(contexts=OneHotContexts(probabilities=(0.3, 0.7)))
    np.testing.assert_allclose(one_hot.true_moment(), [[0.3, 0], [0, 0.7]])


def test_what_the_policy_is_told():
    ar1 = eq.GaussianScenario(noise=[1, 2], dim=2, budget=60, covariance="ar1:0.5", weights=(1, 3))
    np.testing.assert_array_equal(ar1.problem().moment, ar1.true_moment())
    assert ar1.replace(moment="learned").problem().moment is None
    wrong = ar1.replace(moment=((3.0, 0.0), (0.0, 1.0)))
    np.testing.assert_array_equal(wrong.problem().moment, [[3, 0], [0, 1]])
    np.testing.assert_array_equal(wrong.true_moment(), ar1.true_moment())
    assert ar1.problem().weights.tolist() == [1, 3]


def test_a_scenario_cannot_be_changed():
    with pytest.raises(AttributeError):
        PLAIN.budget = 3


def test_zero_has_one_sign():
    negative = PLAIN.replace(curvature=-0.0, noise=(-0.0, 1.0), coef=((-0.0, 1.0), (0.0, 1.0)))
    assert repr(negative) == repr(PLAIN.replace(noise=(0.0, 1.0), coef=((0.0, 1.0), (0.0, 1.0))))
