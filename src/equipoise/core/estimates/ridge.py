"""Ridge regression with a λ that is given; ``estimators`` holds those that choose it by the data.

With S⁻¹ = VVᵀ everything follows from M = (I + λVᵀV)⁻¹, and neither S nor its inverse is formed:

    β̂^λ = β̂ − λVMVᵀβ̂,   W = (S + λI)⁻¹ = VMVᵀ,   WSW = (VM)(VM)ᵀ
"""

from __future__ import annotations

from equipoise.core.arithmetic.solving import cholesky_solve
from equipoise.core.arms import factor
from equipoise.core.arms.coordinates import to_user_coordinates
from equipoise.core.arms.state import State
from equipoise.core.arrays import Matrix, Vector
from equipoise.core.jit.decorators import compiled, inlined


@inlined
def fit_ridge(
    state: State,
    i: int,
    ridge: float,
    root: Matrix,
    least_squares: Vector,
    system: Matrix,
    coef: Vector,
    along: Vector,
) -> None:
    """Write β̂^λ of arm i, eq. (13), in the user's coordinates.

    Leaves V and β̂ in ``root`` and ``least_squares``, and the lower triangle L with LLᵀ = I + λVᵀV in
    ``system``. While S is singular: R and q with S = RᵀR and Rβ̂ = q, and LLᵀ = S + λI.
    """
    to_user_coordinates(state, i, root, least_squares)
    ready = state.arms[i].data_ready
    weigh_products(root, least_squares, (ridge, 1.0) if ready else (1.0, ridge), system, along)
    cholesky_solve(system, along)
    if ready:
        take_off(root, along, least_squares, ridge, coef)
    else:
        for r in range(coef.shape[0]):
            coef[r] = along[r]


@compiled
def weigh_products(
    root: Matrix, least_squares: Vector, weights: tuple[float, float], system: Matrix, along: Vector
) -> None:
    """Write the lower triangle of aVᵀV + bI for weights (a, b), and Vᵀβ̂."""
    scale, diagonal = weights
    dim = along.shape[0]
    for r in range(dim):
        entry = 0.0
        for k in range(dim):
            entry += root[k, r] * least_squares[k]
        along[r] = entry
        for c in range(r):
            system[r, c] = 0.0
        system[r, r] = diagonal
        _add_products(root, scale, r, system)


@compiled
def take_off(root: Matrix, along: Vector, least_squares: Vector, ridge: float, coef: Vector) -> None:
    """Write β̂ − λV·along."""
    dim = along.shape[0]
    for r in range(dim):
        entry = 0.0
        for k in range(dim):
            entry += root[r, k] * along[k]
        coef[r] = least_squares[r] - ridge * entry


@inlined
def _add_products(root: Matrix, scale: float, r: int, system: Matrix) -> None:
    """Add scale·VᵀV to row r of the lower triangle."""
    dim, c = root.shape[0], 0
    # Four sums at a time, so that none waits for another.
    while c + 4 <= r + 1:
        a0, a1, a2, a3 = system[r, c], system[r, c + 1], system[r, c + 2], system[r, c + 3]
        for k in range(dim):
            entry, row = root[k, r] * scale, root[k]
            a0 += entry * row[c]
            a1 += entry * row[c + 1]
            a2 += entry * row[c + 2]
            a3 += entry * row[c + 3]
        system[r, c], system[r, c + 1], system[r, c + 2], system[r, c + 3] = a0, a1, a2, a3
        c += 4
    while c < r + 1:
        a0 = system[r, c]
        for k in range(dim):
            a0 += root[k, r] * scale * root[k, c]
        system[r, c] = a0
        c += 1


@compiled
def ridge_traces(
    root: Matrix, system: Matrix, upper: Matrix, rows: Matrix, line: Vector
) -> tuple[float, float]:
    """Tr(ΣW) and Tr(ΣWSW) from V and L as :func:`fit_ridge` leaves them, and R with Σ = RᵀR.

    VM stays in ``rows``.
    """
    dim = root.shape[0]
    for r in range(dim):
        for c in range(dim):
            entry = root[r, c]
            for k in range(c):
                entry -= system[c, k] * rows[r, k]
            rows[r, c] = entry / system[c, c]
    of_inverse = weighted_trace(upper, rows, line)
    for r in range(dim):
        for c in range(dim - 1, -1, -1):
            entry = rows[r, c]
            for k in range(c + 1, dim):
                entry -= system[k, c] * rows[r, k]
            rows[r, c] = entry / system[c, c]
    return of_inverse, weighted_trace(upper, rows, line)


@compiled
def ridge_shift(root: Matrix, rows: Matrix, ridge: float, coef: Vector, along: Vector, shift: Vector) -> None:
    """Write λWβ, what the penalty takes off β on average; ``rows`` is VM, ``along`` scratch."""
    dim = coef.shape[0]
    for c in range(dim):
        along[c] = 0.0
        for r in range(dim):
            along[c] += root[r, c] * coef[r]
    for r in range(dim):
        entry = 0.0
        for c in range(dim):
            entry += rows[r, c] * along[c]
        shift[r] = ridge * entry


@compiled
def weighted_trace(upper: Matrix, rows: Matrix, line: Vector) -> float:
    """Tr(ΣAAᵀ) = ‖RA‖² for the rows of A and Σ = RᵀR, R upper triangular: no digits are lost to signs.

    ``line`` is scratch, as long as a row.
    """
    dim = rows.shape[0]
    total = 0.0
    for r in range(dim):
        for c in range(dim):
            line[c] = 0.0
        for k in range(r, dim):
            weight = upper[r, k]
            if weight != 0.0:
                for c in range(dim):
                    line[c] += weight * rows[k, c]
        for c in range(dim):
            total += line[c] * line[c]
    return total


@compiled
def gram_of_triangle(upper: Matrix, gram: Matrix) -> None:
    """Write S = RᵀR."""
    dim = upper.shape[0]
    for r in range(dim):
        for c in range(r + 1):
            entry = 0.0
            for k in range(c + 1):
                entry += upper[k, r] * upper[k, c]
            gram[r, c] = gram[c, r] = entry


@compiled
def gram_of_inverse(
    root: Matrix, upper: factor.Stack, inverse: factor.Stack, z: Vector, rest: Vector, gram: Matrix
) -> bool:
    """Write S from V with S⁻¹ = VVᵀ; the others are scratch. False if V is singular up to rounding.

    Rotations turn V into a triangle R with S⁻¹ = RᵀR, whose inverse is a root of S.
    """
    dim = root.shape[0]
    for c in range(dim):
        for r in range(dim):
            z[r] = root[r, c]
        factor.rotate(upper[0, 0], rest, z, 0.0)
    if not factor.invert_upper(upper, 0, 0, inverse):
        return False
    for r in range(dim):
        for c in range(r + 1):
            entry = 0.0
            for k in range(r, dim):
                entry += inverse[0, 0, r, k] * inverse[0, 0, c, k]
            gram[r, c] = gram[c, r] = entry
    return True
