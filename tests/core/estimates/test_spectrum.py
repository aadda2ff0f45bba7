"""Jacobi rotations: eigenvalues with all the digits of the root."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.core.arithmetic.lanes import aligned_zeros, padded
from equipoise.core.estimates.estimators.spectrum import decompose


def decomposed(root):
    dim = len(root)
    turned, basis = (aligned_zeros((dim, padded(dim))) for _ in range(2))
    turned[:, :dim] = root
    spectrum = np.zeros(dim)
    decompose(turned, basis, spectrum)
    assert not turned[:, dim:].any()
    return turned[:, :dim], basis[:, :dim], spectrum


@given(st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_any_root(dim, seed):
    root = np.random.default_rng(seed).normal(size=(dim, dim))
    turned, basis, spectrum = decomposed(root)
    np.testing.assert_allclose(basis @ basis.T, np.eye(dim), atol=1e-13)
    np.testing.assert_allclose(turned, basis @ root, atol=1e-12)
    np.testing.assert_allclose(turned @ turned.T, np.diag(spectrum), atol=1e-12 * spectrum.max())
    np.testing.assert_allclose(
        np.sort(spectrum), np.linalg.svd(root, compute_uv=False)[::-1] ** 2, rtol=1e-9, atol=1e-15
    )


def test_small_eigenvalues_keep_their_digits():
    left, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(6, 6)))
    sizes = 10.0 ** -np.arange(0.0, 12.0, 2.0)
    _, _, spectrum = decomposed(sizes[:, None] * left)
    np.testing.assert_allclose(np.sort(np.sqrt(spectrum))[::-1], sizes, rtol=1e-12)


@pytest.mark.parametrize("root", [np.zeros((4, 4)), np.ones((4, 4)), np.diag([1.0, 0.0, 1e150, 1e-150])])
def test_degenerate_roots(root):
    turned, basis, spectrum = decomposed(root)
    assert np.all(np.isfinite(turned))
    np.testing.assert_allclose(basis @ basis.T, np.eye(4), atol=1e-13)
    np.testing.assert_allclose(
        np.sort(np.sqrt(spectrum)), np.sort(np.linalg.svd(root)[1]), rtol=1e-12, atol=1e-12 * root.max()
    )
