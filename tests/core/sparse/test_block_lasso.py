"""The solver reaches the optimum: optimality conditions, the duality gap, and celer's solutions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.core.sparse.block_lasso import solve
from equipoise.core.sparse.path import weighted_task
from equipoise.core.sparse.standardised import standardise
from equipoise.core.sparse.task import largest_penalty


def draw(seed, counts, dim, correlation=0.0, mean=0.0):
    """Rows in a random order; two features matter."""
    rng = np.random.default_rng(seed)
    arms = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    contexts = rng.normal(size=(len(arms), dim)) + correlation * rng.normal(size=(len(arms), 1)) + mean
    contexts *= rng.uniform(0.1, 10.0, size=dim)
    outcomes = contexts[:, 0] * (1.0 + arms) - contexts[:, -1] + rng.normal(size=len(arms))
    return contexts, outcomes, arms


def task_for(contexts, outcomes, arms, count):
    data = standardise(contexts, outcomes, arms, count)
    return data, weighted_task(data, np.ones(len(data.counts)))


def objective(data, coefs, penalty):
    """Written out arm by arm."""
    total = penalty * np.linalg.norm(coefs, axis=1).sum()
    for i, count in enumerate(data.counts):
        own = slice(data.starts[i], data.starts[i] + count)
        residuals = data.outcomes[own] - data.design[:, own].T @ coefs[:, i]
        total += 0.5 * residuals @ residuals
    return total


def block_diagonal(data):
    arms = len(data.counts)
    design = np.zeros((data.counts.sum(), arms * len(data.design)), order="F")
    target = np.zeros(len(design))
    first = 0
    for i, count in enumerate(data.counts):
        own = slice(data.starts[i], data.starts[i] + count)
        design[first : first + count, i::arms] = data.design[:, own].T
        target[first : first + count] = data.outcomes[own]
        first += count
    return design, target


@pytest.mark.parametrize(
    ("counts", "dim"), [([30] * 4, 60), ([40, 13, 7, 22], 50), ([35], 80), ([5, 0, 60], 20), ([9, 9], 3)]
)
def test_celer_finds_the_same(counts, dim):
    celer = pytest.importorskip("celer")
    data, task = task_for(*draw(1, counts, dim, correlation=0.5), len(counts))
    design, target = block_diagonal(data)
    largest = largest_penalty(task)
    for share in (0.7, 0.3, 0.1, 0.03):
        gap = solve(task, share * largest, 1e-13)
        assert gap <= 1e-13
        alpha = share * largest / len(target)
        peer = celer.GroupLasso(groups=len(counts), alpha=alpha, fit_intercept=False, tol=1e-12, max_iter=500)
        coefs = peer.fit(design, target).coef_.reshape(dim, len(counts))
        scale = np.abs(coefs).max()
        np.testing.assert_allclose(task.coefs, coefs, atol=1e-6 * scale)
        ours, theirs = (objective(data, found, share * largest) for found in (task.coefs, coefs))
        assert ours <= theirs * (1.0 + 1e-9)
        np.testing.assert_array_equal(
            np.flatnonzero(task.norms > 1e-6 * scale), np.flatnonzero(np.abs(coefs).max(1) > 1e-6 * scale)
        )


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    counts=st.lists(st.integers(0, 25), min_size=1, max_size=5).filter(lambda counts: sum(counts) > 0),
    dim=st.integers(1, 40),
    share=st.floats(0.02, 1.1),
    correlation=st.sampled_from([0.0, 1.0, 3.0]),
)
def test_optimality_conditions(seed, counts, dim, share, correlation):
    data, task = task_for(*draw(seed, counts, dim, correlation), len(counts))
    penalty = share * largest_penalty(task)
    gap = solve(task, penalty, 1e-12)
    assert gap <= 1e-12
    slopes = np.zeros((dim, len(counts)))
    for i in range(len(counts)):
        own = slice(data.starts[i], data.starts[i + 1])
        residuals = data.outcomes[own] - data.design[:, own].T @ task.coefs[:, i]
        slopes[:, i] = data.design[:, own] @ residuals
        np.testing.assert_allclose(task.residuals[own], residuals, atol=1e-9 * np.abs(data.outcomes).max())
    norms = np.linalg.norm(task.coefs, axis=1)
    np.testing.assert_allclose(task.norms, norms, rtol=1e-9, atol=1e-300)
    # A gap ε moves slopes by at most √(2ε), here of ‖y‖.
    slack = 3e-6 * np.linalg.norm(data.outcomes)
    assert np.linalg.norm(slopes, axis=1).max() <= penalty + slack
    # On features of some size the slope is λ times the direction of the coefficients.
    large = norms > 1e-3 * norms.max(initial=1e-300)
    directions = task.coefs[large] / norms[large, None]
    np.testing.assert_allclose(slopes[large], penalty * directions, atol=slack)


def test_nothing_is_active_at_the_largest_penalty_and_something_just_below():
    _, task = task_for(*draw(3, [20, 30], 50), 2)
    largest = largest_penalty(task)
    solve(task, largest * (1.0 + 1e-12), 1e-12)
    assert not task.coefs.any()
    solve(task, largest * 0.999, 1e-12)
    assert np.count_nonzero(task.norms) == 1


def test_warm_and_cold_starts_agree():
    rows = draw(4, [20, 25, 30], 100)
    data, warm = task_for(*rows, 3)
    largest = largest_penalty(warm)
    for share in (0.9, 0.5, 0.05, 0.2):
        solve(warm, share * largest, 1e-13)
    cold = weighted_task(data, np.ones(len(data.counts)))
    solve(cold, 0.2 * largest, 1e-13)
    np.testing.assert_allclose(warm.coefs, cold.coefs, atol=1e-6 * np.abs(cold.coefs).max())


def test_features_that_nearly_coincide_still_converge():
    """Without extrapolation the gap is 10⁻⁴ when the epochs run out."""
    _, task = task_for(*draw(5, [40] * 3, 30, mean=10.0), 3)
    assert solve(task, 1e-4 * largest_penalty(task), 1e-11) <= 1e-11


def test_features_that_the_strong_rule_held_back_are_let_in():
    data, task = task_for(*draw(7, [20, 25], 60), 2)
    task.slopes[:] = 0.0
    assert solve(task, 0.1 * largest_penalty(task), 1e-12) <= 1e-12
    other = weighted_task(data, np.ones(len(data.counts)))
    solve(other, 0.1 * largest_penalty(task), 1e-12)
    np.testing.assert_array_equal(task.norms > 1e-6, other.norms > 1e-6)


def test_the_gap_is_honest_when_descent_is_cut_short():
    data, task = task_for(*draw(6, [8] * 2, 200, mean=100.0), 2)
    gap = solve(task, 1e-6 * largest_penalty(task), 1e-15)
    reached = objective(data, task.coefs, 1e-6 * largest_penalty(task))
    for _ in range(30):
        solve(task, 1e-6 * largest_penalty(task), 1e-15)
    best = objective(data, task.coefs, 1e-6 * largest_penalty(task))
    assert reached - best <= (gap + 1e-14) * task.power[0]


@pytest.mark.parametrize("outcomes", [0.0, 1.0])
def test_zero_columns_never_enter(outcomes):
    arms = np.arange(12) % 3
    _, task = task_for(np.zeros((12, 4)), np.full(12, outcomes), arms, 3)
    assert largest_penalty(task) == 0.0
    assert solve(task, 0.0, 1e-6) >= 0.0
    assert not task.coefs.any()
    assert np.isfinite(task.residuals).all()
