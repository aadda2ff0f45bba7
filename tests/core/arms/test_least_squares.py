"""Online least squares against batch solutions."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inner_state import settle

import equipoise as eq
from equipoise.core.arms import least_squares as kernel
from equipoise.core.arms.state import State
from equipoise.core.jit.decorators import compiled
from equipoise.core.stages.fresh import trial_state

# Made-up outcomes are bent now and then.
pytestmark = pytest.mark.filterwarnings("ignore::equipoise.errors.FitWarning")


@compiled
def feed(state: State, contexts: np.ndarray, outcomes: np.ndarray) -> None:
    for t in range(contexts.shape[0]):
        for c in range(contexts.shape[1]):
            state.contexts[t, c] = contexts[t, c]
        kernel.observe(state, kernel.assign(state, 0), outcomes[t])


def one_arm(contexts, outcomes, moment):
    dim = contexts.shape[1]
    problem = eq.Problem(arms=1, dim=dim, budget=max(len(contexts), dim + 1), moment=moment)
    state = trial_state(problem, eq.Uniform(), 0, capacity=len(contexts))
    feed(state, np.ascontiguousarray(contexts), np.ascontiguousarray(outcomes))
    return problem, state


def coefficients(problem, state):
    lower = problem.whitener()
    return state.coefs[0] if lower is None else np.linalg.solve(lower.T, state.coefs[0])


def batch(contexts, outcomes, moment):
    """Coefficients, noise variance and trace by QR, which never squares the condition number."""
    n, dim = contexts.shape
    q, r = np.linalg.qr(contexts)
    coef = np.linalg.solve(r, q.T @ outcomes)
    residuals = outcomes - contexts @ coef
    root = r / np.sqrt(n) if moment is None else np.linalg.cholesky(moment).T
    trace = np.linalg.norm(root @ np.linalg.inv(r)) ** 2
    return coef, residuals @ residuals / (n - dim), trace


def assert_agrees(contexts, outcomes, moment, tolerance):
    problem, state = one_arm(contexts, outcomes, moment)
    coef, variance, trace = batch(contexts, outcomes, moment)
    assert state.arms["data_ready"][0]
    assert np.linalg.norm(coefficients(problem, state) - coef) <= tolerance * np.linalg.norm(coef)
    assert state.arms["noise_variance"][0] == pytest.approx(variance, rel=tolerance)
    assert state.arms["trace"][0] == pytest.approx(trace, rel=tolerance)


@pytest.mark.parametrize("known", [True, False])
def test_a_hundred_thousand_updates_do_not_drift(known):
    # Rounding grows as √n: 10⁵ updates cost about 300 ulps, 10⁻¹³; the promise is 10⁻⁹.
    rng = np.random.default_rng(1)
    dim = 50
    contexts = rng.normal(size=(100_000, dim))
    outcomes = contexts @ rng.normal(size=dim) + rng.normal(size=100_000)
    assert_agrees(contexts, outcomes, np.eye(dim) if known else None, 1e-12)


@pytest.mark.parametrize("rotated", [False, True])
@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize(("dim", "n"), [(10, 60), (10, 5_000), (50, 500)])
def test_condition_number_1e8(dim, n, known, rotated):
    # The factor has the condition number of X. Rotated features share each other's rounding, so
    # 10⁸·10⁻¹⁶ = 10⁻⁸ remains, with a factor 100 for growth; mere differences of scale cost nothing.
    rng = np.random.default_rng(2)
    mixing = np.diag(np.logspace(0, -8, dim))
    if rotated:
        mixing = mixing @ np.linalg.qr(rng.normal(size=(dim, dim)))[0]
    contexts = rng.normal(size=(n, dim)) @ mixing
    outcomes = contexts @ np.linalg.solve(mixing, rng.normal(size=dim)) + rng.normal(size=n)
    assert_agrees(contexts, outcomes, np.eye(dim) if known else None, 1e-6 if rotated else 1e-11)


def test_scaled_moment_is_not_a_problem():
    rng = np.random.default_rng(3)
    scales = np.logspace(0, -8, 6)
    contexts = rng.normal(size=(200, 6)) * scales
    outcomes = contexts @ (1 / scales) + rng.normal(size=200)
    assert_agrees(contexts, outcomes, np.diag(scales**2), 1e-11)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    dim=st.integers(1, 6),
    extra=st.integers(1, 40),
    mean=st.floats(-3, 3),
    scale=st.floats(1e-3, 1e3),
    known=st.booleans(),
)
def test_agrees_with_batch_for_any_ordinary_data(seed, dim, extra, mean, scale, known):
    rng = np.random.default_rng(seed)
    contexts = rng.normal(mean, 1.0, size=(2 * (dim + 1) + extra, dim)) * scale
    outcomes = rng.normal(size=len(contexts))
    root = rng.normal(size=(dim, dim)) + 3 * np.eye(dim)
    # A random moment and a random mean can be off by condition numbers of some thousands.
    assert_agrees(contexts, outcomes, root @ root.T if known else None, 1e-7)


def test_no_observation_at_all():
    _, state = one_arm(np.zeros((0, 3)), np.zeros(0), np.eye(3) * 4)
    assert state.arms["count"][0] == 0
    assert state.arms["trace"][0] == np.inf
    assert not state.arms["data_ready"][0]


def test_start_waits_for_full_rank():
    # The third feature shows up late: d + 1 pulls are not enough.
    contexts = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0], [2.0, 1.0, 0.0], [0.0, 1.0, 5.0]])
    outcomes = np.array([1.0, 2.0, 3.0, 4.5, 1.0])
    for k in (3, 4):
        _, state = one_arm(contexts[:k], outcomes[:k], np.eye(3))
        assert not state.arms["design_ready"][0]
    assert_agrees(contexts, outcomes, np.eye(3), 1e-12)


def test_start_waits_for_a_sane_condition_number():
    rng = np.random.default_rng(4)
    contexts = rng.normal(size=(12, 2))
    contexts[:4, 1] = contexts[:4, 0] * (1 + 1e-9)
    outcomes = rng.normal(size=12)
    assert not one_arm(contexts[:4], outcomes[:4], np.eye(2))[1].arms["design_ready"][0]
    assert_agrees(contexts, outcomes, np.eye(2), 1e-12)


class TestPending:
    """Design and data part ways while outcomes are awaited."""

    def experiment(self, moment, budget=200):
        return eq.Experiment(eq.Problem(["a", "b"], 3, budget=budget, moment=moment), eq.TraceUCB(), seed=1)

    @pytest.mark.parametrize("moment", [None, np.diag([1.0, 2.0, 0.5])], ids=["learned", "given"])
    def test_pending_contexts_count_in_the_trace(self, moment):
        rng = np.random.default_rng(5)
        experiment = self.experiment(moment)
        contexts, arms, waiting = [], [], []
        for t in range(120):
            x = rng.normal(size=3)
            assignment = experiment.ask(x)
            contexts.append(x)
            arms.append(assignment.arm)
            waiting.append(assignment.id)
            if t % 3 == 2:  # out of order
                experiment.tell(waiting.pop(1), float(rng.normal()))
                experiment.tell(waiting.pop(0), float(rng.normal()))
        settle(experiment)
        everything = np.array(contexts)
        reference = everything.T @ everything / 120 if moment is None else moment
        for i, arm in enumerate(("a", "b")):
            mine = everything[np.array(arms) == arm]
            trace = np.trace(reference @ np.linalg.inv(mine.T @ mine))
            assert experiment._state.arms["trace"][i] == pytest.approx(trace, rel=1e-12)
            known, outcomes = experiment.data(arm)
            coef, variance, _ = batch(known, outcomes, None)
            fitted = experiment.estimates(estimator="ridge", ridge=0.0)[arm]
            np.testing.assert_allclose(fitted.coef, coef, rtol=1e-10, atol=1e-12)
            assert fitted.residual_variance == pytest.approx(variance, rel=1e-11)

    def test_all_outcomes_late(self):
        # Nothing is known about the noise, so contexts alone must balance the arms.
        rng = np.random.default_rng(6)
        experiment = self.experiment(np.eye(3))
        for _ in range(60):
            experiment.ask(rng.normal(size=3))
        assert min(experiment.counts.values()) > 20
        assert np.all(np.isfinite(experiment._state.arms["trace"]))

    @pytest.mark.parametrize("moment", [None, np.eye(3)], ids=["learned", "given"])
    @pytest.mark.parametrize("told", [0, 5, 60])
    def test_a_lost_outcome_leaves_the_design(self, told, moment):
        rng = np.random.default_rng(7)
        experiment = self.experiment(moment)
        ids = [experiment.ask(rng.normal(size=3)).id for _ in range(80)]
        for id in ids[:told]:
            experiment.tell(id, float(rng.normal()))
        for id in ids[told : told + 7]:
            experiment.lose(id)
        settle(experiment)
        state = experiment._state
        seen = state.contexts[:80]
        reference = seen.T @ seen / 80 if moment is None else moment
        for i in range(2):
            kept = (state.rows["arm"][:80] == i) & (state.rows["status"][:80] != 2)
            mine = seen[kept]
            assert state.arms["count"][i] == len(mine)
            trace = np.trace(reference @ np.linalg.inv(mine.T @ mine))
            assert state.arms["trace"][i] == pytest.approx(trace, rel=1e-11)

    @pytest.mark.parametrize("moment", [None, np.eye(3)], ids=["learned", "given"])
    @pytest.mark.parametrize("change", ["lose", "correct", "withdraw"])
    def test_an_outcome_right_after_the_design_changed(self, change, moment):
        # No ask() in between, so nothing has been settled when the outcomes arrive.
        rng = np.random.default_rng(11)
        experiment = self.experiment(moment)
        for _ in range(60):
            experiment.tell(experiment.ask(rng.normal(size=3)).id, float(rng.normal()))
        waiting = [experiment.ask(rng.normal(size=3)).id for _ in range(9)]
        for id in waiting[:3]:
            experiment.correct(id, 0.5) if change == "correct" else getattr(experiment, change)(id)
        for id in waiting[3:]:
            experiment.tell(id, float(rng.normal()))
        for _ in range(20):
            experiment.tell(experiment.ask(rng.normal(size=3)).id, float(rng.normal()))
        for arm in experiment.estimates(estimator="ridge", ridge=0.0):
            contexts, outcomes = experiment.data(arm.arm)
            coef, variance, _ = batch(contexts, outcomes, None)
            np.testing.assert_allclose(arm.coef, coef, rtol=1e-9, atol=1e-12)
            assert arm.residual_variance == pytest.approx(variance, rel=1e-10)
            np.testing.assert_allclose(arm.gram, contexts.T @ contexts, rtol=1e-9, atol=1e-9)

    def test_outcomes_in_another_order_give_the_same_estimates(self):
        rng = np.random.default_rng(8)
        contexts, outcomes = rng.normal(size=(60, 3)), rng.normal(size=60)
        in_order, shuffled = self.experiment(np.eye(3)), self.experiment(np.eye(3))
        for experiment, order in ((in_order, range(60)), (shuffled, rng.permutation(60))):
            for x in contexts:
                experiment.ask(x)
            for row in order:
                experiment.tell(int(row) + 1, float(outcomes[row]))
        for one, other in zip(in_order.estimates(), shuffled.estimates(), strict=True):
            np.testing.assert_allclose(one.coef, other.coef, rtol=1e-10)
            assert one.noise_variance == pytest.approx(other.noise_variance, rel=1e-10)


class TestRemoval:
    """Corrections and withdrawals are exact."""

    def run(self, skip=(), changed=None, moment=None):
        rng = np.random.default_rng(9)
        problem = eq.Problem(["a", "b", "c"], 3, budget=90, moment=moment)
        experiment = eq.Experiment(problem, eq.Uniform(), seed=2)
        for t in range(90):
            x, y = rng.normal(size=3), float(rng.normal())
            if t in skip:
                continue
            id = experiment.ask(x).id
            experiment.tell(id, (changed or {}).get(t, y))
        return experiment

    @pytest.mark.parametrize("moment", [None, np.diag([2.0, 1.0, 1.0])], ids=["learned", "given"])
    def test_withdrawing_equals_never_having_been(self, moment):
        # Units 88..90 are the last of each arm, so leaving them out moves no other unit.
        experiment, without = self.run(moment=moment), self.run(skip=(87, 88, 89), moment=moment)
        for id in (89, 88, 90):
            experiment.withdraw(id)
        for one, other in zip(experiment.estimates(), without.estimates(), strict=True):
            assert one.noise_variance == other.noise_variance
            np.testing.assert_array_equal(one.least_squares, other.least_squares)
        np.testing.assert_allclose(experiment._state.arms["trace"], without._state.arms["trace"], rtol=1e-13)

    def test_correcting_equals_having_told_right(self):
        experiment, right = self.run(), self.run(changed={4: 2.5, 50: -1.0})
        experiment.correct(5, 2.5)
        experiment.correct(51, -1.0)
        for one, other in zip(experiment.estimates(), right.estimates(), strict=True):
            np.testing.assert_array_equal(one.coef, other.coef)
            assert one.noise_variance == other.noise_variance

    def test_withdrawing_below_full_rank(self):
        experiment = self.run()
        for id in range(1, 88):
            experiment.withdraw(id)
        estimates = experiment.estimates()
        assert all(arm.observed == 1 and np.isinf(arm.intervals).all() for arm in estimates)
        assert np.isnan(estimates[0].noise_variance)

    def test_withdrawing_a_pending_unit(self):
        rng = np.random.default_rng(10)
        experiment = eq.Experiment(eq.Problem(2, 2, budget=40, moment=np.eye(2)), eq.TraceUCB())
        for _ in range(20):
            experiment.tell(experiment.ask(rng.normal(size=2)).id, float(rng.normal()))
        before = copy.deepcopy(experiment)
        id = experiment.ask(rng.normal(size=2)).id
        experiment.withdraw(id)
        assert experiment.pending == []
        for one, other in zip(before.estimates(), experiment.estimates(), strict=True):
            np.testing.assert_array_equal(one.coef, other.coef)
            assert one.count == other.count
