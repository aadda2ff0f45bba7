"""Costs, floors and caps: what is refused, what is kept, and what must not change."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from built_in import ONE_STAGE_OF_EACH_KIND
from hypothesis import given, settings
from hypothesis import strategies as st

import equipoise as eq
from equipoise.core.problem.costs import most_units
from equipoise.errors import (
    BudgetExhausted,
    BudgetTooSmall,
    InvalidArgument,
    InvalidProblem,
    LimitConflict,
    NoArmLeft,
    UnknownArm,
)

# Made-up outcomes are bent now and then.
pytestmark = pytest.mark.filterwarnings("ignore::equipoise.errors.FitWarning")

GOOD = {"arms": ["a", "b"], "dim": 2, "budget": 30}
NOISE = {"a": 0.3, "b": 1.0, "c": 2.5}
SPECS = [
    *(
        f"{name}:noise=0.3,1.0,2.5" if name in ("oracle", "best-allocation") else name
        for name in ONE_STAGE_OF_EACH_KIND
    ),
    "sparse-trace-ucb:screen=2:sparsity=0",
    "sparse-trace-ucb:support=1",
    "uniform-lasso",
]


def run(problem, policy, *, seed=0, units=None):
    """An experiment at its end, and the arms in order."""
    experiment = eq.Experiment(problem, policy, seed=4)
    rng = np.random.default_rng(seed)
    shocks = rng.normal(size=(problem.units, len(NOISE)))
    path = []
    for x, shock in zip(rng.normal(size=(problem.units, problem.dim)), shocks, strict=True):
        if not experiment.remaining or len(path) == units:
            break
        assignment = experiment.ask(x)
        path.append(assignment.arm)
        place = list(NOISE).index(assignment.arm)
        experiment.tell(assignment.id, float(NOISE[assignment.arm] ** 0.5 * shock[place]))
    return experiment, path


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"costs": {"a": 0.0}}, InvalidArgument, "cost 0.0 of arm 'a' is not a positive number"),
        ({"costs": {"a": "2"}}, InvalidArgument, "cost '2'"),
        ({"costs": {"a": np.inf}}, InvalidArgument, "cost inf"),
        ({"costs": {"c": 1.0}}, UnknownArm, "cost for unknown arm 'c'"),
        ({"costs": [1.0, 2.0]}, InvalidArgument, "costs=.* does not name arms"),
        ({"costs": {}, "budget": 0.0}, InvalidProblem, "budget=0.0 is not a positive number"),
        ({"costs": {}, "budget": "30"}, InvalidProblem, "budget='30'"),
        ({"budget": 30.5}, InvalidProblem, "positive whole number"),
        ({"costs": {"a": 10.0}}, BudgetTooSmall, "budget=33 or more"),
        ({"floors": {"a": -1}}, InvalidArgument, "floor -1 of arm 'a'"),
        ({"floors": {"a": 2.0}}, InvalidArgument, "floor 2.0"),
        ({"floors": {"c": 2}}, UnknownArm, "floor for unknown arm 'c'"),
        ({"floors": {"a": 20, "b": 11}}, BudgetTooSmall, "does not pay for the floors: they take 31"),
        ({"floors": {"a": 28}}, BudgetTooSmall, "some have higher floors.*budget=31"),
        ({"costs": {"a": 2.0}, "floors": {"a": 14}}, BudgetTooSmall, "budget=31"),
        ({"caps": {"a": 12}, "floors": {"a": 13}}, LimitConflict, "must get 13 units and may get 12"),
        ({"caps": {"a": 10, "b": 19}}, LimitConflict, "the caps leave 1 of the budget of 30 unspent"),
        ({"caps": {"a": 2}}, LimitConflict, r"can never be estimated: that takes 3 units"),
        ({"caps": {"a": 1.5}}, InvalidArgument, "cap 1.5"),
    ],
)
def test_refuses(change, error, message):
    with pytest.raises(error, match=message) as caught:
        eq.Problem(**{**GOOD, **change})
    assert pickle.loads(pickle.dumps(caught.value)).message == caught.value.message


def test_limits_belong_to_the_problem():
    problem = eq.Problem(**GOOD, costs={"b": 2.5}, floors={"a": 5}, caps={"b": 9})
    for same in (copy.deepcopy(problem), pickle.loads(pickle.dumps(problem))):
        assert same == problem
        assert hash(same) == hash(problem)
    assert (
        len({problem, *(eq.Problem(**GOOD, **{name: {"b": 4}}) for name in ("costs", "floors", "caps"))}) == 4
    )
    assert repr(problem).endswith("costs={'b': 2.5}, floors={'a': 5}, caps={'b': 9})")
    with pytest.raises(ValueError, match="read-only"):
        problem.costs[0] = 2.0


def test_units_are_the_most_that_money_buys():
    assert eq.Problem(**GOOD).units == 30
    assert eq.Problem(**{**GOOD, "budget": 29.9}, costs={"a": 3.0}).units == 29
    assert eq.Problem(**GOOD, costs={"b": 3.0}, caps={"a": 12}).units == 12 + 6
    # 0.1 is not a binary fraction: ten of them are one all the same.
    assert eq.Problem(["a"], 1, budget=1.0, costs={"a": 0.1}).units == 10
    assert most_units(0.3, [0.1], [np.inf]) == 3


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("moment", [None, np.eye(3)], ids=["learned", "given"])
def test_limits_that_do_not_bind_change_nothing(spec, moment):
    plain = eq.Problem(list(NOISE), 3, budget=80, moment=moment, objective=2.0)
    _, expected = run(plain, spec)
    ones = eq.Problem(
        list(NOISE),
        3,
        budget=80,
        moment=moment,
        objective=2.0,
        costs=dict.fromkeys(NOISE, 1.0),
        floors={"a": 0},
    )
    loose = eq.Problem(
        list(NOISE), 3, budget=80, moment=moment, objective=2.0, caps={"c": 80}, floors={"b": 4}
    )
    for problem in (ones, loose):
        experiment, path = run(problem, spec)
        assert path == expected
        assert experiment.spent == 80
    plainly, costly = (eq.Experiment(problem, spec, seed=4)._state for problem in (plain, ones))
    assert [array.tobytes() for array in plainly] == [array.tobytes() for array in costly]


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("factor", [0.125, 3.0, 0.1])
def test_money_has_no_unit(spec, factor):
    costs = {"a": 1.0, "b": 2.0, "c": 5.0}
    paths = [
        run(
            eq.Problem(
                list(NOISE),
                3,
                budget=160.0 * scale,
                moment=None,
                objective="mean",
                costs={arm: c * scale for arm, c in costs.items()},
            ),
            spec,
        )[1]
        for scale in (1.0, factor)
    ]
    assert paths[0] == paths[1]


def test_scores_follow_the_cost_by_the_objective():
    """k ∝ ((wσ²)^p/c)^(1/(p+1)): no effect for "max", w/c for "mean"."""
    for objective, discount in (("max", 1.0), ("mean", 1 / 4), (2.0, 1 / 2)):
        problem = eq.Problem(
            ["a", "b"], 2, budget=60, objective=objective, weights={"b": 3.0}, costs={"b": 4.0}
        )
        weights = eq.Experiment(problem, "trace-ucb")._state.arms["weight"]
        assert weights.tolist() == pytest.approx([1.0, 3.0 * discount], rel=1e-15)


def test_scores_of_arms_that_may_not_be_chosen():
    problem = eq.Problem(list(NOISE), 2, budget=30, moment=np.eye(2), caps={"a": 3})
    experiment, _ = run(problem, "trace-gain", units=20)
    assignment = experiment.ask([1.0, 2.0])
    assert assignment.scores["a"] == -np.inf
    assert min(assignment.scores["b"], assignment.scores["c"]) > 0.0


def test_the_end_says_why():
    costly = eq.Problem(["a", "b"], 1, budget=20.5, costs={"a": 2.0, "b": 3.0})
    experiment = eq.Experiment(costly, "uniform")
    while experiment.remaining:
        experiment.ask([1.0])
    before = [array.tobytes() for array in experiment._state]
    with pytest.raises(BudgetExhausted, match=r"0\.5 of the budget of 20\.5 is left, .* at least 2"):
        experiment.ask([1.0])
    assert before == [array.tobytes() for array in experiment._state]
    capped = eq.Experiment(
        eq.Problem(["a", "b"], 1, budget=20, costs={"a": 2.5}, caps={"a": 4, "b": 10}), "uniform"
    )
    while capped.remaining:
        capped.ask([1.0])
    assert capped.counts == {"a": 4, "b": 10}
    with pytest.raises(NoArmLeft, match="every arm is closed or at its cap, with 0 of the budget left"):
        capped.ask([1.0])


def test_floors_are_filled_last_and_in_the_order_of_scores():
    problem = eq.Problem(list(NOISE), 2, budget=60, moment=np.eye(2), floors={"a": 20, "b": 22})
    experiment, path = run(problem, "trace-ucb")
    assert experiment.counts == {"a": 20, "b": 22, "c": 18}
    # Arm c, the noisiest, is served until only the floors are left.
    last = len(path) - 1 - path[::-1].index("c")
    assert set(path[last + 1 :]) == {"a", "b"}
    assert path.count("c") > path[: last + 1].count("a")


def test_lost_units_use_up_caps_but_do_not_fill_floors():
    problem = eq.Problem(["a", "b"], 1, budget=20, floors={"a": 6}, caps={"b": 16})
    experiment = eq.Experiment(problem, "uniform")
    for _ in range(8):
        assignment = experiment.ask([1.0])
        experiment.lose(assignment.id)
    assert experiment.spent == 8
    assert experiment.counts == {"a": 0, "b": 0}
    while experiment.remaining:
        experiment.ask([1.0])
    assert experiment.counts["a"] == 6
    assert experiment._state.arms["assigned"].sum() == 20
    # A floor that losses have put out of reach takes what is left, and nothing breaks.
    hopeless = eq.Experiment(eq.Problem(["a", "b"], 1, budget=20, floors={"a": 16}), "uniform")
    for _ in range(14):
        hopeless.lose(hopeless.ask([1.0]).id)
    path = [hopeless.ask([1.0]).arm for _ in range(hopeless.remaining)]
    assert path == ["a"] * 6


limits = st.fixed_dictionaries(
    {
        "costs": st.lists(st.sampled_from([0.1, 0.3, 1.0, 1.7, 2.0, 5.0]), min_size=3, max_size=3),
        "floors": st.lists(st.integers(0, 12), min_size=3, max_size=3),
        "caps": st.lists(st.none() | st.integers(4, 25), min_size=3, max_size=3),
        "spare": st.floats(0.0, 1.0),
        "objective": st.sampled_from(["max", "mean", 3.0]),
        "learned": st.booleans(),
    }
)


def drawn_problem(values, order=(0, 1, 2)):
    """The problem that drawn numbers describe; floors above caps are lowered to them."""
    dim, names = 3, [list(NOISE)[i] for i in order]
    costs, floors, caps = (
        dict(zip(NOISE, values[name], strict=True)) for name in ("costs", "floors", "caps")
    )
    floors = {arm: min(k, k if caps[arm] is None else caps[arm]) for arm, k in floors.items()}
    least = sum(costs[arm] * max(floors[arm], dim + 1) for arm in NOISE)
    most = sum(costs[arm] * (60 if caps[arm] is None else caps[arm]) for arm in NOISE)
    return eq.Problem(
        names,
        dim,
        budget=least + values["spare"] * (most - least),
        moment=None if values["learned"] else np.diag([1.0, 2.0, 0.5]),
        objective=values["objective"],
        costs=costs,
        floors=floors,
        caps={arm: cap for arm, cap in caps.items() if cap is not None},
    )


@settings(max_examples=150, deadline=None)
@given(values=limits, spec=st.sampled_from(SPECS), seed=st.integers(0, 1000))
def test_every_limit_is_kept(values, spec, seed):
    problem = drawn_problem(values)
    experiment, path = run(problem, spec, seed=seed)
    counts = np.array(list(experiment.counts.values()))
    assert experiment.remaining == 0
    assert len(path) == counts.sum() <= problem.units
    assert experiment.spent <= problem.budget + 1e-6 * problem.costs.max()
    assert np.all(counts <= problem.caps)
    assert np.all(counts >= problem.floors)
    assert np.all(counts >= problem.dim + 1) or not type(eq.parse_policy(spec)).forced_start
    # Nothing more could have been bought.
    free = counts < problem.caps
    left = problem.budget - experiment.spent
    assert not free.any() or left < problem.costs[free].min() * (1 - 0.9e-6)
    with pytest.raises(BudgetExhausted):
        experiment.ask(np.ones(3))


@settings(max_examples=60, deadline=None)
@given(values=limits, spec=st.sampled_from(SPECS), order=st.permutations(range(3)), seed=st.integers(0, 1000))
def test_the_order_of_the_arms_does_not_matter(values, spec, order, seed):
    _, path = run(drawn_problem(values), spec, seed=seed)
    policy = eq.parse_policy(spec).reordered(order)
    _, moved = run(drawn_problem(values, order), policy, seed=seed)
    assert moved == path


@pytest.mark.filterwarnings("ignore::equipoise.errors.SupportWarning")  # noise of a few units may be anything
@settings(max_examples=60, deadline=None)
@given(values=limits, spec=st.sampled_from(SPECS), seed=st.integers(0, 2**31))
def test_limits_with_late_lost_and_withdrawn_units(values, spec, seed):
    problem = drawn_problem(values)
    experiment = eq.Experiment(problem, spec, seed=1)
    rng = np.random.default_rng(seed)
    while experiment.remaining:
        before = experiment.remaining
        id = experiment.ask(rng.normal(size=3)).id
        assert experiment.remaining < before
        fate = rng.choice([experiment.lose, experiment.withdraw, None, None, None])
        if fate is not None:
            fate(id)
        for late in experiment.pending[:-4]:
            experiment.tell(late, float(rng.normal()))
    assigned = experiment._state.arms["assigned"]
    assert assigned.sum() == experiment.asked
    assert np.all(assigned <= problem.caps)
    assert experiment.spent <= problem.budget + 1e-6 * problem.costs.max()
    with pytest.raises(BudgetExhausted):
        experiment.ask(np.ones(3))
    experiment.estimates()


@eq.register("test-never-b")
def never_b(arm, trial, settings):
    return -np.inf if arm.position == 1 else 1.0


@eq.register("test-not-a-number")
def not_a_number(arm, trial, settings):
    return np.nan if trial.step == 13 else 1.0  # a moment at which nobody tries it beforehand


@pytest.mark.parametrize("spec", ["test-never-b", "test-not-a-number"])
def test_an_arm_that_may_be_chosen_wins_whatever_its_score(spec):
    experiment = eq.Experiment(eq.Problem(list(NOISE), 1, budget=30), spec)
    for t in range(12):
        experiment.tell(experiment.ask([1.0 + t]).id, float(t % 3))
    for arm in ("a", "c"):
        experiment.close_arm(arm)
    assert [experiment.ask([2.0]).arm for _ in range(5)] == ["b"] * 5
