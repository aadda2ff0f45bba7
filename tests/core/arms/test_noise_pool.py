"""Pooling of noise variances: approximations, and what equal and unequal arms do to it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import digamma, polygamma

import equipoise as eq
from equipoise.core.arms.noise_pool import note_variance, pool_variances
from equipoise.core.arms.state import ARM, TRIAL


def pooled(variances, dof):
    """Centre and degrees of freedom found for arms with these σ̂²."""
    arms, trial = np.zeros(len(variances), ARM), np.zeros(1, TRIAL)
    arms["noise_variance"], arms["dof"] = variances, dof
    for arm in arms:
        if arm["dof"] > 0:
            note_variance(arm)
    pool_variances(arms, trial[0])
    return float(trial["pooled_variance"][0]), float(trial["pooled_dof"][0])


@pytest.mark.parametrize("dof", [1, 2, 3, 5, 10, 100, 10_000])
def test_logarithms_are_corrected_for_their_degrees_of_freedom(dof):
    arm = np.zeros(1, ARM)
    arm["noise_variance"], arm["dof"] = 2.5, dof
    note_variance(arm[0])
    bias = np.log(dof / 2) - digamma(dof / 2)
    assert arm["log_variance"][0] == pytest.approx(np.log(2.5) + bias, abs=0.07 / dof)
    assert arm["log_spread"][0] == pytest.approx(polygamma(1, dof / 2), rel=0.02)


def test_equal_arms_are_pooled_and_unequal_ones_are_not():
    rng = np.random.default_rng(1)
    equal = 3.0 * rng.chisquare(200, size=10) / 200
    center, freedom = pooled(equal, 200)
    assert center == pytest.approx(3.0, rel=0.1)
    assert freedom > 20
    unequal = [0.01, 0.02, 0.75, 1, 2, 2, 3]
    center, freedom = pooled(unequal, 200)
    assert center == pytest.approx(np.exp(np.mean(np.log(unequal))), rel=0.05)
    assert freedom < 2


def test_nothing_known_is_a_guess():
    center, freedom = pooled([1.0, 1.0], 0)
    assert center == 1.0
    assert 0 < freedom < 3
    assert pooled([7.0], 50)[0] == pytest.approx(7.0, rel=0.05)


@given(
    st.lists(st.tuples(st.floats(0, 1e6), st.integers(0, 500)), min_size=1, max_size=12),
    st.floats(1e-3, 1e3),
)
def test_pooling_is_finite_and_unit_free(arms, unit):
    variances, dof = zip(*arms, strict=True)
    center, freedom = pooled(np.array(variances), np.array(dof))
    assert 0 < freedom < 150
    assert np.isfinite(center)
    known = [v for v, f in arms if f > 0 and v > 0]
    if known and min(known) > 1e-280 and all(v > 0 for v, f in arms if f > 0):
        moved, same = pooled(unit * np.array(variances), np.array(dof))
        assert moved == pytest.approx(unit * center, rel=1e-6)
        assert same == pytest.approx(freedom, rel=1e-6)


def test_an_arm_without_noise_does_not_drag_the_others_along():
    """One target is a linear function of the context: its σ̂² is rounding."""
    assert pooled([1e-31, 1.0, 1.2, 0.9], 30)[0] > 1e-3
    rng = np.random.default_rng(2)
    experiment = eq.Experiment(
        eq.Problem(["exact", "noisy"], 2, budget=60, moment=np.eye(2)), "trace-gain", seed=1
    )
    for _ in range(60):
        x = rng.normal(size=2)
        unit = experiment.ask(x)
        experiment.tell(unit.id, x.sum() + (unit.arm == "noisy") * rng.normal())
    assert experiment.counts["noisy"] > 40
