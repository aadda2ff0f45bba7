"""Quantiles of χ² against exact ones, against SciPy, and one by one against each other."""

from __future__ import annotations

import numpy as np
import pytest
from exact import mp, mpf
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gammainc, gammaincc, gammaincinv

from equipoise.core.arithmetic import quantiles
from equipoise.core.arithmetic.quantiles import chi_square_quantiles


def exact_quantile(dof, chance, start):
    """Newton in 240 bits, from a quantile that is close."""
    a, p, x = mpf(dof) / 2, mpf(chance), mpf(start) / 2
    for _ in range(5):
        if chance <= 0.5:
            excess = mp.gammainc(a, 0, x, regularized=True) - p
        else:
            excess = 1 - p - mp.gammainc(a, x, mp.inf, regularized=True)
        x -= excess / mp.exp((a - 1) * mp.log(x) - x - mp.loggamma(a))
    return 2 * x


@pytest.mark.parametrize("chance", [0.05, 0.5, 0.500001, 0.01, 1e-6, 1e-100, 0.9, 0.999999, 1 - 2.0**-53])
def test_exact_quantiles(chance):
    found = chi_square_quantiles(2000, chance)
    for dof in [*range(1, 31), 50, 101, 400, 1999, 2000]:
        truth = exact_quantile(dof, chance, found[dof - 1])
        assert abs(found[dof - 1] / truth - 1) < 4e-14, dof


@pytest.mark.parametrize("chance", [0.05, 0.2, 0.95])
def test_scipy_has_the_same_up_to_a_million(chance):
    found = chi_square_quantiles(10**6, chance)
    dof = np.unique(np.geomspace(1, 10**6, 2000).astype(int))
    np.testing.assert_allclose(found[dof - 1], 2 * gammaincinv(dof / 2, chance), rtol=1e-14)


@given(st.floats(1e-300, 1.0, exclude_max=True), st.integers(1, 300))
def test_any_chance(chance, count):
    found = chi_square_quantiles(count, chance)
    assert np.all(np.isfinite(found))
    assert np.all(np.diff(found) >= 0)
    # Where the quantile is no number any more, it is 0.
    dof = np.flatnonzero(found > 1e-300) + 1
    x = found[dof - 1] / 2
    below, above = gammainc(dof / 2, x), gammaincc(dof / 2, x)
    if chance <= 0.5:
        np.testing.assert_allclose(below, chance, rtol=1e-9)
    else:
        np.testing.assert_allclose(above, 1 - chance, rtol=1e-9)


def test_quantiles_do_not_depend_on_how_many_are_asked_for():
    assert np.array_equal(chi_square_quantiles(400, 0.05)[:77], chi_square_quantiles(77, 0.05))


def test_points_and_constants():
    for point, weight in zip(quantiles.POINTS, quantiles.WEIGHTS, strict=True):
        node = mp.findroot(lambda t: mp.legendre(8, t), mpf(float(2 * point - 1)))
        slope = mp.diff(lambda t: mp.legendre(8, t), node)
        assert float((1 + node) / 2) == point
        assert float(1 / ((1 - node**2) * slope**2)) == weight
    assert float(mp.pi) == quantiles.PI
    assert float(mp.log(mp.sqrt(mp.pi) / 2)) == quantiles.LOG_GAMMA_ONE_AND_A_HALF
