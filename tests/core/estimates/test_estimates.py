"""Estimates: ridge, intervals, predictions, and how they show themselves."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from inner_state import settle
from scipy import stats

import equipoise as eq
from equipoise.core.arms.noise_pool import pool_variances
from equipoise.core.estimates.intervals import elasticities, variance_inflation
from equipoise.errors import InvalidArgument, InvalidContext, UnknownArm

SKEWED = np.array([[2.0, 0.3, 0.0], [0.3, 1.0, -0.2], [0.0, -0.2, 0.5]])


def trained(policy="trace-ucb", moment=SKEWED, units=120, budget=150, seed=0, **options):
    problem = eq.Problem(["a", "b"], 3, budget=budget, moment=moment, **options)
    experiment = eq.Experiment(problem, policy, seed=1)
    rng = np.random.default_rng(seed)
    truth = {"a": np.array([1.0, -2.0, 0.5]), "b": np.array([0.0, 1.0, 3.0])}
    for _ in range(units):
        x = rng.normal(size=3) + np.array([1.0, 0.0, 0.0])
        assignment = experiment.ask(x)
        experiment.tell(assignment.id, float(x @ truth[assignment.arm] + rng.normal()))
    return experiment


@pytest.mark.parametrize("moment", [None, np.eye(3), SKEWED], ids=["learned", "white", "skewed"])
@pytest.mark.parametrize("ridge", [None, 0.0, 0.7, 40.0])
def test_ridge_is_the_closed_form(ridge, moment):
    experiment = trained(moment=moment)
    for arm in experiment.estimates(estimator="ridge", ridge=ridge):
        contexts, outcomes = experiment.data(arm.arm)
        penalty = 1 / 150 if ridge is None else ridge
        assert arm.ridge == penalty
        gram = contexts.T @ contexts
        expected = np.linalg.solve(gram + penalty * np.eye(3), contexts.T @ outcomes)
        np.testing.assert_allclose(arm.coef, expected, rtol=1e-10)
        np.testing.assert_allclose(arm.gram, gram, rtol=1e-10, atol=1e-10)
        sigma = experiment.problem.moment
        if sigma is None:
            seen = experiment._state.contexts[:120]
            sigma = seen.T @ seen / 120
        w = np.linalg.inv(gram + penalty * np.eye(3))
        noise = arm.residual_variance * np.trace(sigma @ w @ gram @ w)
        bias = penalty**2 * arm.coef @ w @ sigma @ w @ arm.coef
        if experiment.problem.moment is None:
            lengths = np.sum(seen @ np.linalg.inv(sigma) * seen, axis=1)
            noise *= 120 / (120 - (np.mean(lengths**2) / 3 - 1))
        assert arm.bias == pytest.approx(bias, rel=1e-9, abs=1e-12)
        assert arm.error_factor > 1.0
        assert arm.expected_error == pytest.approx(arm.error_factor * noise + bias, rel=1e-9)


def test_leave_one_out_is_leaving_one_out():
    experiment = trained()
    for arm in experiment.estimates(estimator="leave-one-out"):
        contexts, outcomes = experiment.data(arm.arm)

        def error(penalty, contexts=contexts, outcomes=outcomes):
            total = 0.0
            for j in range(len(outcomes)):
                rest, values = np.delete(contexts, j, 0), np.delete(outcomes, j)
                coef = np.linalg.solve(rest.T @ rest + penalty * np.eye(3), rest.T @ values)
                total += (outcomes[j] - contexts[j] @ coef) ** 2
            return total / len(outcomes)

        best = error(arm.ridge)
        for factor in (0.2, 0.8, 1.25, 5.0):
            assert best <= error(arm.ridge * factor) + 1e-12


def test_uniform_allocation_keeps_the_exact_t_interval():
    experiment = trained("uniform")
    for arm in experiment.estimates(estimator="ridge", confidence=0.9):
        contexts, outcomes = experiment.data(arm.arm)
        inverse = np.linalg.inv(contexts.T @ contexts)
        coef = inverse @ contexts.T @ outcomes
        variance = np.sum((outcomes - contexts @ coef) ** 2) / (len(outcomes) - 3)
        half = stats.t.ppf(0.95, len(outcomes) - 3) * np.sqrt(variance * np.diag(inverse))
        np.testing.assert_allclose(arm.intervals, np.column_stack([coef - half, coef + half]), rtol=1e-9)
        low, high = arm.noise_interval
        dof = len(outcomes) - 3
        assert low == pytest.approx(dof * variance / stats.chi2.ppf(0.95, dof))
        assert high == pytest.approx(dof * variance / stats.chi2.ppf(0.05, dof))
        assert arm.error_bound == pytest.approx(arm.expected_error * dof / stats.chi2.ppf(0.1, dof), rel=1e-6)
        x = np.array([0.5, -1.0, 2.0])
        for of, extra in (("mean", 0.0), ("outcome", 1.0)):
            spread = stats.t.ppf(0.95, dof) * np.sqrt(variance * (x @ inverse @ x + extra))
            np.testing.assert_allclose(
                arm.predict_interval(x, of=of), [[x @ coef - spread, x @ coef + spread]]
            )


def test_error_bound_inflates_the_noise_and_not_the_bias():
    for arm in trained("uniform").estimates(estimator="ridge", ridge=25.0):
        assert 0.0 < arm.bias < arm.expected_error
        noise = arm.expected_error - arm.bias
        factor = arm.dof / stats.chi2.ppf(0.05, arm.dof)
        assert arm.error_bound == pytest.approx(arm.bias + noise * factor)


def test_adaptive_allocation_widens_intervals():
    experiment = trained()
    estimates = experiment.estimates()
    settle(experiment)
    adaptive = elasticities(experiment._state, experiment._stage.score, experiment._stage.settings)
    # ε = s/(1 + (1−s)/2) with s = σ̂²/(σ̂² + Δ), up to a finite difference in dof
    arms, mean = experiment._state.arms, experiment._state.trial["mean_variance"][0]
    share = arms["noise_variance"] / (arms["noise_variance"] + mean / np.sqrt(arms["dof"]))
    np.testing.assert_allclose(adaptive, share / (1 + (1 - share) / 2), rtol=0.02)
    static = trained("uniform")
    assert not elasticities(static._state, static._stage.score, static._stage.settings).any()
    for arm, elasticity in zip(estimates, adaptive, strict=True):
        assert arm.inflation == pytest.approx(1 + elasticity * (2 / arm.dof + 10 / arm.dof**2))


def test_elasticity_of_a_policy_that_pools_counts_the_pool():
    problem = eq.Problem(["a", "b", "c", "d"], 3, budget=60, moment=np.eye(3))
    experiment = eq.Experiment(problem, eq.TraceGain(caution=2.0), seed=1)
    rng = np.random.default_rng(4)
    while experiment.remaining:
        x = rng.normal(size=3)
        assignment = experiment.ask(x)
        deviation = {"a": 0.3, "b": 1.0, "c": 1.0, "d": 4.0}[assignment.arm]
        experiment.tell(assignment.id, float(x.sum() + deviation * rng.normal()))
    estimates = experiment.estimates()
    settle(experiment)
    state = experiment._state
    before = state.trial.copy()
    found = elasticities(state, experiment._stage.score, experiment._stage.settings)
    assert state.trial == before

    def log_scores(arms, more=0):
        """Of typical contexts: u·T, with T falling as 1/dof."""
        trial = state.trial.copy()
        pool_variances(arms, trial[0])
        prior, center = trial["pooled_dof"][0], trial["pooled_variance"][0]
        dof = arms["dof"] + more
        freedom = dof + prior
        pooled = (dof * arms["noise_variance"] + prior * center) / freedom
        doubt = 2.0 / freedom
        return np.log(pooled * (1 + doubt + doubt**2) * arms["trace"] * arms["dof"] / dof)

    start = log_scores(state.arms.copy())
    for i in range(4):
        nudged = state.arms.copy()
        nudged["noise_variance"][i] *= 1.001
        nudged["log_variance"][i] += math.log(1.001)
        moved = log_scores(nudged) - start
        rise = (moved[i] - np.delete(moved, i).mean()) / math.log(1.001)
        dof = state.arms["dof"][i]
        fall = (start - log_scores(state.arms.copy(), more=1))[i] / math.log(1 + 1 / dof)
        assert found[i] == pytest.approx(max(rise / fall, 0.0), rel=0.01, abs=1e-3)
    for arm, elasticity in zip(estimates, found, strict=True):
        assert arm.inflation == pytest.approx(1 + elasticity * (2 / arm.dof + 10 / arm.dof**2))
        assert elasticity > 0.0


def test_variance_inflation_at_no_degree_of_freedom():
    assert variance_inflation([0, 1, 1000], [0.0, 0.0, 0.0]).tolist() == [1.0, 1.0, 1.0]
    assert np.all(np.diff(variance_inflation([1, 2, 5, 100], [1.0] * 4)) < 0)


@pytest.mark.parametrize("units", [0, 1, 5, 8])
def test_estimates_before_anything_is_determined(units):
    estimates = trained(units=units).estimates()
    for arm in estimates:
        assert np.all(np.isfinite(arm.coef))
        if arm.observed <= 3:
            assert math.isnan(arm.noise_variance)
            assert arm.noise_interval == (0.0, math.inf)
            assert arm.expected_error == arm.error_bound == math.inf
            assert np.isinf(arm.intervals).all()
            assert np.isinf(arm.predict_interval([1.0, 2.0, 3.0])).all()
    if units < 8:
        assert math.isnan(estimates.regret)
    assert ("unknown" in str(estimates)) == (units < 8)
    for text in (str(estimates), estimates._repr_html_(), str(estimates[0]), estimates[0]._repr_html_()):
        assert "nan" not in text
        assert "inf" not in text


def test_regressor_of_scikit_learn_style():
    arm = trained().estimates()["a"]
    X = np.arange(12.0).reshape(4, 3)
    np.testing.assert_allclose(arm.predict(X), X @ arm.coef_)
    np.testing.assert_allclose(arm.predict([1.0, 2.0, 3.0]), [1.0, 2.0, 3.0] @ arm.coef)
    assert arm.intercept_ == 0.0
    assert arm.n_features_in_ == 3
    assert arm.predict_interval(X).shape == (4, 2)
    with pytest.raises(InvalidContext, match="shape"):
        arm.predict(np.ones((2, 4)))
    with pytest.raises(InvalidArgument, match="'outcome' or 'mean'"):
        arm.predict_interval(X, of="median")


def test_sequence_and_tables():
    estimates = trained().estimates()
    assert len(estimates) == 2
    assert estimates["b"] is estimates[1]
    assert estimates[:1] == (estimates[0],)
    with pytest.raises(UnknownArm, match="the arms are a, b"):
        estimates["c"]
    records = estimates.records()
    assert [record["arm"] for record in records] == ["a", "b"]
    assert len(records[0]["coef"]) == 3
    assert "noise variance" in str(estimates)
    assert max(map(len, str(estimates).splitlines())) <= 100
    assert "<table>" in estimates._repr_html_()
    assert "<table>" in estimates[0]._repr_html_()
    assert "95 % interval" in str(estimates[0])


def test_names_are_escaped_in_html():
    experiment = eq.Experiment(eq.Problem(["<b>", "c"], 1, budget=10), "uniform")
    assert "<b>" not in experiment.estimates()._repr_html_().replace("<tbody>", "")


@pytest.mark.parametrize("objective", ["max", "mean", 3.0])
def test_objective_and_regret(objective):
    estimates = trained(objective=objective, weights={"a": 2.0}).estimates()
    errors = np.array([2.0, 1.0]) * [arm.expected_error for arm in estimates]
    order = {"max": np.inf, "mean": 1.0}.get(objective, objective)
    expected = errors.max() if np.isinf(order) else np.mean(errors**order) ** (1 / order)
    assert estimates.objective == pytest.approx(expected)
    assert estimates.regret == pytest.approx(estimates.objective - estimates.oracle_objective)
    # The oracle is the best of all splits of the same units.
    noise = [arm.noise_variance for arm in estimates]
    splits = [eq.theory.static_loss(noise, [k, 120 - k], 3, objective, [2.0, 1.0]) for k in range(5, 116)]
    assert estimates.oracle_objective <= min(splits) * (1 + 1e-9)
    assert estimates.oracle_objective == pytest.approx(min(splits), rel=0.02)


@pytest.mark.parametrize("ridge", [-1.0, math.inf, math.nan, "0.1", [1, 2], True])
def test_bad_ridge(ridge):
    with pytest.raises(InvalidArgument, match="ridge"):
        trained().estimates(estimator="ridge", ridge=ridge)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"estimator": "poled"}, "no estimator is called 'poled' .did you mean 'pooled'"),
        ({"estimator": "least squares"}, "the estimators are .*'ridge'"),
        ({"estimator": 0.5}, "estimator='ridge', ridge=0.5"),
        ({"estimator": None}, "no estimator is called None"),
        ({"ridge": 0.5}, "the λ of estimator='ridge', and the estimator is 'pooled'"),
    ],
)
def test_bad_estimator(given, message):
    with pytest.raises(InvalidArgument, match=message):
        trained().estimates(**given)


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95, -1, "0.9"])
def test_bad_confidence(confidence):
    with pytest.raises(InvalidArgument, match="confidence"):
        trained().estimates(confidence=confidence)


class TestEllipsoid:
    def test_formula(self):
        arm = trained().estimates(estimator="ridge", ridge=0.5)["a"]
        ellipsoid = arm.ellipsoid(deviation=1.5, norm=4.0, delta=0.1)
        shape = arm.gram + 0.5 * np.eye(3)
        ratio = math.sqrt(np.linalg.det(shape) / 0.5**3)
        assert ellipsoid.radius == pytest.approx(
            1.5 * math.sqrt(2 * math.log(ratio / 0.1)) + math.sqrt(0.5) * 4
        )
        assert ellipsoid.contains(arm.coef)
        assert not ellipsoid.contains(arm.coef + 100)
        low, high = ellipsoid.intervals().T
        assert np.all(low < arm.coef)
        assert np.all(arm.coef < high)

    def test_covers_far_more_often_than_promised(self):
        truth = np.array([1.0, -2.0, 0.5])
        hits = [
            trained(seed=seed).estimates()["a"].ellipsoid(deviation=1.0, norm=3.0).contains(truth)
            for seed in range(60)
        ]
        # The bound is conservative; 95 % promised, fewer than 54 of 60 has chance 2·10⁻².
        assert sum(hits) >= 54

    @pytest.mark.parametrize("arguments", [{"deviation": 0}, {"norm": -1}, {"delta": 2}])
    def test_refuses(self, arguments):
        values = {"deviation": 1.0, "norm": 1.0, **arguments}
        with pytest.raises(InvalidArgument):
            trained().estimates()["a"].ellipsoid(**values)


@pytest.mark.parametrize("estimator", ["ridge", "pooled", "empirical-bayes", "leave-one-out"])
def test_arms_that_are_not_determined_have_no_expected_error(estimator):
    experiment = eq.Experiment(eq.Problem(3, 2, budget=40, moment=np.eye(2)), seed=1)
    experiment.close_arm("arm-2")
    rng = np.random.default_rng(1)
    for _ in range(20):
        experiment.tell(experiment.ask(rng.normal(size=2)).id, rng.normal())
    errors = [arm.expected_error for arm in experiment.estimates(estimator=estimator)]
    assert np.isfinite(errors).tolist() == [True, False, True]


def test_inflation_is_a_number_where_scores_are_not_positive():
    @eq.register("test-log-score")
    @dataclass(frozen=True, kw_only=True)
    class LogScore(eq.Policy):
        pools = True

        @staticmethod
        def score(arm, trial, settings):
            return np.log(arm.noise_variance * arm.trace)

    experiment = eq.Experiment(eq.Problem(3, 2, budget=60, moment=np.eye(2)), LogScore(), seed=1)
    rng = np.random.default_rng(1)
    for _ in range(60):
        unit = experiment.ask(rng.normal(size=2))
        experiment.tell(unit.id, rng.normal() * {"arm-1": 0.1, "arm-2": 1.0, "arm-3": 20.0}[unit.arm])
    assert all(np.isfinite(arm.inflation) and arm.inflation >= 1.0 for arm in experiment.estimates())
