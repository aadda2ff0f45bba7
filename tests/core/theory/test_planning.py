"""Planning: budgets by closed form."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import equipoise as eq
from equipoise import theory
from equipoise.errors import InvalidArgument

UNEQUAL = [0.01, 0.02, 0.75, 1, 2, 2, 3]


def test_closed_form_for_the_worst_arm():
    plan = eq.plan(noise=UNEQUAL, dim=10, target=0.5)
    # Uniform: d·σ²_max/(k−d−1) ≤ target for every arm.
    assert plan["uniform"].budget == 7 * (math.ceil(10 * 3 / 0.5) + 11)
    # Optimal: what each arm needs, rounded up.
    assert plan["oracle"].counts == tuple(math.ceil(10 * s / 0.5) + 11 for s in UNEQUAL)
    assert plan.saving == plan["uniform"].budget - plan["oracle"].budget


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    noise=st.lists(st.floats(1e-2, 1e2), min_size=1, max_size=5),
    dim=st.integers(1, 8),
    target=st.floats(1e-2, 10.0),
    objective=st.sampled_from(["max", "mean", 2.0]),
)
def test_budgets_reach_the_target_and_no_smaller_one_does(noise, dim, target, objective):
    plan = eq.plan(noise=noise, dim=dim, target=target, objective=objective)
    for planned in plan.budgets:
        loss = theory.static_loss(noise, planned.counts, dim, objective)
        assert loss <= target
        assert planned.expected_error == loss
        assert sum(planned.counts) == planned.budget
        if planned.budget > len(noise) * (dim + 1):
            fewer = planned.budget - 1
            counts = (
                theory.uniform_allocation(len(noise), fewer)
                if planned.policy == "uniform"
                else theory.best_allocation(noise=noise, dim=dim, budget=fewer, objective=objective)
            )
            assert theory.static_loss(noise, counts, dim, objective) > target
    assert plan.saving >= 0


def test_guesses_give_a_range():
    plan = eq.plan(noise=[1.0, (0.5, 8.0)], dim=4, target=0.2)
    assert plan.noise == pytest.approx((1.0, 2.0))
    low, high = plan["oracle"].budget_range
    assert low < plan["oracle"].budget < high
    assert low == eq.plan(noise=[1.0, 0.5], dim=4, target=0.2)["oracle"].budget
    assert high == eq.plan(noise=[1.0, 8.0], dim=4, target=0.2)["oracle"].budget
    assert "if noise is low – high" in str(plan)
    assert "low – high" not in str(eq.plan(noise=[1.0, 2.0], dim=4, target=0.2))
    assert "<table>" in plan._repr_html_()


def test_weights_and_zero_noise():
    plain, weighted = (eq.plan(noise=[1.0, 0.0], dim=2, target=0.1, weights=w) for w in (1.0, [4.0, 1.0]))
    assert weighted["oracle"].budget > plain["oracle"].budget
    assert plain["oracle"].counts[1] == 3


def test_record():
    record = eq.plan(noise=np.array([1.0, 2.0]), dim=2, target=0.5).record()
    assert set(record["policies"]) == {"oracle", "uniform"}
    assert record["noise"] == [1.0, 2.0]
    assert record["noise_range"] == [[1.0, 1.0], [2.0, 2.0]]
    assert record["weights"] == [1.0, 1.0]
    assert eq.plan(noise=[(1e200, 1e300)], dim=2, target=1e298).noise == pytest.approx((1e250,))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"noise": [-1.0]}, "not a list of variances"),
        ({"noise": [(2.0, 1.0)]}, "low end is above"),
        ({"noise": []}, "not a list of variances"),
        ({"noise": [(0.0, 4.0)]}, "starts at 0"),
        ({"weights": [1.0, 2.0, 3.0]}, "3 weights for 2 arms"),
        ({"dim": 0}, "dim=0"),
        ({"target": 0.0}, "target=0.0"),
        ({"target": math.nan}, "target=nan"),
        ({"target": 1e-15}, "more than 10¹²"),
        ({"objective": "min"}, "objective"),
        ({"weights": [0.0, 1.0]}, "positive"),
        ({"target": None}, "neither a target nor a budget .*budget=300"),
        ({"budget": 100}, "both a target and a budget .*target=0.1"),
        ({"target": None, "budget": 100.5}, "budget=100.5 is not a positive whole number"),
        ({"target": None, "budget": 0}, "budget=0"),
        ({"target": None, "budget": 7}, "below m\\(d\\+1\\) = 8"),
        ({"noise": None}, "does not say noise and dim"),
        ({"lost": 1.0}, "lost=1.0 is not a share"),
        ({"lost": [0.1, 0.2, 0.3]}, "3 share"),
    ],
)
def test_refuses(change, message):
    with pytest.raises(InvalidArgument, match=message):
        eq.plan(**{"noise": [1.0, 2.0], "dim": 3, "target": 0.5, **change})


def test_unplanned_policy():
    with pytest.raises(InvalidArgument, match="planned: oracle, uniform"):
        eq.plan(noise=[1.0], dim=1, target=1.0)["trace-ucb"]


@pytest.mark.parametrize("objective", ["max", "mean", 2.0])
def test_money_has_no_unit(objective):
    terms = {"noise": [0.5, 1.0, 4.0], "dim": 4, "target": 0.2, "objective": objective}
    one = eq.plan(**terms, costs=[1.0, 2.0, 0.5])
    other = eq.plan(**terms, costs=[8.0, 16.0, 4.0])
    for policy in ("oracle", "uniform"):
        assert other[policy].budget == 8 * one[policy].budget
        assert other[policy].counts == one[policy].counts
        spent = float(np.dot(one[policy].counts, one.costs))
        assert one[policy].budget - 2.0 < spent <= one[policy].budget
        assert one[policy].expected_error <= 0.2
    assert one["oracle"].budget < one["uniform"].budget
    assert str(one).startswith("Budget for an expected error of 0.2")
    assert one.record()["costs"] == [1.0, 2.0, 0.5]


def test_costs_of_one_plan_units():
    terms = {"noise": [0.5, 1.0, (1.0, 4.0)], "dim": 5, "target": 0.1}
    assert eq.plan(**terms, costs=[1.0, 1.0, 1.0]) == eq.plan(**terms)
    assert isinstance(eq.plan(**terms)["oracle"].budget, int)
    with pytest.raises(InvalidArgument, match="2 costs for 3 arms"):
        eq.plan(**terms, costs=[1.0, 2.0])
    with pytest.raises(InvalidArgument, match="not positive"):
        eq.plan(**terms, costs=0.0)


# The error of a budget


@pytest.mark.parametrize("objective", ["max", "mean", 2.0])
def test_the_error_of_a_budget_is_what_its_target_asked_for(objective):
    terms = {"noise": [0.5, 1.0, (1.0, 4.0)], "dim": 5, "objective": objective}
    asked = eq.plan(**terms, target=0.1)
    given_back = eq.plan(**terms, budget=asked["oracle"].budget)
    assert given_back["oracle"].expected_error == asked["oracle"].expected_error <= 0.1
    assert given_back["oracle"].counts == asked["oracle"].counts
    # The uniform allocation needs as much as before for the error that the optimal one has.
    assert given_back.saving == pytest.approx(asked.saving, abs=3)
    low, high = given_back["oracle"].error_range
    assert low < given_back["oracle"].expected_error < high
    assert (
        high
        == eq.plan(noise=[0.5, 1.0, 4.0], dim=5, objective=objective, budget=asked["oracle"].budget)[
            "oracle"
        ].expected_error
    )
    assert given_back.target is None
    assert "if noise is low – high" in str(given_back)
    assert "To err as little" in str(given_back)


def test_a_budget_that_just_starts_every_arm_promises_nothing():
    plan = eq.plan(noise=[1.0, 2.0], dim=3, budget=8)
    assert math.isnan(plan.saving)
    assert plan.record()["saving"] is None
    assert "no error can be promised" in str(plan)


def test_money_buys_an_error():
    terms = {"noise": [0.5, 1.0, 4.0], "dim": 4, "costs": [1.0, 2.0, 0.5], "objective": "mean"}
    plan = eq.plan(**terms, budget=200.5)
    assert np.dot(plan["oracle"].counts, [1.0, 2.0, 0.5]) <= 200.5
    assert plan["oracle"].expected_error < plan["uniform"].expected_error
    assert eq.plan(**terms, target=plan["oracle"].expected_error)["oracle"].budget <= 200.5


def test_lost_outcomes_are_paid_for():
    terms = {"noise": [1.0, 1.0, 3.0], "dim": 4}
    plain, lossy = eq.plan(**terms, target=0.2), eq.plan(**terms, target=0.2, lost=0.2)
    for policy in ("oracle", "uniform"):
        # Four of five come: a quarter more units.
        assert lossy[policy].budget == pytest.approx(1.25 * plain[policy].budget, abs=4)
        assert sum(lossy[policy].counts) == lossy[policy].budget
    by_arm = eq.plan(**terms, budget=300, lost=[0.0, 0.5, 0.0])
    one, other, _ = by_arm["oracle"].counts
    assert other == pytest.approx(2 * one, abs=3)
    errors = theory.static_losses(terms["noise"], np.array(by_arm["oracle"].counts) * by_arm.outcomes, dim=4)
    assert errors.max() == by_arm["oracle"].expected_error
    assert errors.min() > 0.9 * errors.max()
    assert "50 % of arm-2" in str(by_arm)
