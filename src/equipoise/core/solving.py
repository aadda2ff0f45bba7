"""Small linear systems and changes of coordinates inside kernels, which cannot allocate."""

from __future__ import annotations

import numpy as np

from equipoise.core.compiled import compiled
from equipoise.core.layout import Matrix, State, Vector

# Pivots below this share of their diagonal entry are rounding.
_OPEN = 1e-13


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
                open_end = entry <= _OPEN * system[r, r]
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


@compiled
def to_user_coordinates(state: State, i: int, root: Matrix, coef: Vector) -> None:
    """V_x = L⁻ᵀV and β̂ = L⁻ᵀβ_z for a ready arm; R_x = RLᵀ and q for one that is not."""
    dim = coef.shape[0]
    data = state.arms[i].buffer
    for r in range(dim):
        coef[r] = state.coefs[i, r]
        for c in range(dim):
            root[r, c] = state.factors[i, data, r, c]
    if state.whitener.shape[0] == 0:
        return
    lower = state.whitener
    if state.arms[i].data_ready:
        for r in range(dim - 1, -1, -1):
            for k in range(r + 1, dim):
                coef[r] -= lower[k, r] * coef[k]
                for c in range(dim):
                    root[r, c] -= lower[k, r] * root[k, c]
            coef[r] /= lower[r, r]
            for c in range(dim):
                root[r, c] /= lower[r, r]
    else:
        for r in range(dim):
            for c in range(dim - 1, -1, -1):
                entry = 0.0
                for k in range(c + 1):
                    entry += root[r, k] * lower[c, k]
                root[r, c] = entry
