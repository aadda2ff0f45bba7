"""Eigenvalues of S from its square roots, by one-sided Jacobi rotations.

Rows of a root A are rotated against each other until they are orthogonal: then the rotations hold
the eigenvectors of AAᵀ and the squared lengths of the rows its eigenvalues. S itself is never formed,
so small eigenvalues keep the digits that the root has.

Rows are padded with zeros to whole vectors (see lanes.py).
"""

from __future__ import annotations

import numpy as np

from equipoise.core.arithmetic.lanes import WIDTH, add_product, load, spread, store, total
from equipoise.core.arrays import Matrix, Vector
from equipoise.core.jit.decorators import compiled, inlined

# Rows whose cosine is below this count as orthogonal.
_ORTHOGONAL = 1e-15
# Rotations converge quadratically: a dozen sweeps do for hundreds of features.
_SWEEPS = 60


@compiled
def decompose(root: Matrix, basis: Matrix, spectrum: Vector) -> None:
    """Turn A into UᵀA with orthogonal rows; write Uᵀ and the eigenvalues of AAᵀ."""
    dim, width = spectrum.shape[0], root.shape[1]
    for r in range(dim):
        for c in range(width):
            basis[r, c] = 0.0
        basis[r, r] = 1.0
    for _ in range(_SWEEPS):
        _measure_rows(root, spectrum)
        turned = False
        for p in range(dim - 1):
            # The longest of the rows that are left goes first: fewer sweeps (de Rijk 1989).
            longest = p
            for q in range(p + 1, dim):
                longest = q if spectrum[q] > spectrum[longest] else longest
            if longest != p:
                spectrum[p], spectrum[longest] = spectrum[longest], spectrum[p]
                _swap(root, p, longest)
                _swap(basis, p, longest)
            for q in range(p + 1, dim):
                turned = _orthogonalise(root, basis, spectrum, p, q) or turned
        if not turned:
            break
    _measure_rows(root, spectrum)


@compiled
def _measure_rows(root: Matrix, squares: Vector) -> None:
    for r in range(squares.shape[0]):
        squares[r] = _product(root, r, r)


@inlined
def _product(rows: Matrix, p: int, q: int) -> float:
    width = rows.shape[1]
    p, q = p * width, q * width
    left, right = spread(0.0), spread(0.0)
    pairs = width - width % (2 * WIDTH)
    for c in range(0, pairs, 2 * WIDTH):
        left = add_product(left, load(rows, p + c), load(rows, q + c))
        right = add_product(right, load(rows, p + c + WIDTH), load(rows, q + c + WIDTH))
    if pairs < width:
        left = add_product(left, load(rows, p + pairs), load(rows, q + pairs))
    return total(left) + total(right)


@compiled
def _swap(rows: Matrix, p: int, q: int) -> None:
    for c in range(rows.shape[1]):
        rows[p, c], rows[q, c] = rows[q, c], rows[p, c]


@compiled
def _orthogonalise(root: Matrix, basis: Matrix, squares: Vector, p: int, q: int) -> bool:
    """Rotate rows p and q, whose squared lengths are known, unless they are orthogonal already."""
    along = _product(root, p, q)
    if not abs(along) > _ORTHOGONAL * np.sqrt(squares[p]) * np.sqrt(squares[q]):
        return False
    ratio = (squares[q] - squares[p]) / (2.0 * along)
    tangent = 1.0 / (abs(ratio) + np.sqrt(1.0 + ratio * ratio))
    if ratio < 0.0:
        tangent = -tangent
    cosine = 1.0 / np.sqrt(1.0 + tangent * tangent)
    _rotate(root, p, q, cosine, cosine * tangent)
    _rotate(basis, p, q, cosine, cosine * tangent)
    squares[p] = max(squares[p] - tangent * along, 0.0)
    squares[q] += tangent * along
    return True


@compiled
def _rotate(rows: Matrix, p: int, q: int, cosine: float, sine: float) -> None:
    """Turn rows p and q against each other."""
    width = rows.shape[1]
    p, q = p * width, q * width
    nothing, turn, left, right = spread(0.0), spread(cosine), spread(-sine), spread(sine)
    for c in range(0, width, WIDTH):
        one, other = load(rows, p + c), load(rows, q + c)
        store(rows, p + c, add_product(add_product(nothing, turn, one), left, other))
        store(rows, q + c, add_product(add_product(nothing, turn, other), right, one))
