"""What truths are drawn from, against what the data say in closed form or by integration."""

from __future__ import annotations

import numpy as np
import pytest
from experiments.half_way import half_way

import equipoise as eq
from equipoise.lab.forecast.belief import settled
from equipoise.lab.forecast.start import record_of
from equipoise.lab.forecast.truths import draw_truths
from equipoise.lab.forecast.truths.hierarchy import draw_common
from equipoise.lab.forecast.truths.sparse import draw_sparse


def test_unshrunk_truths_have_the_moments_of_the_posterior():
    experiment, _ = half_way(budget=120, asked=90, awaited=3)
    stage = settled(record_of(experiment).stage)
    truths = draw_truths(stage, "unshrunk", trials=20_000, seed=2)
    for i, arm in enumerate(experiment.estimates(estimator="ridge", ridge=0.0)):
        dof, rss = arm.dof, arm.residual_variance * arm.dof
        noise = truths.deviations[:, i] ** 2
        # 1/σ² is gamma: its mean is known and its spread finite. Five standard errors: 6 in 10⁷ a number.
        assert (1.0 / noise).mean() == pytest.approx(dof / rss, abs=5 * np.sqrt(2 * dof / 20_000) / rss)
        scaled = (truths.coefs[:, i] - arm.least_squares) / truths.deviations[:, i, None]
        covariance = arm.inverse_root @ arm.inverse_root.T
        found = scaled.T @ scaled / len(scaled)
        size = np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)))
        assert np.abs((found - covariance) / size).max() < 5 * np.sqrt(2 / 20_000)


def test_pooled_truths_against_integration():
    rng = np.random.default_rng(3)
    m, dim, noise = 3, 4, np.array([0.5, 1.0, 2.0])
    strength = np.array([3.0, 5.0, 8.0])
    fits = 0.5 + 0.4 * rng.normal(size=(m, dim))
    # So many degrees of freedom that σ² is known.
    bases, spectra = np.tile(np.eye(dim), (m, 1, 1)), np.repeat(strength[:, None], dim, axis=1)
    dof = np.full(m, 1e7)
    thetas, drawn = draw_common(bases, spectra, fits, noise * dof, dof, trials=60_000, seed=1)
    assert drawn.mean(axis=0) == pytest.approx(noise, rel=1e-3)
    mean, variance = integrated(fits, noise / strength)
    # Draws ten sweeps apart are nearly independent; half as much again allows for the rest. Five standard
    # errors of independent ones in 24 numbers: a false failure in 10⁵ seeds.
    assert np.all(np.abs(thetas.mean(axis=0) - mean) < 5 * 1.5 * np.sqrt(variance / len(thetas)))
    assert thetas.var(axis=0) == pytest.approx(variance, rel=0.04)


def integrated(fits, variances):
    """Posterior means and variances of θ by a grid over τ and ω, both with flat priors."""
    m, dim = fits.shape
    grid = 12.0 * ((np.arange(150) + 0.5) / 150) ** 2  # denser near 0
    steps = np.gradient(grid)
    tau, omega = (each.ravel()[:, None, None] for each in np.meshgrid(grid, grid, indexing="ij"))
    prior = omega**2 * np.ones((m, m)) + tau**2 * np.eye(m)
    inverse = np.linalg.inv(prior + np.diag(variances))
    logs = 0.5 * dim * np.linalg.slogdet(inverse)[1] - 0.5 * np.sum(fits * (inverse @ fits), axis=(1, 2))
    weights = np.outer(steps, steps).ravel() * np.exp(logs)
    weights = (weights / weights.sum())[:, None, None]
    means = prior @ inverse @ fits
    spreads = np.diagonal(prior - prior @ inverse @ prior, axis1=1, axis2=2)[:, :, None]
    mean = (weights * means).sum(axis=0)
    return mean, (weights * (means**2 + spreads)).sum(axis=0) - mean**2


