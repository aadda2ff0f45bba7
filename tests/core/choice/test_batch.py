"""Batches: assigned together, all or none, and better than one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import equipoise as eq
from equipoise.errors import BudgetExhausted, InvalidContext


def problem(budget=120, moment=True):
    return eq.Problem(4, 5, budget=budget, moment=np.eye(5) if moment else None)


def test_a_batch_of_one_is_an_ask():
    one, other = (eq.Experiment(problem(), "trace-gain", seed=2) for _ in range(2))
    rng = np.random.default_rng(1)
    for _ in range(120):
        x, y = rng.normal(size=5), rng.normal()
        first, (second,) = one.ask(x), other.ask_many([x])
        assert first == second
        one.tell(first.id, y)
        other.tell(second.id, y)


@pytest.mark.parametrize("policy", ["uniform", "trace-ucb", "var-ucb"])
def test_policies_that_do_not_look_take_units_as_they_come(policy):
    rng = np.random.default_rng(1)
    contexts = rng.normal(size=(50, 5))
    one, other = (eq.Experiment(problem(), policy, seed=2) for _ in range(2))
    assert [one.ask(x) for x in contexts] == other.ask_many(contexts)


def test_a_batch_is_all_or_nothing():
    experiment = eq.Experiment(problem(budget=30), "trace-gain", seed=2)
    good = np.random.default_rng(1).normal(size=(10, 5))
    bad = good.copy()
    bad[7, 2] = np.nan
    for batch, error, words in [
        (bad, InvalidContext, "unit 7 of the batch: the context has no finite number at position 2"),
        (np.ones((31, 5)), BudgetExhausted, "31 units asked for, and the budget has 30 left"),
        (np.ones((2, 4)), InvalidContext, "unit 0 of the batch"),
        (np.ones(5), InvalidContext, "not a list of contexts"),
        (3.0, InvalidContext, "not a list of contexts"),
        (np.float64(3.0), InvalidContext, "not a list of contexts"),
        ([[1.0] * 5, [1.0] * 4], InvalidContext, r"unit 1 of the batch: the context has shape \(4,\)"),
        ([[[1.0], [1.0, 2.0]]], InvalidContext, "unit 0 of the batch: the context is not a list"),
    ]:
        with pytest.raises(error, match=words):
            experiment.ask_many(batch)
        assert experiment.asked == 0
    assert experiment.ask_many([]) == []
    assert len(experiment.ask_many(good)) == 10


@given(st.integers(0, 2**31), st.booleans(), st.lists(st.integers(1, 30), max_size=6))
@settings(max_examples=20, deadline=None)
def test_every_unit_of_a_batch_gets_an_arm(seed, moment, sizes):
    rng = np.random.default_rng(seed)
    experiment = eq.Experiment(problem(200, moment), "trace-gain:chance=0.1", seed=seed)
    ids = []
    for size in sizes:
        contexts = rng.normal(size=(size, 5))
        units = experiment.ask_many(contexts)
        for x, unit in zip(contexts, units, strict=True):
            np.testing.assert_array_equal(experiment._state.contexts[unit.id - 1], x)
            experiment.tell(unit.id, rng.normal())
        ids += [unit.id for unit in units]
    assert sorted(ids) == list(range(1, sum(sizes) + 1))


@pytest.mark.parametrize("policy", ["trace-gain", "trace-ucb"])
def test_nothing_is_written_when_the_budget_is_over(policy):
    experiment = eq.Experiment(problem(budget=30), policy, seed=2)
    contexts = np.random.default_rng(1).normal(size=(30, 5))
    experiment.ask_many(contexts)
    before = [array.tobytes() for array in experiment._state]
    for asking in (lambda: experiment.ask_many(contexts[:3]), lambda: experiment.ask(contexts[0])):
        with pytest.raises(BudgetExhausted, match="all 30 units"):
            asking()
    assert experiment.ask_many([]) == []
    assert before == [array.tobytes() for array in experiment._state]


def test_arms_that_may_not_be_chosen_do_not_decide_the_order():
    """A closed arm that never started leaves the order of the others as it is without the arm."""
    contexts = np.random.default_rng(1).normal(size=(40, 3))
    three = eq.Experiment(eq.Problem(["a", "b", "c"], 3, budget=80, moment=np.eye(3)), "trace-gain", seed=2)
    three.close_arm("c")
    two = eq.Experiment(eq.Problem(["a", "b"], 3, budget=80, moment=np.eye(3)), "trace-gain", seed=2)
    for experiment in (three, two):
        for x in contexts[:20]:
            experiment.tell(experiment.ask(x).id, float(x[0] ** 3))
    first, second = three.ask_many(contexts[20:]), two.ask_many(contexts[20:])
    assert [(unit.id, unit.arm) for unit in first] == [(unit.id, unit.arm) for unit in second]


@pytest.mark.parametrize("policy", ["trace-gain", "uniform"])
def test_money_that_runs_out_within_a_batch_leaves_everything_as_it_was(policy):
    costs = {"dear": 10.0}
    experiment = eq.Experiment(
        eq.Problem(["cheap", "dear"], 1, budget=62, moment=np.eye(1), costs=costs), policy, seed=1
    )
    contexts = np.random.default_rng(1).normal(size=(60, 1))
    before = [array.tobytes() for array in experiment._state[:2]], experiment.spent
    assert experiment.remaining >= 30
    with pytest.raises(BudgetExhausted):
        experiment.ask_many(contexts[: experiment.remaining])
    assert ([array.tobytes() for array in experiment._state[:2]], experiment.spent) == before
    assert experiment.asked == 0
    assert len(experiment.ask_many(contexts[:4])) == 4


def test_data_frames_are_batches():
    pandas = pytest.importorskip("pandas")
    contexts = np.random.default_rng(1).normal(size=(6, 5))
    one, other = (eq.Experiment(problem(), "trace-gain", seed=2) for _ in range(2))
    assert one.ask_many(pandas.DataFrame(contexts)) == other.ask_many(contexts)


def expected_error(joint, seed):
    """Mean over the arms, whose noise is 1, after two batches of 50."""
    rng = np.random.default_rng(seed)
    experiment = eq.Experiment(eq.Problem(4, 10, budget=100, moment=np.eye(10)), "trace-gain", seed=2)
    for _ in range(2):
        contexts, noise = rng.normal(size=(50, 10)), rng.normal(size=(50, 4))
        units = experiment.ask_many(contexts) if joint else [experiment.ask(x) for x in contexts]
        for unit, row in zip(units, noise, strict=True):
            experiment.tell(unit.id, row[experiment.problem.index(unit.arm)])
    return experiment._state.arms["trace"].mean()


@pytest.mark.slow
def test_together_is_better_than_one_by_one():
    """400 paired trials: 900 gave 0.037 ± 0.004, so six standard errors are expected and three asked for.

    Fails by chance once in a thousand sets of seeds.
    """
    gaps = [np.log(expected_error(False, seed) / expected_error(True, seed)) for seed in range(400)]
    assert np.mean(gaps) > 3 * np.std(gaps) / np.sqrt(len(gaps))
