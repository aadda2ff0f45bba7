"""Experiment: the life of a unit, bad input, and state that is never half-changed."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from inner_state import settle

import equipoise as eq
from equipoise.core.choice.ties import tie_order
from equipoise.errors import (
    AssignmentClosed,
    AssignmentNotFound,
    BudgetExhausted,
    InvalidArgument,
    InvalidContext,
    InvalidOutcome,
    OutcomeConflict,
    UnknownArm,
)

# Made-up outcomes are bent now and then.
pytestmark = pytest.mark.filterwarnings("ignore::equipoise.errors.FitWarning")


def fresh(budget=30, moment=None, policy="trace-ucb", seed=3):
    return eq.Experiment(eq.Problem(["a", "b"], 2, budget=budget, moment=moment), policy, seed=seed)


def fingerprint(experiment):
    return [array.tobytes() for array in experiment._state[:-2]], experiment.asked


def test_the_contract_of_the_design_page():
    problem = eq.Problem(
        arms=["placebo", "low", "high"], dim=10, budget=350, moment=np.eye(10), objective="max"
    )
    experiment = eq.Experiment(problem, policy=eq.TraceUCB(), seed=7)
    rng = np.random.default_rng(0)
    for _ in range(100):
        assignment = experiment.ask(rng.normal(size=10))
        experiment.tell(assignment.id, float(rng.normal()))
    assert set(assignment.scores) == {"placebo", "low", "high"}
    assert assignment.scores[assignment.arm] == max(assignment.scores.values())
    for arm in experiment.estimates():
        assert arm.arm in problem.arms
        assert arm.coef.shape == (10,)
        assert arm.intervals.shape == (10, 2)
        assert arm.noise_variance > 0
        assert arm.count > 10
        assert arm.expected_error > 0
        assert arm.ridge > 0
    for arm in experiment.estimates(estimator="ridge"):
        assert arm.ridge == 1 / 350


def test_ask_accepts_lists_and_other_dtypes():
    left, right = fresh(), fresh()
    assert left.ask([1, 2]) == right.ask(np.array([1.0, 2.0], dtype=np.float32))


def test_ask_copies_the_context():
    experiment = fresh()
    x = np.array([1.0, 2.0])
    experiment.ask(x)
    x[:] = 99.0
    experiment.tell(1, 0.0)
    arm = next(arm for arm, count in experiment.counts.items() if count)
    assert experiment.data(arm)[0].tolist() == [[1.0, 2.0]]


@pytest.mark.parametrize(
    "x",
    [
        [1.0],
        [1.0, 2.0, 3.0],
        [[1.0, 2.0]],
        5.0,
        [],
        [1.0, math.nan],
        [math.inf, 0.0],
        ["a", "b"],
        None,
        [1e200, 1.0],
        [1.0, None],
        [1j, 2.0],
        [10**400, 1],
    ],
)
def test_bad_contexts(x):
    experiment = fresh()
    experiment.tell(experiment.ask([1.0, 2.0]).id, 1.0)
    before = fingerprint(experiment)
    with pytest.raises(InvalidContext):
        experiment.ask(x)
    assert fingerprint(experiment) == before


@pytest.mark.parametrize("y", [math.nan, math.inf, -math.inf, "high", "1.0", None, [1.0], 1j, 1e300, 10**400])
def test_bad_outcomes(y):
    experiment = fresh()
    id = experiment.ask([1.0, 2.0]).id
    before = fingerprint(experiment)
    for call in (experiment.tell, experiment.correct):
        with pytest.raises(InvalidOutcome):
            call(id, y)
    assert fingerprint(experiment) == before
    assert experiment.pending == [id]


@pytest.mark.parametrize("id", [0, 2, -1, 1.0, "1", None, True])
def test_unknown_assignments(id):
    experiment = fresh()
    experiment.ask([1.0, 2.0])
    for call in (
        lambda: experiment.tell(id, 1.0),
        lambda: experiment.correct(id, 1.0),
        lambda: experiment.lose(id),
        lambda: experiment.withdraw(id),
    ):
        with pytest.raises(AssignmentNotFound, match="no unit was assigned"):
            call()
    assert experiment.pending == [1]


def test_second_tell():
    experiment = fresh()
    experiment.ask([1.0, 2.0])
    experiment.tell(1, 2.5)
    before = fingerprint(experiment)
    experiment.tell(1, 2.5)
    with pytest.raises(OutcomeConflict, match=r"correct\(1, 3\.0\)"):
        experiment.tell(1, 3.0)
    assert fingerprint(experiment) == before
    experiment.correct(1, 3.0)
    experiment.tell(1, 3.0)


def test_lost_and_withdrawn_units():
    experiment = fresh()
    for x in ([1.0, 2.0], [0.0, 1.0], [1.0, 1.0]):
        experiment.ask(x)
    experiment.lose(1)
    experiment.lose(1)
    experiment.tell(1, 1.0)  # it came after all
    with pytest.raises(AssignmentClosed, match=r"withdraw\(1\)"):
        experiment.lose(1)
    experiment.withdraw(2)
    experiment.withdraw(2)
    for call in (experiment.tell, experiment.correct):
        with pytest.raises(AssignmentClosed, match="withdrawn") as refused:
            call(2, 1.0)
        assert "correct(" not in refused.value.hint  # which is refused as well
    assert sum(experiment.counts.values()) == 2
    assert experiment.pending == [3]
    assert experiment.remaining == 27


def test_budget_exhausted():
    experiment = fresh(budget=6)
    for _ in range(6):
        experiment.ask([1.0, 2.0])
    before = fingerprint(experiment)
    with pytest.raises(BudgetExhausted, match="all 6 units"):
        experiment.ask([1.0, 2.0])
    assert fingerprint(experiment) == before
    experiment.tell(6, 1.0)


@pytest.mark.parametrize("seed", [-1, 1.5, "1", None, True])
def test_bad_seeds(seed):
    with pytest.raises(InvalidArgument, match="seed"):
        fresh(seed=seed)


def test_bad_problem_and_policy():
    with pytest.raises(InvalidArgument, match="not a Problem"):
        eq.Experiment("problem", "uniform")
    with pytest.raises(eq.errors.InvalidPolicy, match="not a policy"):
        eq.Experiment(eq.Problem(2, 2, budget=30), 5)
    with pytest.raises(UnknownArm, match="no arm 'z'"):
        fresh().data("z")


def test_seed_orders_ties_by_name_not_by_place():
    names = ("x", "y", "z", "w")
    orders = {tuple(np.array(names)[np.argsort(tie_order(names, seed))]) for seed in range(50)}
    assert len(orders) > 10
    for seed in range(5):
        forwards = dict(zip(names, tie_order(names, seed), strict=True))
        backwards = dict(zip(names[::-1], tie_order(names[::-1], seed), strict=True))
        assert forwards == backwards


def test_room_grows_with_the_rows():
    experiment = eq.Experiment(eq.Problem(2, 1, budget=5_000, moment=[[1.0]]), "uniform")
    for t in range(3_000):
        experiment.tell(experiment.ask([1.0 + t % 7]).id, float(t % 5))
    assert sum(experiment.counts.values()) == 3_000
    contexts, outcomes = experiment.data("arm-1")
    assert len(contexts) == len(outcomes) == 1_500
    assert set(outcomes) == {0.0, 1.0, 2.0, 3.0, 4.0}


def test_pickle_and_copy_go_on_identically():
    rng = np.random.default_rng(0)
    experiment = fresh(budget=200)
    for _ in range(50):
        experiment.tell(experiment.ask(rng.normal(size=2)).id, float(rng.normal()))
    experiment.ask(rng.normal(size=2))
    twins = [experiment, copy.deepcopy(experiment), pickle.loads(pickle.dumps(experiment))]
    for _ in range(100):
        x, y = rng.normal(size=2), float(rng.normal())
        assignments = [twin.ask(x) for twin in twins]
        assert assignments[0] == assignments[1] == assignments[2]
        for twin in twins:
            twin.tell(assignments[0].id, y)


def test_prints():
    experiment = fresh()
    experiment.ask([1.0, 0.0])
    assert "asked=1, told=0, pending=1, remaining=29" in repr(experiment)
    assert repr(experiment.ask([1.0, 0.0])).startswith("Assignment(id=2, arm=")


class Life(RuleBasedStateMachine):
    """Random calls, valid and not, against a plain dictionary of rows."""

    budget = 40

    def __init__(self):
        super().__init__()
        self.experiment = eq.Experiment(
            eq.Problem(["a", "b", "c"], 2, budget=self.budget), eq.TraceUCB(), seed=1
        )
        self.rows = {}

    numbers = st.floats(-5, 5).map(lambda value: round(value, 3))
    ids = st.integers(-1, 42)

    @precondition(lambda self: len(self.rows) < self.budget)
    @rule(x=st.tuples(numbers, numbers))
    def ask(self, x):
        assignment = self.experiment.ask(x)
        assert assignment.id == len(self.rows) + 1
        self.rows[assignment.id] = ["pending", assignment.arm, x, None]

    @rule(id=ids, y=numbers)
    def tell(self, id, y):
        status = self.rows.get(id, ["missing"])[0]
        if status in ("pending", "lost") or (status == "told" and self.rows[id][3] == y):
            self.experiment.tell(id, y)
            self.rows[id][0], self.rows[id][3] = "told", y
        else:
            self.refuses(lambda: self.experiment.tell(id, y))

    @rule(id=ids, y=numbers)
    def correct(self, id, y):
        if self.rows.get(id, ["missing"])[0] in ("pending", "told", "lost"):
            self.experiment.correct(id, y)
            self.rows[id][0], self.rows[id][3] = "told", y
        else:
            self.refuses(lambda: self.experiment.correct(id, y))

    @rule(id=ids)
    def lose(self, id):
        if self.rows.get(id, ["missing"])[0] in ("pending", "lost"):
            self.experiment.lose(id)
            self.rows[id][0] = "lost"
        else:
            self.refuses(lambda: self.experiment.lose(id))

    @rule(id=ids)
    def withdraw(self, id):
        if id in self.rows:
            self.experiment.withdraw(id)
            self.rows[id][0] = "withdrawn"
        else:
            self.refuses(lambda: self.experiment.withdraw(id))

    @rule(x=st.sampled_from([[1.0], [math.nan, 0.0], None]))
    def bad_ask(self, x):
        self.refuses(lambda: self.experiment.ask(x))

    def refuses(self, call):
        before = fingerprint(self.experiment)
        with pytest.raises(eq.EquipoiseError):
            call()
        assert fingerprint(self.experiment) == before

    @invariant()
    def rows_agree(self):
        pending = [id for id, row in self.rows.items() if row[0] == "pending"]
        assert self.experiment.pending == pending
        for i, arm in enumerate(("a", "b", "c")):
            told = [row for row in self.rows.values() if row[:2] == ["told", arm]]
            contexts, outcomes = self.experiment.data(arm)
            assert contexts.tolist() == [list(row[2]) for row in told]
            assert outcomes.tolist() == [row[3] for row in told]
            counted = [row for row in self.rows.values() if row[1] == arm and row[0] in ("told", "pending")]
            assert self.experiment.counts[arm] == len(counted)
            state = self.experiment._state.arms[i]
            if state["data_ready"]:
                _, singular, _ = np.linalg.svd(contexts, full_matrices=False)
                residual = outcomes - contexts @ np.linalg.pinv(contexts) @ outcomes
                condition = singular[0] / singular[-1]
                slack = 1e-9 * (1 + outcomes @ outcomes) * condition**2
                assert abs(state["rss"] - residual @ residual) <= slack
                if condition < 1e4:
                    coef = np.linalg.pinv(contexts) @ outcomes
                    np.testing.assert_allclose(self.experiment._state.coefs[i], coef, rtol=1e-6, atol=1e-6)


TestLife = Life.TestCase
TestLife.settings = settings(max_examples=50, stateful_step_count=60, deadline=None)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**31), delay=st.integers(0, 30), policy=st.sampled_from(["trace-ucb", "var-ucb"]))
def test_a_settled_state_stays_settled(seed, delay, policy):
    rng = np.random.default_rng(seed)
    experiment = fresh(budget=60, policy=policy)
    waiting = []
    for _ in range(60):
        waiting.append(experiment.ask(rng.normal(size=2)).id)
        if len(waiting) > delay:
            experiment.tell(waiting.pop(0), float(rng.normal()))
        settle(experiment)
        before = fingerprint(experiment)
        settle(experiment)
        assert fingerprint(experiment) == before