def test_arms_far_apart_have_nothing_in_common():
    experiment, _ = half_way(budget=400, asked=300, noise=[0.01, 0.01, 0.01])
    stage = settled(record_of(experiment).stage)
    pooled, apart = (draw_truths(stage, truth, trials=2_000, seed=2) for truth in ("pooled", "unshrunk"))
    assert (pooled.kind, apart.kind) == ("pooled", "unshrunk")
    spread = apart.coefs.std(axis=0)
    assert np.abs(pooled.coefs.mean(axis=0) - apart.coefs.mean(axis=0)).max() < 0.25 * spread.min()
    assert pooled.coefs.std(axis=0) == pytest.approx(spread, rel=0.1)


def test_pooled_truths_need_arms_and_features():
    experiment, _ = half_way(dim=2, asked=30)
    assert eq.forecast(experiment, trials=10).origin.truth == "unshrunk"
    experiment, _ = half_way(noise=[1.0], asked=30)
    assert eq.forecast(experiment, trials=10).origin.truth == "unshrunk"


def test_units_of_the_outcome_do_not_matter():
    found = []
    for factor in (1.0, 1e6):
        experiment, world = half_way(asked=4)
        again = eq.Experiment(experiment.problem, seed=5)
        rng = np.random.default_rng(0)
        while again.asked < 30:
            x = np.array([1.0, *rng.normal(size=2)])
            unit = again.ask(x)
            i = again.problem.index(unit.arm)
            y = x @ world.coefs[i] + np.sqrt(world.noise[i]) * rng.normal()
            again.tell(unit.id, float(factor * y))
        found.append(eq.forecast(again, trials=30).courses[0].errors / factor**2)
    assert found[0] == pytest.approx(found[1], rel=1e-6)


def test_a_finished_experiment_has_the_errors_of_now():
    experiment, _ = half_way(budget=60, asked=60, noise=[1.0, 1.0, 1.0])
    found = eq.forecast(experiment, trials=4_000, truth="unshrunk", estimator="ridge", ridge=0.0)
    course = found.courses[0]
    assert course.units == (60, 60)
    assert course.errors[:, 0] == pytest.approx(course.errors[:, 1], rel=1e-9)
    assert np.all(course.counts == 0)
    root = np.linalg.cholesky(experiment._record.contexts.T @ experiment._record.contexts / 60)
    for arm in experiment.estimates(estimator="ridge", ridge=0.0):
        trace = ((root.T @ arm.inverse_root) ** 2).sum()
        # E[σ²] = RSS/(ν − 2); four standard errors, of which the sample knows the size: 6 in 10⁵ an arm.
        wanted = arm.residual_variance * arm.dof / (arm.dof - 2) * trace
        band = found.band(course, -1, arm.arm)
        assert band.mean == pytest.approx(wanted, abs=4 * band.stderr)


def test_sparse_truths_find_what_matters_and_how_sure_that_is():
    rng = np.random.default_rng(5)
    rows, dim, noise = 80, 12, 0.5
    contexts = np.column_stack([np.ones(2 * rows), 3.0 * rng.normal(size=(2 * rows, dim - 1))])
    arms = np.repeat([0, 1], rows)
    coefs = np.zeros((2, dim))
    coefs[:, [0, 3]], coefs[1, 7] = [50.0, 1.0], -0.8
    outcomes = np.sum(contexts * coefs[arms], axis=1) + np.sqrt(noise) * rng.normal(size=2 * rows)
    drawn, variances, features = draw_sparse(contexts, outcomes, arms, 2, noise=noise, trials=2_000, seed=1)
    for i, support in enumerate(([0, 3], [0, 3, 7])):
        mine = contexts[arms == i][:, support]
        fit, squares, *_ = np.linalg.lstsq(mine, outcomes[arms == i], rcond=None)
        dof = rows - len(support)
        spread = np.sqrt(np.diag(np.linalg.inv(mine.T @ mine)) * squares[0] / dof)
        # What matters is drawn as least squares among it has it; a fixed seed, and a third of a deviation.
        assert np.all(drawn[:, i, support] != 0.0)
        assert np.all(np.abs(drawn[:, i, support].mean(axis=0) - fit) < spread / 3)
        assert drawn[:, i, support].std(axis=0) == pytest.approx(spread, rel=0.15)
        assert variances[:, i].mean() == pytest.approx(squares[0] / (dof - 2), rel=0.1)
        assert np.mean(np.delete(drawn[:, i], support, axis=1) != 0.0) < 0.1
    assert features == pytest.approx([2, 3], abs=0.8)
