"""Small linear systems inside kernels, which cannot allocate."""

from __future__ import annotations

import numpy as np

from equipoise.core.arrays import Matrix, Vector
from equipoise.core.jit.decorators import compiled, inlined

# Pivots below this share of their diagonal entry are rounding.
OPEN = 1e-13


@compiled
def cholesky_solve(system: Matrix, x: Vector) -> None:
    """Solve in place with the lower triangle of a positive definite system."""
    dim = x.shape[0]
    for c in range(dim):
        entry = system[c, c]
        for k in range(c):
            entry -= system[c, k] * system[c, k]
        # Without a penalty a singular system leaves some directions open: those stay at 0.
        open_end = entry <= OPEN * system[c, c]
        system[c, c] = np.inf if open_end else np.sqrt(entry)
        _divide_below(system, c)
        # Here and not in a loop of its own, so that its quotients are computed beside the factor's.
        entry = x[c]
        for k in range(c):
            entry -= system[c, k] * x[k]
        x[c] = entry / system[c, c]
    for r in range(dim - 1, -1, -1):
        entry = x[r]
        for k in range(r + 1, dim):
            entry -= system[k, r] * x[k]
        x[r] = entry / system[r, r]


@inlined
def _divide_below(system: Matrix, c: int) -> None:
    """Column c of the factor, below its diagonal entry."""
    dim, r, pivot = system.shape[0], c + 1, system[c, c]
    # Four rows at a time, so that no sum waits for another.
    while r + 4 <= dim:
        row, row1, row2, row3 = system[r], system[r + 1], system[r + 2], system[r + 3]
        a0, a1, a2, a3 = row[c], row1[c], row2[c], row3[c]
        for k in range(c):
            entry = system[c, k]
            a0 -= row[k] * entry
            a1 -= row1[k] * entry
            a2 -= row2[k] * entry
            a3 -= row3[k] * entry
        row[c], row1[c], row2[c], row3[c] = a0 / pivot, a1 / pivot, a2 / pivot, a3 / pivot
        r += 4
    while r < dim:
        a0 = system[r, c]
        for k in range(c):
            a0 -= system[r, k] * system[c, k]
        system[r, c] = a0 / pivot
        r += 1
