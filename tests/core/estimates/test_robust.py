"""Intervals where the noise depends on the context."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import equipoise as eq
from equipoise.core.estimates.robust import Sandwich
from equipoise.errors import InvalidArgument


def run(
    rng, *, dim=2, budget=60, arms=("a", "b"), policy="trace-ucb", spread=None, transform=None, scale=1.0
):
    """An experiment whose noise variance is ``spread(x)``; contexts may be shown transformed."""
    moment = np.eye(dim) if transform is None else transform @ transform.T
    problem = eq.Problem(arms=["a", "b"], dim=dim, budget=budget, moment=moment)
    experiment = eq.Experiment(problem, policy=policy, seed=3)
    while experiment.remaining:
        x = rng.normal(size=dim)
        assignment = experiment.ask(x if transform is None else transform @ x)
        deviation = 1.0 if spread is None else np.sqrt(spread(x))
        experiment.tell(assignment.id, float(scale * (x.sum() + deviation * rng.normal())))
    return experiment


def by_definition(experiment, arm):
    """Coefficients, residuals, leverages and S⁻¹ from the rows, by the textbook."""
    contexts, outcomes = experiment.data(arm)
    inverse = np.linalg.inv(contexts.T @ contexts)
    coef = inverse @ contexts.T @ outcomes
    leverage = np.einsum("ij,jk,ik->i", contexts, inverse, contexts)
    return contexts, inverse, coef, outcomes - contexts @ coef, leverage


def hidden_share(weights, relative, annihilator):
    """What residuals hide of a sandwich, b by numerical integration over what is believed of it."""
    shares = weights / weights.sum()
    there = len(shares) * shares - 1
    shown = annihilator**2 @ there / np.diag(annihilator)
    found, error = shown @ (relative - 1) / (shown @ shown), np.sqrt(2 / (shown @ shown))
    grid = (np.arange(20_000) + 0.5) / 20_000
    likely = stats.norm.pdf(found, grid, error)
    b = np.mean(grid * likely) / (np.mean(likely) + stats.norm.pdf(found, 0, error))
    return max((1 + b * (shares @ there)) / (1 + b * (shares @ shown)), 1.0)


# k² work is cheaper for few rows, d³ for many.
@pytest.mark.parametrize(("dim", "budget"), [(5, 40), (2, 60)])
def test_variance_and_freedom_are_those_of_the_formula(dim, budget):
    experiment = run(np.random.default_rng(1), dim=dim, budget=budget)
    estimate = experiment.estimates(intervals="robust")["a"]
    contexts, inverse, coef, residuals, leverage = by_definition(experiment, "a")
    variances, freedom = estimate.sandwich.variances(estimate.inverse_root)
    annihilator = np.eye(len(contexts)) - contexts @ inverse @ contexts.T
    squares = residuals**2 / (1 - leverage)
    half = (estimate.intervals[:, 1] - estimate.intervals[:, 0]) / 2
    for j in range(dim):
        weights = (contexts @ inverse[j]) ** 2
        hidden = hidden_share(weights, squares / estimate.residual_variance, annihilator)
        assert hidden >= 1.0
        assert variances[j] == pytest.approx(hidden * (weights @ squares), rel=1e-9)
        b = annihilator @ np.diag(weights / (1 - leverage)) @ annihilator
        constant = np.trace(b) ** 2 / np.trace(b @ b)
        shares = weights / weights.sum()
        beyond = len(shares) * shares - 1
        slope = np.clip(beyond @ squares / estimate.residual_variance / (beyond @ beyond), 0, 1)
        slope = slope * max(0, 1 - 2 / (beyond @ beyond) / slope**2) if slope > 0 else 0
        loads = shares * (1 + slope * beyond)
        fewer = (loads @ loads) / loads.sum() ** 2 / (shares @ shares)
        expected = max(constant / max(fewer, 1), 1)
        assert freedom[j] == pytest.approx(expected, rel=1e-9)
        reach = stats.t.ppf(0.975, expected) * np.sqrt(hidden * (weights @ squares) * estimate.inflation)
        assert half[j] == pytest.approx(reach, rel=1e-9)
    np.testing.assert_allclose(estimate.intervals.mean(axis=1), coef, rtol=1e-9)


def test_freedom_never_exceeds_that_of_the_classical_interval():
    estimate = run(np.random.default_rng(2), dim=3, budget=80).estimates(intervals="robust")["b"]
    _, freedom = estimate.sandwich.variances(estimate.inverse_root)
    assert np.all(freedom <= estimate.dof)
    assert np.all(freedom >= 1.0)
    # One weight for all: the sandwich of a mean is the classical variance.
    problem = eq.Problem(arms=["a"], dim=1, budget=20, moment=np.eye(1))
    experiment = eq.Experiment(problem, policy="uniform")
    rng = np.random.default_rng(3)
    while experiment.remaining:
        experiment.tell(experiment.ask([1.0]).id, float(rng.normal()))
    robust, classical = (experiment.estimates(intervals=kind)["a"] for kind in ("robust", "classical"))
    np.testing.assert_allclose(robust.intervals, classical.intervals, rtol=1e-9)
    assert robust.spread_ratio == pytest.approx(1.0)


def test_the_share_of_the_error_is_the_trace_of_the_sandwich():
    experiment = run(np.random.default_rng(4), dim=3, budget=90, spread=lambda x: 0.2 + x[0] ** 2)
    estimate = experiment.estimates(intervals="robust")["a"]
    contexts, inverse, _, residuals, leverage = by_definition(experiment, "a")
    meat = contexts.T @ np.diag(residuals**2 / (1 - leverage)) @ contexts
    error = np.trace(inverse @ meat @ inverse)
    plain = estimate.least_squares_error / estimate.error_factor
    assert estimate.spread_ratio * plain == pytest.approx(error, rel=1e-9)


def test_units_and_coordinates_do_not_matter():
    transform = np.array([[2.0, 0.0], [-1.0, 0.5]])
    x = np.array([[1.0, -2.0], [0.5, 3.0]])
    plain, scaled, turned = (
        run(np.random.default_rng(5), spread=lambda x: 1 + x[0] ** 2, **change).estimates(intervals="robust")[
            "a"
        ]
        for change in ({}, {"scale": 1e3}, {"transform": transform})
    )
    of_mean = plain.predict_interval(x, of="mean")
    np.testing.assert_allclose(scaled.predict_interval(x, of="mean"), 1e3 * of_mean, rtol=1e-8)
    np.testing.assert_allclose(turned.predict_interval(x @ transform.T, of="mean"), of_mean, rtol=1e-8)
    np.testing.assert_allclose(scaled.noise_interval, 1e6 * np.array(plain.noise_interval), rtol=1e-8)
    assert scaled.spread_ratio == pytest.approx(plain.spread_ratio)


def test_a_unit_that_alone_determines_a_coefficient_borrows_the_variance():
    problem = eq.Problem(arms=["a"], dim=2, budget=12, allow_small_budget=True)
    experiment = eq.Experiment(problem, policy="uniform")
    rng = np.random.default_rng(6)
    while experiment.remaining:
        x = [1.0, float(experiment.asked == 5)]
        experiment.tell(experiment.ask(x).id, float(rng.normal()))
    robust, classical = (experiment.estimates(intervals=kind)["a"] for kind in ("robust", "classical"))
    assert np.all(np.isfinite(robust.intervals))
    # The coefficient is its outcome less the mean of eleven others, all with the one σ̂² that there is.
    np.testing.assert_allclose(robust.intervals[1], classical.intervals[1], rtol=1e-6)


def test_what_is_not_determined_has_no_interval():
    experiment = eq.Experiment(eq.Problem(arms=["a", "b"], dim=2, budget=20, moment=np.eye(2)))
    for arm in experiment.estimates(intervals="robust"):
        assert not arm.robust
        assert np.all(np.isinf(arm.intervals))


def test_only_two_words_are_intervals():
    experiment = run(np.random.default_rng(7))
    with pytest.raises(InvalidArgument, match="'sandwich' is not a kind of interval"):
        experiment.estimates(intervals="sandwich")
    records = experiment.estimates(intervals="robust").records()
    assert [record["robust"] for record in records] == [True, True]
    assert [record["robust"] for record in experiment.estimates().records()] == [False, False]


def test_rows_that_left_are_not_in_the_sandwich():
    experiment = run(np.random.default_rng(8), budget=40)
    experiment.withdraw(7)
    experiment.correct(20, 100.0)
    estimates = experiment.estimates(intervals="robust")
    for estimate in estimates:
        contexts, inverse, _, residuals, leverage = by_definition(experiment, estimate.arm)
        squares = residuals**2 / (1 - leverage)
        annihilator = np.eye(len(contexts)) - contexts @ inverse @ contexts.T
        expected = [
            (weights @ squares) * hidden_share(weights, squares / estimate.residual_variance, annihilator)
            for weights in ((contexts @ inverse) ** 2).T
        ]
        np.testing.assert_allclose(estimate.sandwich.variances(estimate.inverse_root)[0], expected, rtol=1e-7)


def test_sparse_models_have_intervals_for_their_features():
    problem = eq.Problem(arms=["a", "b"], dim=12, budget=160, moment=np.eye(12))
    experiment = eq.Experiment(problem, policy="sparse-trace-ucb:screen=40", seed=1)
    rng = np.random.default_rng(9)
    while experiment.remaining:
        x = rng.normal(size=12)
        unit = experiment.ask(x)
        experiment.tell(unit.id, float(3 * x[2] - 3 * x[7] + rng.normal() * abs(x[2])))
    estimates = experiment.estimates(intervals="robust")
    chosen = list(estimates.support.columns)
    assert {2, 7} <= set(chosen)
    for arm in estimates:
        finite = np.isfinite(arm.intervals).all(axis=1)
        assert np.flatnonzero(finite).tolist() == chosen
        classical = experiment.estimates()[arm.arm].intervals
        assert np.ptp(arm.intervals[2]) > np.ptp(classical[2])


def test_noise_that_grows_is_not_hidden_and_constant_noise_hardly_widens():
    """Shares of the true variance, over contexts of high leverage, with 20 units for 4 features.

    The seed gave 1.08 and 0.96, with standard errors of 0.02; without the correction 1.01 and 0.84. Over
    seeds both bounds are at least 3 of them away: fails by chance less than once in 300 seeds.
    """
    rng = np.random.default_rng(12)
    contexts = rng.normal(size=(1500, 20, 4))
    found = {"constant": [], "growing": []}
    for x in contexts:
        inverse = np.linalg.inv(x.T @ x)
        hat = x @ inverse @ x.T
        weights = (x @ inverse[0]) ** 2
        root = np.linalg.cholesky(inverse)
        for kind, variance in {"constant": np.ones(20), "growing": 1 + 9 * x[:, 0] ** 2}.items():
            noise = np.sqrt(variance) * rng.normal(size=20)
            residuals = noise - hat @ noise
            left = 1 - np.diag(hat)
            sandwich = Sandwich(
                rows=x @ root,
                squares=residuals**2 / left,
                left=left,
                variance=float(residuals @ residuals / 16),
                dof=16,
            )
            found[kind].append(sandwich.variances(root[:1])[0][0] / (weights @ variance))
    assert 1.0 < np.mean(found["constant"]) < 1.15
    assert 0.9 < np.mean(found["growing"]) < 1.03


def test_heavy_tails_leave_fewer_degrees_of_freedom_for_the_variance():
    rng = np.random.default_rng(10)
    rows = rng.normal(size=(200, 2)) / np.sqrt(200)
    quiet, wild = rng.normal(size=200) ** 2, rng.standard_t(3, size=200) ** 2
    dofs = [
        Sandwich(
            rows=rows, squares=squares, left=np.ones(200), variance=float(squares.mean()), dof=198
        ).noise_dof
        for squares in (quiet, wild)
    ]
    assert 150 < dofs[0] <= 198
    assert dofs[1] < 100


def test_they_cover_where_classical_ones_do_not():
    """The noise variance grows with the square of the first feature, and so must its interval.

    Of 600 intervals 93 % or more cover on average, with a standard error of 1 point: fewer than 89 %
    come by chance less than once in 10⁴. Classical ones cover about 80 %; with a standard error of
    1.6, more than 87 % come as seldom.
    """
    rng = np.random.default_rng(11)
    inside = {"robust": 0, "classical": 0}
    for _ in range(300):
        experiment = run(rng, budget=80, policy="trace-gain", spread=lambda x: (1 + 4 * x[0] ** 2) / 5)
        for kind in inside:
            for arm in experiment.estimates(intervals=kind):
                low, high = arm.intervals[0]
                inside[kind] += bool(low <= 1.0 <= high)
    assert inside["robust"] > 0.89 * 600
    assert inside["classical"] < 0.87 * 600
