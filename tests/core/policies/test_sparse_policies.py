"""Sparse-Trace-UCB and its baselines: what they do, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sparse_feed import DEVIATIONS, DIM, FEATURES, Feed, problem, quiet_estimates

import equipoise as eq
from equipoise.errors import (
    BudgetTooSmall,
    InvalidArgument,
    InvalidPolicy,
)

# Made-up outcomes are bent now and then.
pytestmark = pytest.mark.filterwarnings("ignore::equipoise.errors.FitWarning")

AR1 = 0.7 ** np.abs(np.subtract.outer(np.arange(DIM), np.arange(DIM)))


@pytest.mark.parametrize("late", [0, 7])
@pytest.mark.parametrize("moment", [np.eye(DIM), AR1, None], ids=["white", "correlated", "learned"])
@pytest.mark.parametrize(
    ("sparse", "plain"),
    [
        ({}, eq.TraceUCB()),
        ({"width": "chi-square", "delta": 0.2}, eq.TraceUCB(width="chi-square", delta=0.2)),
        ({"width": "theory", "bound": 2.0}, eq.TraceUCB(width="theory", bound=2.0)),
        ({"look": True}, eq.TraceGain()),
    ],
    ids=str,
)
def test_with_the_support_handed_in_it_is_trace_ucb_on_those_columns(sparse, plain, moment, late):
    feed, columns = Feed(3), list(FEATURES)
    known = eq.Experiment(problem(moment=moment), eq.SparseTraceUCB(support=FEATURES, **sparse), seed=5)
    part = None if moment is None else moment[np.ix_(columns, columns)]
    small = eq.Experiment(eq.Problem(list(DEVIATIONS), 3, budget=240, moment=part), plain, seed=5)
    path, waiting = [], []
    while known.remaining:
        x = feed.contexts[known.asked]
        one, other = known.ask(x), small.ask(x[columns])
        assert one.scores == other.scores
        path.append(one.arm)
        waiting.append(one)
        if len(waiting) > late:
            first = waiting.pop(0)
            known.tell(first.id, feed.outcome(first))
            small.tell(first.id, feed.outcome(first))
    assert len(set(path)) == 3
    for one, other in zip(quiet_estimates(known), small.estimates(), strict=True):
        np.testing.assert_array_equal(one.coef[columns], other.coef)
        np.testing.assert_array_equal(one.intervals[columns], other.intervals)
        assert one.noise_variance == other.noise_variance


def test_the_steps_of_algorithm_2():
    feed = Feed(1)
    experiment = eq.Experiment(problem(), eq.SparseTraceUCB(screen=20, sparsity=3), seed=2)
    path = feed.run(experiment)
    first, start = path[:60], path[60:72]
    assert {arm: first.count(arm) for arm in DEVIATIONS} == dict.fromkeys(DEVIATIONS, 20)
    assert all(len(set(first[t : t + 3])) == 3 for t in range(0, 60, 3))
    assert {arm: start.count(arm) for arm in DEVIATIONS} == dict.fromkeys(DEVIATIONS, 4)
    assert experiment.support == FEATURES
    assert experiment.counts == {arm: path.count(arm) for arm in DEVIATIONS}
    # Trace-UCB then goes by the noise.
    assert path.count("c") > path.count("b") > path.count("a")
    arms = np.array(path)
    for estimate in experiment.estimates(estimator="ridge"):
        rows = np.flatnonzero(arms == estimate.arm)
        rows = rows[rows >= 60]
        X = feed.contexts[rows][:, FEATURES]
        y = X @ feed.coefs[estimate.arm][list(FEATURES)] + feed.shocks[estimate.arm][rows]
        ridge = np.linalg.solve(X.T @ X + np.eye(3) / 240, X.T @ y)
        np.testing.assert_allclose(estimate.coef[list(FEATURES)], ridge, rtol=1e-9)
        assert np.count_nonzero(estimate.coef) == 3
        assert estimate.observed == len(rows)
        outside = np.setdiff1d(np.arange(DIM), FEATURES)
        assert np.all(np.isinf(estimate.intervals[outside]))
        assert np.all(np.isfinite(estimate.intervals[list(FEATURES)]))


def test_reuse_fits_all_outcomes_and_needs_no_second_start():
    feed = Feed(1)
    experiment = eq.Experiment(problem(), eq.SparseTraceUCB(screen=20, shared=True, reuse=True), seed=2)
    path = feed.run(experiment)
    assert experiment.support == FEATURES
    for estimate in experiment.estimates(estimator="ridge"):
        rows = np.flatnonzero(np.array(path) == estimate.arm)
        X = feed.contexts[rows][:, FEATURES]
        y = X @ feed.coefs[estimate.arm][list(FEATURES)] + feed.shocks[estimate.arm][rows]
        ridge = np.linalg.solve(X.T @ X + np.eye(3) / 240, X.T @ y)
        np.testing.assert_allclose(estimate.coef[list(FEATURES)], ridge, rtol=1e-9)
    # Arms differ in noise, so the first units of the second stage are not dealt out evenly.
    assert path[60:80].count("c") > 10


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"screen": 1}, "screen=1 is not a whole number of at least 2"),
        ({"screen": 20.0}, "screen=20.0"),
        ({"sparsity": -1}, "sparsity=-1"),
        ({"sparsity": True}, "sparsity=True"),
        ({"support": (1, 1)}, "lists a feature twice"),
        ({"support": (-1,)}, "support=-1"),
        ({"support": "first"}, "support='first'"),
        ({"support": (1,), "sparsity": 1}, "nothing to choose"),
        ({"support": (1,), "screen": 5}, "nothing to choose"),
        ({"support": (1,), "reuse": True}, "nothing to choose"),
        ({"support": (1,), "criterion": "ebic"}, "nothing to choose"),
        ({"support": (1,), "refresh": 2.0}, "nothing to choose"),
        ({"support": (1,), "shared": True}, "nothing to choose"),
        ({"shared": 1}, "shared=1 is neither true nor false"),
        ({"refresh": 2.0, "reuse": False}, "give reuse=true"),
        ({"support": ()}, "names no feature"),
        ({"criterion": "path"}, "no criterion 'path' without sparsity="),
        ({"criterion": "ebic", "sparsity": 3}, "no criterion 'ebic' with sparsity="),
        ({"reuse": 1}, "reuse=1 is neither true nor false"),
        ({"look": "yes"}, "look='yes' is neither"),
        ({"look": True, "width": 0.5}, "there is no width"),
        ({"refresh": 2.0, "shared": True}, "give reuse=true"),
        ({"refresh": 1.0, "reuse": True}, "refresh=1.0 is not a number above 1"),
        ({"refresh": "2", "reuse": True}, "refresh='2'"),
        ({"width": "wide"}, "unknown width"),
    ],
)
def test_refuses_arguments(arguments, message):
    with pytest.raises(InvalidPolicy) as caught:
        eq.SparseTraceUCB(**arguments)
    assert message in str(caught.value)
    if "width" not in arguments:
        assert caught.value.hint


@pytest.mark.parametrize(
    ("policy", "error", "message"),
    [
        ("sparse-trace-ucb:sparsity=21", InvalidPolicy, "more than the 20 features"),
        ("sparse-trace-ucb:screen=8:sparsity=7", InvalidPolicy, "cannot choose 7 features: that takes 9"),
        (
            "sparse-trace-ucb:screen=81:shared=true",
            BudgetTooSmall,
            "81 units an arm to choose features and 1 to start",
        ),
        ("sparse-trace-ucb:screen=77:sparsity=3", BudgetTooSmall, "that takes 243"),
        ("sparse-trace-ucb:support=20", InvalidPolicy, "names feature 20, and there are 20"),
        ("sparse-trace-ucb:sparsity=79:screen=80", InvalidPolicy, "more than the 20 features"),
        ("sparse-oracle:noise=1,1,1", InvalidPolicy, "must be told the features"),
        ("sparse-oracle:support=1", InvalidPolicy, "must be told the noise"),
        ("static-lasso", InvalidPolicy, "must be told the noise"),
        ("static-lasso:noise=1,0,1", InvalidPolicy, "gets no units"),
    ],
)
def test_refuses_problems(policy, error, message):
    with pytest.raises(error) as caught:
        eq.Experiment(problem(), policy)
    assert message in str(caught.value)
    assert caught.value.hint


def test_a_small_budget_says_what_to_do():
    with pytest.raises(BudgetTooSmall, match="allow_small_budget=True and sparse-trace-ucb"):
        eq.Problem(10, 500, budget=3000)
    experiment = eq.Experiment(eq.Problem(10, 500, budget=3000, allow_small_budget=True), "sparse-trace-ucb")
    assert experiment.remaining == 3000


@pytest.mark.parametrize(
    "policy", ["uniform-lasso", "uniform-lasso:joint=true", "static-lasso:noise=0.09,0.36,1.44"]
)
def test_lasso_baselines_estimate_without_intervals(policy):
    feed = Feed(1)
    experiment = eq.Experiment(problem(), policy, seed=2)
    feed.run(experiment)
    assert experiment.support is None
    for arm in experiment.estimates():
        if arm.count > 30:  # the static allocation gives quiet arms next to nothing
            np.testing.assert_allclose(arm.coef, feed.coefs[arm.arm], atol=0.4)
            assert 0.3 < arm.noise_variance / DEVIATIONS[arm.arm] ** 2 < 2.0
        assert np.all(np.isinf(arm.intervals))
        assert arm.expected_error == np.inf
        known = f"{arm.count} units, {arm.observed} outcomes known"
        assert str(arm).startswith(f"{arm.arm}: {known}, noise variance")
        assert arm.predict(feed.contexts[:3]).shape == (3,)
        with pytest.raises(InvalidArgument, match="no ellipsoid"):
            arm.ellipsoid(deviation=1.0, norm=1.0)


STREAMS = st.sampled_from(["normal", "zero", "constant", "duplicates", "one-hot", "huge", "tiny"])


@settings(max_examples=40, deadline=None)
@given(
    kind=STREAMS,
    flat=st.booleans(),
    dim=st.integers(1, 12),
    arms=st.integers(1, 4),
    spec=st.sampled_from(
        [
            "sparse-trace-ucb",
            "sparse-trace-ucb:screen=4",
            "sparse-trace-ucb:screen=4:shared=true",
            "sparse-trace-ucb:screen=5:reuse=false",
            "sparse-trace-ucb:screen=3:sparsity=1",
            "sparse-trace-ucb:screen=5:reuse=true:look=true:refresh=1.3",
            "uniform-lasso",
        ]
    ),
    learned=st.booleans(),
    seed=st.integers(0, 5),
)
def test_nothing_stops_an_experiment(kind, flat, dim, arms, spec, learned, seed):
    rng = np.random.default_rng(seed)
    units = 12 * arms
    contexts = rng.normal(size=(units, dim))
    contexts = {
        "normal": contexts,
        "zero": 0.0 * contexts,
        "constant": np.ones((units, dim)),
        "duplicates": np.repeat(contexts[:, :1], dim, axis=1),
        "one-hot": np.eye(dim)[rng.integers(0, dim, units)],
        "huge": 1e100 * contexts,
        "tiny": 1e-100 * contexts,
    }[kind]
    moment = None if learned else np.eye(dim)
    experiment = eq.Experiment(
        eq.Problem(arms, dim, budget=units, moment=moment, allow_small_budget=True), spec, seed=seed
    )
    for x in contexts:
        unit = experiment.ask(x)
        fate = rng.random()
        if fate < 0.1:
            experiment.lose(unit.id)
        elif fate < 0.8:
            experiment.tell(unit.id, 1.0 if flat else float(rng.normal()))
    estimates = quiet_estimates(experiment)
    assert experiment.remaining == 0
    assert all(np.all(np.isfinite(arm.coef)) for arm in estimates)
    assert all(arm.coef.shape == (dim,) for arm in estimates)
