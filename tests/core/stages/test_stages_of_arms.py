"""Policies that choose features, where arms have limits, close and join."""

from __future__ import annotations

import numpy as np
import pytest
from inner_state import settle
from sparse_feed import FEATURES, Feed, problem, quiet_estimates

import equipoise as eq
from equipoise.errors import (
    BudgetTooSmall,
    LimitConflict,
)


def test_floors_and_caps_count_both_stages():
    feed = Feed(1)
    limits = {"floors": {"a": 70}, "caps": {"c": 75}}
    experiment = eq.Experiment(problem(**limits), eq.SparseTraceUCB(screen=20, sparsity=3), seed=2)
    feed.run(experiment)
    assert experiment.counts["a"] == 70
    assert experiment.counts["c"] == 75
    assert sum(experiment.counts.values()) == 240


def test_an_arm_whose_cap_is_below_the_screening_is_not_waited_for():
    feed = Feed(1)
    small = problem(caps={"c": 12}, allow_small_budget=True)
    experiment = eq.Experiment(small, eq.SparseTraceUCB(screen=20, sparsity=3), seed=2)
    feed.run(experiment)
    assert experiment.support == FEATURES
    assert experiment.counts["c"] == 12
    assert quiet_estimates(experiment)["c"].expected_error < 2.0
    with pytest.raises(LimitConflict, match="can never be estimated"):
        problem(caps={"c": 12})


@pytest.mark.parametrize("cap", [20, 22])
def test_an_arm_that_ends_with_the_screening_is_fitted_to_it(cap):
    feed = Feed(1)
    small = problem(budget=150, caps={"c": cap}, allow_small_budget=True)
    experiment = eq.Experiment(small, eq.SparseTraceUCB(screen=20, sparsity=3), seed=2)
    feed.run(experiment)
    settle(experiment)
    before = [array.tobytes() for array in experiment._state]
    arm = experiment.estimates(estimator="ridge")["c"]
    assert before == [array.tobytes() for array in experiment._state]
    assert arm.observed == cap
    np.testing.assert_allclose(arm.coef, feed.coefs["c"], atol=1.0)
    assert 0.1 < arm.expected_error < 2.0
    assert experiment.estimates()["a"].observed < experiment.counts["a"]


def test_models_are_there_right_after_the_choice():
    feed = Feed(1)
    experiment = eq.Experiment(problem(), eq.SparseTraceUCB(screen=20, sparsity=3), seed=2)
    feed.run(experiment, units=61)
    assert experiment.support == FEATURES
    assert experiment.estimates().objective < 1.0
    experiment.close_arm("b")
    feed.run(experiment)
    closed = experiment.estimates()["b"]
    assert closed.observed == experiment.counts["b"] >= 20
    assert closed.expected_error < 1.0


def test_a_small_cap_is_fine_for_an_arm_that_joins():
    experiment = eq.Experiment(
        eq.Problem(3, 500, budget=300, allow_small_budget=True), eq.SparseTraceUCB(screen=20, sparsity=3)
    )
    experiment.add_arm("new", cap=100)
    assert experiment.problem.arms[-1] == "new"
    with pytest.raises(LimitConflict, match="can never be estimated: that takes 24 units"):
        experiment.add_arm("newer", cap=23)


@pytest.mark.parametrize("when", [15, 150])
def test_arms_can_be_closed_and_join_in_either_stage(when):
    feed = Feed(1)
    feed.coefs["late"] = feed.coefs["a"]
    feed.shocks["late"] = feed.shocks["b"]
    experiment = eq.Experiment(problem(), eq.SparseTraceUCB(screen=15, sparsity=3), seed=2)
    feed.run(experiment, units=when)
    experiment.close_arm("b")
    experiment.add_arm("late")
    path = feed.run(experiment)
    assert "b" not in path
    assert experiment.support == FEATURES
    # In the first stage the new arm is screened like the others, afterwards it starts with s + 1 units.
    assert path.count("late") >= (15 if when < 45 else 4)
    assert quiet_estimates(experiment)["late"].coef[3] == pytest.approx(feed.coefs["a"][3], abs=0.5)
    with pytest.raises(BudgetTooSmall):
        eq.Experiment(problem(), eq.SparseTraceUCB(screen=75, sparsity=3)).add_arm("late")


@pytest.mark.parametrize(("more", "screened"), [(":shared=true", 119), ("", 120)])
def test_an_arm_that_has_just_joined_does_not_hinder_a_new_choice(more, screened):
    feed = Feed(1)
    feed.coefs["late"], feed.shocks["late"] = feed.coefs["a"], feed.shocks["b"]
    experiment = eq.Experiment(problem(), f"sparse-trace-ucb:screen=20:reuse=true:refresh=2{more}", seed=2)
    feed.run(experiment, units=119)
    experiment.add_arm("late")
    unit = experiment.ask(feed.contexts[119])
    assert unit.arm == "late"
    experiment.tell(unit.id, feed.outcome(unit))
    experiment.ask(feed.contexts[120])  # 120 outcomes are twice the 60 that chose: features are chosen again
    assert experiment._stage.screened == screened
    assert experiment.support == FEATURES
    assert experiment._state.arms["observed"].tolist()[-1] == 1


def test_what_is_left_counts_units_that_were_set_aside():
    feed = Feed(1)
    limits = {"costs": {"a": 5.0}, "floors": {"a": 20}}
    experiment = eq.Experiment(
        problem(budget=300, **limits), eq.SparseTraceUCB(screen=10, sparsity=3), seed=2
    )
    feed.run(experiment, units=33)
    assert experiment.support == FEATURES
    owed = 20 - experiment.counts["a"]
    assert 0 < owed <= 10
    assert experiment.remaining == owed + int(300 - experiment.spent - 5 * owed)


def test_an_arm_that_joins_may_use_what_floors_no_longer_need():
    feed = Feed(1)
    experiment = eq.Experiment(problem(floors={"a": 60}), eq.SparseTraceUCB(screen=20, sparsity=3), seed=2)
    feed.run(experiment, units=72)
    assert experiment.counts == {"a": 24, "b": 24, "c": 24}
    experiment.add_arm("late", floor=132)  # 168 units are left, and 36 of them are owed to the first arm
    assert experiment.problem.arms[-1] == "late"


def test_the_reserve_of_the_second_stage_grows_with_the_arms():
    experiment = eq.Experiment(problem(), eq.SparseTraceUCB(screen=20, sparsity=3), seed=2)
    assert experiment._stage.reserve == 3 * 4
    experiment.add_arm("late", cost=2.5)
    assert experiment._stage.reserve == pytest.approx(5.5 * 4)
    assert experiment._stage.needed.tolist() == [20] * 4
