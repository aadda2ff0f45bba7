"""Square-root least squares: S = XᵀX is never formed, only factors of it.

With S⁻¹ = VVᵀ, a new context x costs one symmetric rank-one step on the right of V (Potter 1963):

    f = Vᵀx,   h = 1 + fᵀf,   g = Vf = S⁻¹x,   V ← V − g fᵀ / (h + √h)

V has the condition number of X, not of XᵀX, so contexts with condition number 10⁸ keep about eight
digits where an update of S⁻¹ itself would keep none. Until S is invertible the arm holds the
triangular factor R of S = RᵀR instead, fed by Givens rotations.

All functions address one matrix inside a stack, ``factors[i, b]``, because slicing a view would cost
more than the arithmetic at small d. Rows are padded with zeros to whole vectors (see lanes.py).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from equipoise.core.arithmetic.lanes import (
    WIDTH,
    add_product,
    load,
    load_one,
    spread,
    store,
    store_one,
    total,
)
from equipoise.core.arrays import Matrix, Vector
from equipoise.core.jit.decorators import compiled, inlined

# Rounding leaves a pivot of about 10⁻¹⁶·√k of its column's length where columns are dependent;
# independent ones with condition number 10⁸ stay above 10⁻¹² even in an unlucky start.
DEPENDENT = 1e-13

Stack = npt.NDArray[np.float64]  # [m, 2, d, padded d]


@inlined
def beside(b: int) -> int:
    """The other one of an arm's two factors."""
    return 1 - b


@inlined
def gain(factors: Stack, i: int, b: int, z: Vector, f: Vector, g: Vector) -> float:
    """Write f = Vᵀz and g = S⁻¹z; return h = 1 + zᵀS⁻¹z."""
    h = 1.0 + project(factors, i, b, z, f)
    width = factors.shape[3]
    row = (factors.shape[1] * i + b) * z.shape[0] * width
    for r in range(z.shape[0]):
        entry = spread(0.0)
        for c in range(0, width, WIDTH):
            entry = add_product(entry, load(factors, row + c), load(f, c))
        g[r] = total(entry)
        row += width
    return h


@inlined
def extend(factors: Stack, i: int, b: int, target: int, z: Vector, f: Vector, g: Vector) -> float:
    """Like :func:`gain`, and write V − g fᵀ/(h + √h) into ``factors[i, target]``; it may be ``b``."""
    h = 1.0 + project(factors, i, b, z, f)
    scale = -1.0 / (h + np.sqrt(h))
    dim, width = z.shape[0], factors.shape[3]
    row = (factors.shape[1] * i + b) * dim * width
    shift = (target - b) * dim * width
    # A row is read for g and changed in one go; four rows at a time, so that sums need not wait.
    fours = dim - dim % 4
    for r in range(0, fours, 4):
        two, three, four = row + width, row + 2 * width, row + 3 * width
        s0, s1, s2, s3 = spread(0.0), spread(0.0), spread(0.0), spread(0.0)
        for c in range(0, width, WIDTH):
            along = load(f, c)
            s0 = add_product(s0, load(factors, row + c), along)
            s1 = add_product(s1, load(factors, two + c), along)
            s2 = add_product(s2, load(factors, three + c), along)
            s3 = add_product(s3, load(factors, four + c), along)
        g0, g1, g2, g3 = total(s0), total(s1), total(s2), total(s3)
        g[r], g[r + 1], g[r + 2], g[r + 3] = g0, g1, g2, g3
        s0, s1, s2, s3 = spread(g0 * scale), spread(g1 * scale), spread(g2 * scale), spread(g3 * scale)
        for c in range(0, width, WIDTH):
            along = load(f, c)
            store(factors, row + shift + c, add_product(load(factors, row + c), s0, along))
            store(factors, two + shift + c, add_product(load(factors, two + c), s1, along))
            store(factors, three + shift + c, add_product(load(factors, three + c), s2, along))
            store(factors, four + shift + c, add_product(load(factors, four + c), s3, along))
        row += 4 * width
    for r in range(fours, dim):
        s0 = spread(0.0)
        for c in range(0, width, WIDTH):
            s0 = add_product(s0, load(factors, row + c), load(f, c))
        g0 = total(s0)
        g[r] = g0
        s0 = spread(g0 * scale)
        for c in range(0, width, WIDTH):
            store(factors, row + shift + c, add_product(load(factors, row + c), s0, load(f, c)))
        row += width
    return h


@inlined
def project(factors: Stack, i: int, b: int, z: Vector, f: Vector) -> float:
    """Write f = Vᵀz; return zᵀS⁻¹z = fᵀf."""
    dim, width = z.shape[0], factors.shape[3]
    start = (factors.shape[1] * i + b) * dim * width
    squares = spread(0.0)
    # Strips of eight columns, a whole cache line of every row, then what is left.
    pairs = width - width % (2 * WIDTH)
    for c in range(0, pairs, 2 * WIDTH):
        left, right = spread(0.0), spread(0.0)
        place = start + c
        for r in range(dim):
            left = add_product(left, load(factors, place), spread(z[r]))
            right = add_product(right, load(factors, place + WIDTH), spread(z[r]))
            place += width
        store(f, c, left)
        store(f, c + WIDTH, right)
        squares = add_product(add_product(squares, left, left), right, right)
    if pairs < width:
        left = spread(0.0)
        place = start + pairs
        for r in range(dim):
            left = add_product(left, load(factors, place), spread(z[r]))
            place += width
        store(f, pairs, left)
        squares = add_product(squares, left, left)
    return total(squares)


