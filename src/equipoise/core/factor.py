"""Square-root least squares: S = XᵀX is never formed, only factors of it.

With S⁻¹ = VVᵀ, a new context x costs one symmetric rank-one step on the right of V (Potter 1963):

    f = Vᵀx,   h = 1 + fᵀf,   g = Vf = S⁻¹x,   V ← V − g fᵀ / (h + √h)

V has the condition number of X, not of XᵀX, so contexts with condition number 10⁸ keep about eight
digits where an update of S⁻¹ itself would keep none. Until S is invertible the arm holds the
triangular factor R of S = RᵀR instead, fed by Givens rotations.

All functions address one matrix inside a stack, ``factors[i, b]``, because slicing a view would cost
more than the arithmetic at small d.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from equipoise.core.compiled import compiled, inlined
from equipoise.core.layout import Matrix, Vector

# Rounding leaves a pivot of about 10⁻¹⁶·√k of its column's length where columns are dependent;
# independent ones with condition number 10⁸ stay above 10⁻¹² even in an unlucky start.
_DEPENDENT = 1e-13

Stack = npt.NDArray[np.float64]  # [m, 2, d, d]


@inlined
def gain(factors: Stack, i: int, b: int, z: Vector, f: Vector, g: Vector) -> float:
    """Write f = Vᵀz and g = S⁻¹z; return h = 1 + zᵀS⁻¹z."""
    dim = z.shape[0]
    h = 1.0 + project(factors, i, b, z, f)
    whole = dim - dim % 4
    for r in range(dim):
        # Four running sums: a fixed order of additions that still fits vector registers.
        s0 = s1 = s2 = s3 = 0.0
        for c in range(0, whole, 4):
            s0 += factors[i, b, r, c] * f[c]
            s1 += factors[i, b, r, c + 1] * f[c + 1]
            s2 += factors[i, b, r, c + 2] * f[c + 2]
            s3 += factors[i, b, r, c + 3] * f[c + 3]
        for c in range(whole, dim):
            s0 += factors[i, b, r, c] * f[c]
        g[r] = (s0 + s1) + (s2 + s3)
    return h


@inlined
def project(factors: Stack, i: int, b: int, z: Vector, f: Vector) -> float:
    """Write f = Vᵀz; return zᵀS⁻¹z = fᵀf."""
    dim = z.shape[0]
    for c in range(dim):
        f[c] = 0.0
    for r in range(dim):
        value = z[r]
        for c in range(dim):
            f[c] += factors[i, b, r, c] * value
    total = 0.0
    for c in range(dim):
        total += f[c] * f[c]
    return total


@inlined
def shrink(factors: Stack, i: int, b: int, target: int, f: Vector, g: Vector, h: float) -> None:
    """Write V − g fᵀ/(h + √h) into ``factors[i, target]``; ``target`` may be ``b``."""
    dim = f.shape[0]
    scale = 1.0 / (h + np.sqrt(h))
    for r in range(dim):
        step = g[r] * scale
        for c in range(dim):
            factors[i, target, r, c] = factors[i, b, r, c] - step * f[c]


@compiled
def squared_norm(factors: Stack, i: int, b: int) -> float:
    """‖V‖² = Tr(S⁻¹)."""
    dim = factors.shape[2]
    total = 0.0
    for r in range(dim):
        for c in range(dim):
            total += factors[i, b, r, c] * factors[i, b, r, c]
    return total


@compiled
def squared_norm_through(upper: Matrix, factors: Stack, i: int, b: int) -> float:
    """‖RV‖² = Tr(RᵀR S⁻¹) for an upper triangular R."""
    dim = factors.shape[2]
    total = 0.0
    for r in range(dim):
        for c in range(dim):
            entry = 0.0
            for k in range(r, dim):
                entry += upper[r, k] * factors[i, b, k, c]
            total += entry * entry
    return total


@compiled
def squared_length_through(upper: Matrix, g: Vector) -> float:
    """‖Rg‖² for an upper triangular R."""
    dim = g.shape[0]
    total = 0.0
    for r in range(dim):
        entry = 0.0
        for k in range(r, dim):
            entry += upper[r, k] * g[k]
        total += entry * entry
    return total


@compiled
def rotate(upper: Matrix, rotated: Vector, z: Vector, y: float) -> float:
    """Add the row (z, y) to the triangular system R·β = q in place; return what is left of y.

    ``z`` is used up. The square of the returned residual is what the row adds to RSS.
    """
    dim = z.shape[0]
    for j in range(dim):
        if z[j] != 0.0:
            length = np.hypot(upper[j, j], z[j])
            cosine, sine = upper[j, j] / length, z[j] / length
            upper[j, j] = length
            for c in range(j + 1, dim):
                above, below = upper[j, c], z[c]
                upper[j, c] = cosine * above + sine * below
                z[c] = cosine * below - sine * above
            above = rotated[j]
            rotated[j] = cosine * above + sine * y
            y = cosine * y - sine * above
    return y


@compiled
def invert_upper(factors: Stack, i: int, b: int, inverse: Stack) -> bool:
    """Write R⁻¹ of the triangular ``factors[i, b]`` into ``inverse[0, 0]``.

    False if a column is, up to rounding, a combination of the columns before it.
    """
    dim = factors.shape[2]
    for c in range(dim):
        column = 0.0
        for r in range(c + 1):
            column = np.hypot(column, factors[i, b, r, c])
        if abs(factors[i, b, c, c]) <= _DEPENDENT * column:
            return False
        pivot = 1.0 / factors[i, b, c, c]
        for r in range(c):
            entry = 0.0
            for k in range(r, c):
                entry += inverse[0, 0, r, k] * factors[i, b, k, c]
            inverse[0, 0, r, c] = -entry * pivot
        inverse[0, 0, c, c] = pivot
        for r in range(c + 1, dim):
            inverse[0, 0, r, c] = 0.0
    return True


@compiled
def copy(source: Stack, i: int, b: int, target: Stack, j: int, t: int) -> None:
    """Copy one matrix of a stack."""
    dim = source.shape[2]
    for r in range(dim):
        for c in range(dim):
            target[j, t, r, c] = source[i, b, r, c]
