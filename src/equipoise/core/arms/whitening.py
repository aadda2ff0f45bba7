"""Coordinates in which the contexts' second moment is the identity."""

from __future__ import annotations

from equipoise.core.arithmetic.products import inner
from equipoise.core.arms.factor import squared_length_through
from equipoise.core.arms.state import State
from equipoise.core.arrays import Matrix, Vector
from equipoise.core.jit.decorators import inlined


@inlined
def whiten(whitener: Matrix, contexts: Matrix, row: int, z: Vector) -> None:
    """Write z = L⁻¹x, so that E[zzᵀ] = I when Σ = LLᵀ is given."""
    dim, x = z.shape[0], contexts[row]
    if whitener.shape[0] == 0:
        for r in range(dim):
            z[r] = x[r]
        return
    for r in range(dim):
        entry = x[r]
        for c in range(r):
            entry -= whitener[r, c] * z[c]
        z[r] = entry / whitener[r, r]


@inlined
def weighted_square(state: State, g: Vector) -> float:
    """gᵀΣg, times the contexts seen where Σ is learned."""
    if state.trial[0].learns_moment:
        return squared_length_through(state.seen_factor, g)
    return inner(g, g)
