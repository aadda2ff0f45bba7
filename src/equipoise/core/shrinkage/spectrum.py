"""Eigenvalues of S from its square roots, by one-sided Jacobi rotations.

Rows of a root A are rotated against each other until they are orthogonal: then the rotations hold
the eigenvectors of AAᵀ and the squared lengths of the rows its eigenvalues. S itself is never formed,
so small eigenvalues keep the digits that the root has.
"""

from __future__ import annotations

import numpy as np

from equipoise.core.compiled import compiled
from equipoise.core.layout import Matrix, Vector

# Rows whose cosine is below this count as orthogonal.
_ORTHOGONAL = 1e-15
# Rotations converge quadratically: a dozen sweeps do for hundreds of features.
_SWEEPS = 60


@compiled
def decompose(root: Matrix, basis: Matrix, spectrum: Vector) -> None:
    """Turn A into UᵀA with orthogonal rows; write Uᵀ and the eigenvalues of AAᵀ."""
    dim = spectrum.shape[0]
    for r in range(dim):
        for c in range(dim):
            basis[r, c] = 0.0
        basis[r, r] = 1.0
    for _ in range(_SWEEPS):
        turned = False
        for p in range(dim - 1):
            for q in range(p + 1, dim):
                turned = _orthogonalise(root, basis, p, q) or turned
        if not turned:
            break
    for r in range(dim):
        square = 0.0
        for c in range(dim):
            square += root[r, c] * root[r, c]
        spectrum[r] = square


@compiled
def _orthogonalise(root: Matrix, basis: Matrix, p: int, q: int) -> bool:
    """Rotate rows p and q unless they are orthogonal already."""
    dim = root.shape[1]
    first = second = product = 0.0
    for c in range(dim):
        first += root[p, c] * root[p, c]
        second += root[q, c] * root[q, c]
        product += root[p, c] * root[q, c]
    if not abs(product) > _ORTHOGONAL * np.sqrt(first) * np.sqrt(second):
        return False
    ratio = (second - first) / (2.0 * product)
    tangent = 1.0 / (abs(ratio) + np.sqrt(1.0 + ratio * ratio))
    if ratio < 0.0:
        tangent = -tangent
    cosine = 1.0 / np.sqrt(1.0 + tangent * tangent)
    sine = cosine * tangent
    for c in range(dim):
        one, other = root[p, c], root[q, c]
        root[p, c] = cosine * one - sine * other
        root[q, c] = sine * one + cosine * other
        one, other = basis[p, c], basis[q, c]
        basis[p, c] = cosine * one - sine * other
        basis[q, c] = sine * one + cosine * other
    return True