@compiled
def squared_norm(factors: Stack, i: int, b: int) -> float:
    """‖V‖² = Tr(S⁻¹)."""
    dim, width = factors.shape[2:]
    start = (factors.shape[1] * i + b) * dim * width
    squares = spread(0.0)
    for c in range(0, width, WIDTH):
        column = spread(0.0)
        for place in range(start + c, start + dim * width, width):
            entries = load(factors, place)
            column = add_product(column, entries, entries)
        squares = add_product(squares, column, spread(1.0))
    return total(squares)


@compiled
def squared_norm_through(upper: Matrix, factors: Stack, i: int, b: int) -> float:
    """‖RV‖² = Tr(RᵀR S⁻¹) for an upper triangular R."""
    dim, width = factors.shape[2:]
    start = (factors.shape[1] * i + b) * dim * width
    squares = spread(0.0)
    for c in range(0, width, WIDTH):
        for r in range(dim):
            entry = spread(0.0)
            place = start + r * width + c
            for k in range(r, dim):
                entry = add_product(entry, spread(upper[r, k]), load(factors, place))
                place += width
            squares = add_product(squares, entry, entry)
    return total(squares)


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
    dim = upper.shape[0]
    for j in range(dim):
        # Entries too small to be squared count as zero.
        square = upper[j, j] * upper[j, j] + z[j] * z[j]
        if z[j] != 0.0 and square > 0.0:
            length = np.sqrt(square)
            cosine, sine = upper[j, j] / length, z[j] / length
            upper[j, j] = length
            line, c = upper[j], j + 1
            # Four columns are read before any is written, so that they need not wait for each other.
            while c + 4 <= dim:
                a0, a1, a2, a3 = line[c], line[c + 1], line[c + 2], line[c + 3]
                b0, b1, b2, b3 = z[c], z[c + 1], z[c + 2], z[c + 3]
                line[c] = cosine * a0 + sine * b0
                line[c + 1] = cosine * a1 + sine * b1
                line[c + 2] = cosine * a2 + sine * b2
                line[c + 3] = cosine * a3 + sine * b3
                z[c] = cosine * b0 - sine * a0
                z[c + 1] = cosine * b1 - sine * a1
                z[c + 2] = cosine * b2 - sine * a2
                z[c + 3] = cosine * b3 - sine * a3
                c += 4
            while c < dim:
                above, below = line[c], z[c]
                line[c] = cosine * above + sine * below
                z[c] = cosine * below - sine * above
                c += 1
            above = rotated[j]
            rotated[j] = cosine * above + sine * y
            y = cosine * y - sine * above
    return y


@compiled
def rotate_together(factors: Stack, rotated: Matrix, first: int, rows: Stack) -> None:
    """:func:`rotate` for the first rows of several arms, to the same bits: ``rows[k]`` of arm ``first + k``.

    A row is padded as those of factors are, and y comes after that; what is left of y stays there. Every turn
    begins with a root and quotients that the arm's next turn waits for, so arms take turns.
    """
    arms, count, across = rows.shape
    dim, width = factors.shape[2:]
    for r in range(count):
        for j in range(dim):
            for k in range(arms):
                above = (factors.shape[1] * (first + k) * dim + j) * width
                below = (k * count + r) * across
                pivot, entry = load_one(factors, above + j), load_one(rows, below + j)
                square = pivot * pivot + entry * entry
                if entry != 0.0 and square > 0.0:
                    length = np.sqrt(square)
                    cosine, sine = pivot / length, entry / length
                    # Both rows are zero before column j, and stay so.
                    for c in range(j - j % WIDTH, width, WIDTH):
                        high, low = load(factors, above + c), load(rows, below + c)
                        store(factors, above + c, spread(cosine) * high + spread(sine) * low)
                        store(rows, below + c, spread(cosine) * low - spread(sine) * high)
                    store_one(factors, above + j, length)
                    store_one(rows, below + j, 0.0)
                    one, other = rotated[first + k, j], load_one(rows, below + width)
                    rotated[first + k, j] = cosine * one + sine * other
                    store_one(rows, below + width, cosine * other - sine * one)
                else:
                    store_one(rows, below + j, 0.0)  # it may be too small to be squared, and is left out


@compiled
def invert_upper(factors: Stack, i: int, b: int, inverse: Stack) -> bool:
    """Write R⁻¹ of the triangular ``factors[i, b]`` into ``inverse[0, 0]``.

    False if a column is, up to rounding, a combination of the columns before it.
    """
    dim, width = factors.shape[2:]
    for c in range(dim):
        column = 0.0
        for r in range(c + 1):
            column += abs(factors[i, b, r, c])
        if abs(factors[i, b, c, c]) <= DEPENDENT * column:
            return False
    for r in range(dim - 1, -1, -1):
        # Row r of R·R⁻¹ = I; rows below it are known.
        pivot = 1.0 / factors[i, b, r, r]
        for c in range(0, width, WIDTH):
            entries = spread(0.0)
            for k in range(r + 1, c + WIDTH if c + WIDTH < dim else dim):
                entries = add_product(entries, spread(factors[i, b, r, k]), load(inverse, k * width + c))
            store(inverse, r * width + c, add_product(spread(0.0), entries, spread(-pivot)))
        inverse[0, 0, r, r] = pivot
    return True


@compiled
def copy(source: Stack, i: int, b: int, target: Stack, j: int, t: int) -> None:
    """Copy one matrix of a stack."""
    dim = source.shape[2]
    for r in range(dim):
        for c in range(dim):
            target[j, t, r, c] = source[i, b, r, c]


@compiled
def clear(factors: Stack, i: int, b: int) -> None:
    """Fill one matrix of a stack with zeros."""
    dim = factors.shape[2]
    for r in range(dim):
        for c in range(dim):
            factors[i, b, r, c] = 0.0
