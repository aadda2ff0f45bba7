"""Problem: what is accepted, what is refused, and how it compares."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import equipoise as eq
from equipoise.errors import (
    BudgetTooSmall,
    DuplicateArm,
    EquipoiseError,
    InvalidArgument,
    InvalidMoment,
    InvalidProblem,
    UnknownArm,
)

GOOD = {"arms": ["a", "b"], "dim": 2, "budget": 10}


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"arms": ["a", "a"]}, DuplicateArm, "used twice: 'a'"),
        ({"arms": []}, InvalidProblem, "no arms"),
        ({"arms": "ab"}, InvalidProblem, "one string"),
        ({"arms": ["a", ""]}, InvalidProblem, "not a non-empty string"),
        ({"arms": ["a", 3]}, InvalidProblem, "not a non-empty string"),
        ({"arms": 0}, InvalidProblem, "positive whole number"),
        ({"arms": 2.5}, InvalidProblem, "positive whole number"),
        ({"arms": True}, InvalidProblem, "positive whole number"),
        ({"dim": 0}, InvalidProblem, "dim=0"),
        ({"dim": "2"}, InvalidProblem, "dim='2'"),
        ({"budget": -5}, InvalidProblem, "budget=-5"),
        ({"budget": 5}, BudgetTooSmall, "budget=6 or more"),
        ({"objective": "min"}, InvalidArgument, "'max', 'mean'"),
        ({"objective": 0.5}, InvalidArgument, "at least 1"),
        ({"objective": None}, InvalidArgument, "at least 1"),
        ({"weights": {"c": 1.0}}, UnknownArm, "unknown arm 'c'"),
        ({"weights": [1.0, 2.0]}, InvalidArgument, "does not name arms"),
        ({"weights": {"a": 0.0}}, InvalidArgument, "weight 0.0"),
        ({"weights": {"a": np.nan}}, InvalidArgument, "weight nan"),
        ({"moment": [[1.0]]}, InvalidMoment, r"shape \(1, 1\)"),
        ({"moment": [[1.0, 0.0], [0.0, np.nan]]}, InvalidMoment, "finite"),
        ({"moment": [[1.0, 0.5], [0.2, 1.0]]}, InvalidMoment, "not symmetric"),
        ({"moment": [[1.0, 2.0], [2.0, 1.0]]}, InvalidMoment, "not positive definite"),
        ({"moment": [[1.0, 1e300], [1e300, 1e-300]]}, InvalidMoment, "not positive definite"),
        ({"moment": [[1.0, 1.0], [1.0, 1.0]]}, InvalidMoment, "never varies"),
        ({"moment": [[1.0, 0.0], [0.0, 0.0]]}, InvalidMoment, "diagonal entry"),
        ({"moment": "eye"}, InvalidMoment, "holds text"),
    ],
)
def test_refuses(change, error, message):
    with pytest.raises(error, match=message) as caught:
        eq.Problem(**{**GOOD, **change})
    assert isinstance(caught.value, EquipoiseError)
    assert pickle.loads(pickle.dumps(caught.value)).message == caught.value.message


def test_smallest_budget_is_accepted():
    assert eq.Problem(["a", "b"], 2, budget=6).budget == 6


def test_equality_and_copies():
    first = eq.Problem(["a", "b"], 2, budget=10, moment=[[2.0, 0.1], [0.1, 1.0]], weights={"b": 2})
    for same in (copy.deepcopy(first), pickle.loads(pickle.dumps(first))):
        assert same == first
        assert hash(same) == hash(first)
    assert first != eq.Problem(["b", "a"], 2, budget=10, moment=[[2.0, 0.1], [0.1, 1.0]], weights={"b": 2})
    assert first != eq.Problem(["a", "b"], 2, budget=10, weights={"b": 2})
    assert first != "problem"


def test_cannot_be_changed():
    problem = eq.Problem(2, 2, budget=10, moment=np.eye(2))
    with pytest.raises(ValueError, match="read-only"):
        problem.moment[0, 0] = 5.0
    with pytest.raises(AttributeError):
        problem.budget = 3
    assert problem.arms == ("arm-1", "arm-2")
    assert problem.weights.tolist() == [1.0, 1.0]


def test_moment_is_copied():
    moment = np.eye(2)
    problem = eq.Problem(2, 2, budget=10, moment=moment)
    moment[0, 0] = 7.0
    assert problem.moment[0, 0] == 1.0


def test_repr():
    assert repr(eq.Problem(["x"], 1, budget=9, weights={"x": 2})) == (
        "Problem(arms=['x'], dim=1, budget=9, moment=learned, objective='max', weights={'x': 2.0})"
    )


def test_moment_may_have_any_scale():
    scales = np.diag(np.logspace(-100, 100, 5))
    problem = eq.Problem(2, 5, budget=30, moment=scales)
    np.testing.assert_array_equal(problem.moment, scales)
    np.testing.assert_allclose(problem.whitener(), np.sqrt(scales), rtol=1e-15)


@given(hnp.arrays(float, (3, 3), elements=st.floats(allow_nan=True, allow_infinity=True, width=64)))
def test_any_matrix_is_accepted_or_refused_with_a_reason(matrix):
    _check_whitener(matrix)


sides = st.floats(1e-150, 1e150)


@given(hnp.arrays(float, (5, 3), elements=st.floats(-9, 9)), st.tuples(sides, sides, sides))
def test_products_of_any_matrix_are_accepted_or_refused_with_a_reason(root, scales):
    """Symmetric and positive up to rounding: most are accepted, at any scale."""
    matrix = (root.T @ root) * np.array(scales) * np.array(scales)[:, None]
    _check_whitener((matrix + matrix.T) / 2)


def test_ordinary_products_are_accepted():
    rng = np.random.default_rng(1)
    for _ in range(50):
        root = rng.normal(size=(5, 3))
        assert _check_whitener(root.T @ root)


def _check_whitener(matrix):
    """Whether a matrix was accepted."""
    try:
        problem = eq.Problem(2, 3, budget=20, moment=matrix)
    except InvalidMoment as error:
        assert error.message
        return False
    lower = problem.whitener()
    if lower is None:
        np.testing.assert_array_equal(matrix, np.eye(3))
    else:
        scale = np.sqrt(np.diag(matrix))
        found = (lower / scale[:, None]) @ (lower / scale[:, None]).T
        np.testing.assert_allclose(found, matrix / scale / scale[:, None], atol=1e-9)
    return True


def test_half_a_character_is_refused():
    with pytest.raises(InvalidProblem, match=r"'a\\ud800' holds half a character"):
        eq.Problem(["a\ud800", "b"], 2, budget=20)
    with pytest.raises(InvalidProblem, match="half a character"):
        eq.Problem(["a", "b"], 2, budget=20).with_arm("\udfff")
    assert eq.Problem(["😀", "é"], 2, budget=20).arms == ("😀", "é")
