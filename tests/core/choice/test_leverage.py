"""Looking at the context: leverages, provisional designs, and what Trace-Gain does with them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inner_state import settle

import equipoise as eq
from equipoise.core.choice.highest_score import choose

# Made-up outcomes are bent now and then.
pytestmark = pytest.mark.filterwarnings("ignore::equipoise.errors.FitWarning")

COVARIANCE = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.3], [0.0, 0.3, 0.5]])


def started(moment, units, seed=1, policy="trace-gain", arms=3, told=True):
    """An experiment some units old; every third outcome stays out unless all are told."""
    rng = np.random.default_rng(seed)
    experiment = eq.Experiment(eq.Problem(arms, 3, budget=200, moment=moment), policy, seed=seed)
    for _ in range(units):
        unit = experiment.ask(rng.normal(size=3) @ np.linalg.cholesky(COVARIANCE).T)
        if told or unit.id % 3:
            experiment.tell(unit.id, rng.normal())
    return experiment


def looked_at(experiment, x):
    """Arms after looking at x, which is not assigned."""
    settle(experiment)
    experiment._state.contexts[experiment.asked] = x
    stage = experiment._stage
    choose(stage.state, stage.score, stage.settings, np.zeros(len(experiment.problem.arms)))
    return experiment._state.arms


def expected(experiment, x):
    """Trace and leverage of every arm, by dense algebra on the rows that count."""
    state, problem = experiment._state, experiment.problem
    contexts, rows = state.contexts[: experiment.asked], state.rows[: experiment.asked]
    kept = contexts[rows["status"] != 3]
    seen = kept.T @ kept
    moment = seen / max(len(kept), 1) if problem.moment is None else problem.moment
    found = []
    for i in range(len(problem.arms)):
        mine = contexts[(rows["arm"] == i) & (rows["status"] < 2)]
        gram = mine.T @ mine
        if not state.arms["design_ready"][i]:
            share = seen / (2 * len(problem.arms))
            gram = gram + (share if problem.moment is None else problem.moment * (problem.dim + 1) / 2)
        inverse = np.linalg.inv(gram)
        found.append((np.trace(moment @ inverse), x @ inverse @ x))
    return np.array(found)


@pytest.mark.parametrize("moment", [COVARIANCE, np.eye(3), None], ids=["given", "white", "learned"])
@pytest.mark.parametrize("units", [6, 11, 12, 40])
@pytest.mark.parametrize("told", [True, False], ids=["told", "pending"])
def test_leverage_is_that_of_the_design(moment, units, told):
    experiment = started(moment, units, told=told)
    x = np.array([0.3, -1.2, 0.7])
    arms = looked_at(experiment, x)
    np.testing.assert_allclose(np.c_[arms["trace"], arms["leverage"]], expected(experiment, x), rtol=1e-9)


@pytest.mark.parametrize("moment", [COVARIANCE, None], ids=["given", "learned"])
def test_provisional_designs_forget_lost_and_withdrawn_units(moment):
    experiment = started(moment, 8, told=False)
    pending = experiment.pending
    experiment.lose(pending[0])
    experiment.withdraw(1)
    x = np.array([0.3, -1.2, 0.7])
    arms = looked_at(experiment, x)
    np.testing.assert_allclose(np.c_[arms["trace"], arms["leverage"]], expected(experiment, x), rtol=1e-9)


@pytest.mark.parametrize("moment", [COVARIANCE, None], ids=["given", "learned"])
def test_the_start_gives_every_arm_its_units(moment):
    experiment = started(moment, 3 * 4)
    assert set(experiment.counts.values()) == {4}
    assert np.all(np.isfinite([arm.noise_variance for arm in experiment.estimates()]))


def test_arms_that_are_not_starting_wait():
    experiment = started(np.eye(3), 11)
    scores = experiment.ask([1.0, 0.0, 0.0]).scores
    assert sorted(scores.values())[:2] == [-np.inf, -np.inf]


def test_scores_are_those_of_the_page():
    """u·xᵀS⁻¹x of two arms, by dense algebra."""
    experiment = eq.Experiment(eq.Problem(["a", "b"], 2, budget=100, moment=np.eye(2)), "trace-gain", seed=1)
    rng = np.random.default_rng(3)
    for _ in range(40):
        unit = experiment.ask(rng.normal(size=2))
        experiment.tell(unit.id, rng.normal())
    x = np.array([1.0, -0.5])
    (_, leverage_a), (_, leverage_b) = expected(experiment, x)
    ratio = leverage_a / leverage_b
    scores = experiment.ask(x).scores
    assert scores["a"] / scores["b"] == pytest.approx(ratio * noise_ratio(experiment), rel=1e-9)


def noise_ratio(experiment):
    """u of arm a over u of arm b, by the formula of the page."""
    trial = experiment._state.trial[0]
    u = []
    for arm in experiment._state.arms:
        f = arm["dof"] + trial["pooled_dof"]
        pooled = (arm["dof"] * arm["noise_variance"] + trial["pooled_dof"] * trial["pooled_variance"]) / f
        u.append(pooled * (1 + 3.0 / f + (3.0 / f) ** 2))
    return u[0] / u[1]


@pytest.mark.parametrize("moment", [np.eye(3), None], ids=["given", "learned"])
def test_contexts_that_never_span_the_space(moment):
    """Two features that are always equal: nothing is invertible, and units are still shared out."""
    rng = np.random.default_rng(5)
    experiment = eq.Experiment(eq.Problem(3, 3, budget=90, moment=moment), "trace-gain", seed=1)
    for _ in range(90):
        x = rng.normal(size=3)
        x[2] = x[1]
        unit = experiment.ask(x)
        assert not np.isnan(list(unit.scores.values())).any()
        experiment.tell(unit.id, rng.normal())
    assert min(experiment.counts.values()) >= 20


def test_a_rare_category_does_not_hold_up_the_others():
    """One-hot contexts whose last category is rare: arms without it are not forced for ever."""
    rng = np.random.default_rng(8)
    experiment = eq.Experiment(
        eq.Problem(3, 4, budget=400, moment=np.diag([0.4, 0.3, 0.28, 0.02])), "trace-gain", seed=1
    )
    deviations = dict(zip(experiment.problem.arms, [0.2, 1.0, 2.0], strict=True))
    for _ in range(400):
        unit = experiment.ask(np.eye(4)[rng.choice(4, p=[0.4, 0.3, 0.28, 0.02])])
        experiment.tell(unit.id, deviations[unit.arm] * rng.normal())
    seen = {arm: int(experiment.data(arm)[0][:, 3].sum()) for arm in experiment.problem.arms}
    assert min(seen.values()) >= 1
    assert experiment.counts["arm-3"] > 2 * experiment.counts["arm-1"]


@given(st.integers(1, 4), st.integers(1, 5), st.integers(0, 2**31), st.booleans())
@settings(max_examples=30, deadline=None)
def test_zero_and_repeated_contexts_never_break_a_choice(arms, dim, seed, learned):
    rng = np.random.default_rng(seed)
    budget = arms * (dim + 1) + 12
    problem = eq.Problem(arms, dim, budget=budget, moment=None if learned else np.eye(dim))
    experiment = eq.Experiment(problem, "trace-gain", seed=seed)
    pool = np.vstack([np.zeros(dim), np.eye(dim), 1e6 * rng.normal(size=(2, dim))])
    for _ in range(budget):
        unit = experiment.ask(pool[rng.integers(len(pool))])
        assert not np.isnan(list(unit.scores.values())).any()
        if rng.random() < 0.8:
            experiment.tell(unit.id, 0.0 if rng.random() < 0.3 else rng.normal())
    assert sum(experiment.counts.values()) == budget


@given(st.integers(0, 2**31), st.floats(1e-3, 1e3), st.sampled_from([COVARIANCE, None]))
@settings(max_examples=20, deadline=None)
def test_the_length_of_a_context_decides_nothing(seed, factor, moment):
    x = np.random.default_rng(seed).normal(size=3)
    one, other = (started(moment, 30, seed=seed % 7, told=False) for _ in range(2))
    assert one.ask(x).arm == other.ask(factor * x).arm


def test_quiet_arms_get_contexts_like_the_populations():
    """Mean xᵀΣ⁻¹x of every arm's contexts is d; a rule that sorts by length leaves 0.8·d to a quiet arm.

    48 trials give it a standard error below 0.01·d: fewer than one seed in a million fails.
    """
    dim, budget, deviations = 6, 400, dict(zip("abcd", [0.1, 0.3, 1.0, 1.7], strict=True))
    lengths = {arm: [] for arm in deviations}
    rng = np.random.default_rng(11)
    for trial in range(48):
        problem = eq.Problem(list(deviations), dim, budget=budget, moment=np.eye(dim))
        experiment = eq.Experiment(problem, "trace-gain", seed=trial)
        for x in np.c_[np.ones(budget), rng.normal(size=(budget, dim - 1))]:
            unit = experiment.ask(x)
            experiment.tell(unit.id, deviations[unit.arm] * rng.normal())
            lengths[unit.arm].append(x @ x / dim)
    assert len(lengths["a"]) < 0.25 * len(lengths["d"])
    for arm in deviations:
        assert np.mean(lengths[arm]) == pytest.approx(1.0, abs=0.05)
