"""Arms that close, reopen and join while an experiment runs."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from built_in import ONE_STAGE_OF_EACH_KIND
from hypothesis import given, settings
from hypothesis import strategies as st

import equipoise as eq
from equipoise.errors import (
    BudgetExhausted,
    BudgetTooSmall,
    DuplicateArm,
    InvalidArgument,
    InvalidPolicy,
    InvalidProblem,
    LimitConflict,
    NoArmLeft,
    UnknownArm,
)

# Made-up outcomes are bent now and then.
pytestmark = pytest.mark.filterwarnings("ignore::equipoise.errors.FitWarning")

SPECS = [name for name in ONE_STAGE_OF_EACH_KIND if name not in ("oracle", "best-allocation")]
# Widths that are set by the number of arms, and phases that are counted in them, know a closed arm.
ALIKE = ["uniform", "trace-ucb", "trace-ucb:width=chi-square", "var-ucb", "ch-as", "gafs-max", "trace-gain"]
DEVIATIONS = {"a": 0.4, "b": 1.0, "late": 2.0}


class Feed:
    """Contexts and outcomes; the r-th unit of an arm meets the same noise whenever it comes."""

    def __init__(self, seed, dim=2):
        rng = np.random.default_rng(seed)
        self.contexts = rng.normal(size=(400, dim))
        self.shocks = {arm: deviation * rng.normal(size=400) for arm, deviation in DEVIATIONS.items()}
        self.fates = rng.random(400)
        self.waiting = []

    def step(self, experiment, fates=False):
        t = experiment.asked
        assignment = experiment.ask(self.contexts[t])
        self.waiting.append(assignment)
        while self.waiting and (not fates or len(self.waiting) > 5):
            unit = self.waiting.pop(0)
            fate = self.fates[unit.id] if fates else 1.0
            if fate < 0.1:
                experiment.lose(unit.id)
            elif fate < 0.2:
                experiment.withdraw(unit.id)
            else:
                experiment.tell(unit.id, float(self.shocks[unit.arm][unit.id]))
        return assignment.arm


def fingerprint(experiment):
    return [array.tobytes() for array in experiment._state], experiment.problem, experiment.closed_arms


def two_arms(spec, budget=90, moment=None, **limits):
    return eq.Experiment(
        eq.Problem(["a", "b"], 2, budget=budget, moment=moment, objective="mean", **limits), spec, seed=6
    )


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("moment", [None, np.eye(2)], ids=["learned", "given"])
@pytest.mark.parametrize("units", [0, 3, 25])
def test_a_closed_arm_gets_nothing_and_stays(spec, moment, units):
    experiment, feed = two_arms(spec, moment=moment), Feed(1)
    for _ in range(units):
        feed.step(experiment)
    before = experiment.counts
    experiment.close_arm("a")
    experiment.close_arm("a")
    assert experiment.closed_arms == ("a",)
    assert {feed.step(experiment) for _ in range(15)} == {"b"}
    assert experiment.counts["a"] == before["a"]
    assert [arm.arm for arm in experiment.estimates()] == ["a", "b"]
    again = pickle.loads(pickle.dumps(experiment))
    for one in (experiment, again):
        one.reopen_arm("a")
    assert experiment.closed_arms == ()
    assert [feed.step(experiment) for _ in range(30)].count("a") > 0
    other = Feed(1)
    assert {other.step(again) for _ in range(30)} <= {"a", "b"}
    assert again.counts == experiment.counts


def test_closing_everything():
    experiment, feed = two_arms("trace-gain"), Feed(1)
    feed.step(experiment)
    for arm in ("a", "b"):
        experiment.close_arm(arm)
    assert experiment.remaining == 0
    before = fingerprint(experiment)
    with pytest.raises(NoArmLeft, match="closed or at its cap, with 89 of the budget left"):
        experiment.ask([1.0, 1.0])
    assert fingerprint(experiment) == before
    experiment.reopen_arm("b")
    assert experiment.remaining == 89
    assert feed.step(experiment) == "b"
    with pytest.raises(UnknownArm, match="no arm 'z'"):
        experiment.close_arm("z")
    with pytest.raises(UnknownArm, match="no arm 'z'"):
        experiment.reopen_arm("z")


def test_a_closed_arm_reserves_nothing():
    experiment, feed = two_arms("uniform", budget=40, floors={"a": 20}, caps={"b": 30}), Feed(1)
    experiment.close_arm("a")
    assert experiment.remaining == 30
    path = []
    while experiment.remaining:
        path.append(feed.step(experiment))
    assert path == ["b"] * 30
    experiment.reopen_arm("a")
    assert experiment.remaining == 10


@pytest.mark.parametrize("spec", ALIKE)
@pytest.mark.parametrize("moment", [None, np.diag([1.0, 3.0])], ids=["learned", "given"])
@pytest.mark.parametrize("fates", [False, True], ids=["prompt", "late, lost, withdrawn"])
@pytest.mark.parametrize("units", [0, 20])
def test_joining_is_reopening_an_arm_that_was_closed_from_the_start(spec, moment, fates, units):
    if spec == "trace-gain" and moment is None:
        pytest.skip("its prior is a share of the contexts seen, by the number of arms")
    # Cheaper than the others, so that all weights change.
    terms = {"weight": 2.0, "cost": 0.5, "floor": 12, "cap": 20}
    joined = two_arms(spec, moment=moment, costs={"b": 2.0})
    problem = joined.problem.with_arm("late", **terms)
    reopened = eq.Experiment(problem, spec, seed=6)
    reopened.close_arm("late")
    feeds = Feed(2), Feed(2)
    for _ in range(units):
        arms = [
            feed.step(experiment, fates) for feed, experiment in zip(feeds, (joined, reopened), strict=True)
        ]
        assert arms[0] == arms[1]
    joined.add_arm("late", **terms)
    reopened.reopen_arm("late")
    assert joined.problem == problem
    while joined.remaining:
        assert joined.remaining == reopened.remaining
        assert feeds[0].step(joined, fates) == feeds[1].step(reopened, fates)
    assert joined.counts == reopened.counts
    np.testing.assert_array_equal(joined._state.coefs, reopened._state.coefs)


@pytest.mark.parametrize("spec", [spec for spec in SPECS if ONE_STAGE_OF_EACH_KIND[spec].forced_start])
@pytest.mark.parametrize("moment", [None, np.eye(2)], ids=["learned", "given"])
def test_a_new_arm_has_its_start_first(spec, moment):
    experiment, feed = two_arms(spec, moment=moment), Feed(3)
    before = [feed.step(experiment) for _ in range(30)]
    experiment.add_arm("late")
    assert [feed.step(experiment) for _ in range(3)] == ["late"] * 3
    assert [experiment.problem.arms[i] for i in experiment._state.rows["arm"][:30]] == before
    again = pickle.loads(pickle.dumps(experiment))
    other = Feed(3)
    while experiment.remaining:
        assert feed.step(experiment) == other.step(again)
    assert experiment.asked == 90
    estimates = experiment.estimates()
    assert [arm.arm for arm in estimates] == ["a", "b", "late"]
    assert np.isfinite(estimates["late"].expected_error)
    contexts, outcomes = experiment.data("late")
    np.testing.assert_allclose(
        estimates["late"].least_squares, np.linalg.lstsq(contexts, outcomes)[0], rtol=1e-9
    )


def test_the_prior_of_a_learned_moment_counts_the_new_arm():
    experiment, feed = two_arms("trace-gain"), Feed(4)
    for _ in range(4):
        feed.step(experiment)
    experiment.add_arm("late")
    feed.step(experiment)
    experiment._state.contexts[experiment.asked] = [1.0, 0.5]
    experiment.ask([1.0, 0.5])
    state, seen = experiment._state, feed.contexts[:5]
    # Before the last unit was assigned: S + M/(2m) with m = 3 arms.
    moment = seen.T @ seen
    for i, arm in enumerate(state.arms):
        if arm["design_ready"] or state.rows["arm"][5] == i:
            continue
        rows = seen[state.rows["arm"][:5] == i]
        prior = rows.T @ rows + moment / 6
        after = moment + np.outer([1.0, 0.5], [1.0, 0.5])
        expected = np.trace(after @ np.linalg.inv(prior + np.outer([1.0, 0.5], [1.0, 0.5]) / 6))
        assert arm["provisional_sum"] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"arm": "a"}, DuplicateArm, "used twice: 'a'"),
        ({"arm": ""}, InvalidProblem, "not a non-empty string"),
        ({"arm": 7}, InvalidProblem, "not a non-empty string"),
        ({"weight": 0.0}, InvalidArgument, "weight 0.0 of arm 'late'"),
        ({"cost": -1.0}, InvalidArgument, "cost -1.0"),
        ({"floor": 1.5}, InvalidArgument, "floor 1.5"),
        ({"floor": 5, "cap": 4}, LimitConflict, "must get 5 units and may get 4"),
        ({"cap": 2}, LimitConflict, "can never be estimated"),
        ({"floor": 26}, BudgetTooSmall, "needs 26 of the budget, and 25 is free"),
        ({"cost": 9.0}, BudgetTooSmall, "needs 27 of the budget, and 25 is free"),
    ],
)
def test_refuses_to_add(arguments, error, message):
    experiment, feed = two_arms("uniform", budget=60, floors={"b": 30}), Feed(5)
    for _ in range(10):
        feed.step(experiment)
    before = fingerprint(experiment)
    with pytest.raises(error, match=message):
        experiment.add_arm(**{"arm": "late", **arguments})
    assert fingerprint(experiment) == before
    feed.step(experiment)


def test_the_oracle_must_know_the_noise_of_every_arm():
    experiment = two_arms("oracle:noise=1,2")
    before = fingerprint(experiment)
    with pytest.raises(InvalidPolicy, match="2 noise variances for 3 arms"):
        experiment.add_arm("late")
    assert fingerprint(experiment) == before


def test_the_smallest_budget_for_a_new_arm():
    experiment, feed = two_arms("trace-ucb", budget=20), Feed(5)
    for _ in range(17):
        feed.step(experiment)
    experiment.add_arm("late")
    assert [feed.step(experiment) for _ in range(3)] == ["late"] * 3
    with pytest.raises(BudgetExhausted, match="all 20 units"):
        experiment.ask([1.0, 1.0])
    with pytest.raises(BudgetTooSmall, match="needs 3 of the budget, and 0 is free"):
        experiment.add_arm("later")


@settings(max_examples=40, deadline=None)
@given(spec=st.sampled_from(SPECS), seed=st.integers(0, 2**31), moment=st.sampled_from([None, np.eye(2)]))
def test_any_order_of_events(spec, seed, moment):
    """Arms come and go at random; nothing breaks and nothing is spent twice."""
    rng = np.random.default_rng(seed)
    problem = eq.Problem(
        ["x0", "x1"], 2, budget=60.0, moment=moment, objective=2.0, costs={"x0": 0.7}, floors={"x1": 8}
    )
    experiment = eq.Experiment(problem, spec, seed=int(rng.integers(5)))
    for _ in range(300):
        event = rng.random()
        arm = str(rng.choice(experiment.problem.arms))
        if event < 0.03:
            terms = {"cost": float(rng.choice([0.3, 1.0, 2.0])), "floor": int(rng.integers(6))}
            try:
                experiment.add_arm(f"x{len(experiment.problem.arms)}", **terms)
            except BudgetTooSmall:
                assert experiment.spent > 10
        elif event < 0.06:
            experiment.close_arm(arm)
        elif event < 0.12:
            experiment.reopen_arm(arm)
        elif event < 0.16:
            experiment = pickle.loads(pickle.dumps(experiment))
        elif experiment.remaining:
            assignment = experiment.ask(rng.normal(size=2))
            assert assignment.arm not in experiment.closed_arms
        elif not experiment.closed_arms:
            break
        for id in experiment.pending[:-3]:
            if rng.random() < 0.1:
                experiment.lose(id)
            else:
                experiment.tell(id, float(rng.normal()))
    rows = experiment._state.rows["arm"][: experiment.asked]
    assigned = np.bincount(rows, minlength=len(experiment.problem.arms))
    assert assigned.tolist() == experiment._state.arms["assigned"].tolist()
    assert experiment.spent == pytest.approx(float(experiment.problem.costs @ assigned))
    assert experiment.spent <= 60.0 + 1e-5
    experiment.estimates()
