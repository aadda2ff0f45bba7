"""Small linear systems inside kernels, which cannot allocate."""

from __future__ import annotations

import numpy as np

from equipoise.core.arrays import Matrix, Vector
from equipoise.core.jit.decorators import compiled

# Pivots below this share of their diagonal entry are rounding.
OPEN = 1e-13


@compiled
def cholesky_solve(system: Matrix, x: Vector) -> None:
    """Solve in place with the lower triangle of a positive definite system."""
    dim = x.shape[0]
    for r in range(dim):
        for c in range(r + 1):
            entry = system[r, c]
            for k in range(c):
                entry -= system[r, k] * system[c, k]
            if r == c:
                # Without a penalty a singular system leaves some directions open: those stay at 0.
                open_end = entry <= OPEN * system[r, r]
                system[r, r] = np.inf if open_end else np.sqrt(entry)
            else:
                system[r, c] = entry / system[c, c]
        entry = x[r]
        for k in range(r):
            entry -= system[r, k] * x[k]
        x[r] = entry / system[r, r]
    for r in range(dim - 1, -1, -1):
        entry = x[r]
        for k in range(r + 1, dim):
            entry -= system[k, r] * x[k]
        x[r] = entry / system[r, r]
