"""Lasso fits: the same as the peers', in the units of the rows."""

from __future__ import annotations

import math

import numpy as np
import pytest

from equipoise.core.sparse import fit_lasso
from equipoise.errors import InvalidArgument


def world(seed=1, rows=50, arms=3, dim=40):
    rng = np.random.default_rng(seed)
    places = np.arange(arms * rows) % arms
    contexts = rng.normal(size=(len(places), dim))
    coefs = np.zeros((arms, dim))
    coefs[:, [2, 30]] = rng.choice([-1.0, 1.0], size=(arms, 2))
    outcomes = np.einsum("rj,rj->r", contexts, coefs[places]) + 0.3 * rng.normal(size=len(places))
    return (contexts, outcomes, places), coefs


@pytest.mark.parametrize("joint", [True, False])
@pytest.mark.parametrize("refit", [True, False])
@pytest.mark.parametrize("noise", [None, [0.09] * 3])
def test_fits_are_close_and_keep_the_support(joint, refit, noise):
    rows, truth = world()
    coefs = fit_lasso(*rows, 3, joint=joint, refit=refit, noise=noise)
    # Least squares on the two features would have squared errors of about 2·0.09/50 an arm.
    assert np.sum((coefs - truth) ** 2, axis=1).max() < (0.08 if refit else 0.15)
    assert (coefs[:, [2, 30]] * truth[:, [2, 30]] > 0.0).all()


def test_known_noise_gives_the_lambda_of_the_note():
    """λᵢ = σᵢ√(2 log d / kᵢ) of (1/2k)‖Y − Xβ‖² + λ‖β‖₁, the objective of scikit-learn."""
    linear_model = pytest.importorskip("sklearn.linear_model")
    (contexts, outcomes, arms), _ = world()
    for i in range(3):
        own = arms == i
        # The columns of the note have length √k.
        contexts[own] *= math.sqrt(own.sum()) / np.linalg.norm(contexts[own], axis=0)
    noise = np.array([0.05, 0.1, 0.2])
    coefs = fit_lasso(contexts, outcomes, arms, 3, joint=False, noise=noise)
    for i in range(3):
        own = arms == i
        penalty = math.sqrt(noise[i] * 2.0 * math.log(40) / own.sum())
        peer = linear_model.Lasso(alpha=penalty, fit_intercept=False, tol=1e-10, max_iter=10_000)
        np.testing.assert_allclose(coefs[i], peer.fit(contexts[own], outcomes[own]).coef_, atol=2e-3)


def test_cross_validation_is_as_good_as_that_of_the_peer():
    linear_model = pytest.importorskip("sklearn.linear_model")
    ours, theirs = [], []
    for seed in range(8):
        (contexts, outcomes, arms), truth = world(seed, arms=1)
        ours.append(np.sum((fit_lasso(contexts, outcomes, arms, 1, joint=False) - truth) ** 2))
        peer = linear_model.LassoCV(cv=5, fit_intercept=False, max_iter=10_000).fit(contexts, outcomes)
        theirs.append(np.sum((peer.coef_ - truth[0]) ** 2))
    assert np.mean(ours) < 1.3 * np.mean(theirs)


@pytest.mark.parametrize("joint", [True, False])
def test_units(joint):
    (contexts, outcomes, arms), _ = world(2)
    coefs = fit_lasso(contexts, outcomes, arms, 3, joint=joint)
    columns = np.geomspace(1e-4, 1e4, 40)
    other = fit_lasso(contexts * columns, outcomes * 1e5, arms, 3, joint=joint)
    np.testing.assert_allclose(other * columns / 1e5, coefs, atol=1e-9)


@pytest.mark.parametrize("joint", [True, False])
@pytest.mark.parametrize("refit", [True, False])
@pytest.mark.parametrize("noise", [None, [1.0, 1.0, 1.0]])
def test_few_rows_and_empty_arms(joint, refit, noise):
    (contexts, outcomes, arms), _ = world(3)
    for rows in (0, 1, 2, 5):
        few = contexts[:rows], outcomes[:rows], arms[:rows]
        coefs = fit_lasso(*few, 3, joint=joint, refit=refit, noise=noise)
        assert coefs.shape == (3, 40)
        assert np.isfinite(coefs).all()
        assert not coefs[rows:].any()
    coefs = fit_lasso(contexts, np.zeros(150), arms, 3, joint=joint, refit=refit, noise=noise)
    assert not coefs.any()


@pytest.mark.parametrize("noise", [[1.0, 2.0], [1.0, 2.0, 0.0], [1.0, 2.0, np.nan], "loud"])
def test_wrong_noise_is_refused(noise):
    rows, _ = world()
    with pytest.raises(InvalidArgument, match="3 positive numbers"):
        fit_lasso(*rows, 3, joint=True, noise=noise)
