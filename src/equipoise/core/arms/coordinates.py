"""An arm's factor and coefficients in the user's coordinates."""

from __future__ import annotations

from equipoise.core.arms.state import State
from equipoise.core.arrays import Matrix, Vector
from equipoise.core.jit.decorators import compiled


@compiled
def to_user_coordinates(state: State, i: int, root: Matrix, coef: Vector) -> None:
    """V_x = L⁻ᵀV and β̂ = L⁻ᵀβ_z for a ready arm; R_x = RLᵀ and q for one that is not."""
    dim = coef.shape[0]
    copy_arm(state, i, root, coef)
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


@compiled
def copy_arm(state: State, i: int, root: Matrix, coef: Vector) -> None:
    """An arm's factor and coefficients as they are kept."""
    dim = coef.shape[0]
    data = state.arms[i].buffer
    for r in range(dim):
        coef[r] = state.coefs[i, r]
        row, kept = root[r], state.factors[i, data, r]
        for c in range(dim):
            row[c] = kept[c]
