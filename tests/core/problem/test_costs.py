"""Numbers of units that are beyond counting are refused, not met later as an overflow."""

from __future__ import annotations

import pytest

import equipoise as eq
from equipoise.core.problem.costs import NO_CAP, most_units
from equipoise.errors import InvalidArgument, InvalidProblem


@pytest.mark.parametrize(
    "limits",
    [
        {"budget": 10**400},
        {"budget": NO_CAP},
        {"budget": 10**400, "costs": {"a": 2.0}},
        {"budget": 1e9, "costs": {"a": 1e-12}},
        {"budget": 1e9, "costs": {"a": 5e-324}},
        {"budget": 1.7e308, "costs": {}},
    ],
)
def test_budgets_beyond_counting_are_refused(limits):
    with pytest.raises(InvalidProblem, match="more than can be counted"):
        eq.Problem(["a", "b"], dim=1, **limits)


@pytest.mark.parametrize("limit", ["floors", "caps"])
def test_limits_beyond_counting_are_refused(limit):
    with pytest.raises(InvalidArgument, match="more than can be counted"):
        eq.Problem(["a", "b"], dim=1, budget=20, **{limit: {"a": 10**400}})


def test_an_arm_that_makes_units_too_cheap_to_count_is_refused():
    problem = eq.Problem(["a"], dim=1, budget=1e9, costs={"a": 1.0})
    with pytest.raises(InvalidProblem, match="more than can be counted"):
        problem.with_arm("b", cost=1e-12)


def test_the_largest_number_of_units_is_exact():
    assert eq.Problem(["a"], dim=1, budget=NO_CAP - 1).units == NO_CAP - 1


def test_a_cap_keeps_a_cheap_arm_countable():
    assert most_units(1e9, [1e-12, 1.0], [10, float("inf")]) == 10 + 1_000_000_000
