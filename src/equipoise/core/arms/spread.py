"""Noise that depends on the context: how far it moves an arm's expected error.

Where a unit's noise variance is σ(x)², the expected error of least squares is not σ²Tr(ΣS⁻¹) but

    Tr(ΣS⁻¹MS⁻¹),   M = Σ σ(xₜ)²xₜxₜᵀ

An arm whose contexts are like the population's has S ≈ kΣ, and this is Σ σ(xₜ)²rₜ/k² with r = xᵀΣ⁻¹x: the
mean of σ(x)² over the units, not each with the same weight but each with its r. Only noise that grows or
falls with the *length* of the context matters. So an arm keeps two sums over its recursive residuals
w = e/√h,

    squares = Σ w²q,   weights = Σ q,   q = (r/d)/h

and its ``spread`` is the weighted mean over σ̂², drawn towards 1. The h in q counts a unit less that has a
direction almost for itself, as its residual in the end does. O(d) a unit, O(d²) where Σ is learned.

Recursive residuals of normal noise are independent of β̂ (appendix of the paper), so choices that read their
squares leave β̂ normal around the truth; with noise that is symmetric given x they leave it unbiased. If the
noise is constant, the spread is moreover independent of σ̂².

What keeps these sums is left out of the kernels of policies without ``spread="unequal"``: their state has
``spreads`` of one dimension.
"""

from __future__ import annotations

from typing import Any

from equipoise.core.arms.state import State
from equipoise.core.jit.decorators import compiled, only_where
from equipoise.core.jit.handles import Handle
from equipoise.errors import InvalidPolicy

CONSTANT, UNEQUAL = "constant", "unequal"

# Units that all have noise σ̂² and a typical context: what is known of the spread before anything is seen.
_DOUBT = 5.0
_SQUARES, _WEIGHTS = 0, 1


def check_spread(spread: object) -> None:
    """Refuse words that are not a kind of spread."""
    if spread not in (CONSTANT, UNEQUAL):
        raise InvalidPolicy(f"spread={spread!r} is not known", hint="use 'constant' or 'unequal'")


def _keeps_spread(state: Handle) -> bool:
    """Whether states of this type belong to policies that read ``arm.spread``."""
    return bool(state.field("spreads").ndim == 2)


@only_where(_keeps_spread)
@compiled
def forget_spread(state: State, i: int) -> None:
    """Arm i has no residuals."""
    state.spreads[i, _SQUARES] = state.spreads[i, _WEIGHTS] = 0.0
    state.arms[i].spread = 1.0


@only_where(_keeps_spread)
@compiled
def note_spread(state: State, learned: Any) -> None:
    """Take in a residual of the unit with context z; ``learned`` is the arm, w² and h."""
    i, square, h = learned
    arm = state.arms[i]
    weight = _squared_length(state) / (state.z.shape[0] * h)
    state.spreads[i, _SQUARES] += square * weight
    state.spreads[i, _WEIGHTS] += weight
    if arm.noise_variance > 0.0:
        mean = state.spreads[i, _SQUARES] / arm.noise_variance
        arm.spread = (mean + _DOUBT) / (state.spreads[i, _WEIGHTS] + _DOUBT)


@compiled
def _squared_length(state: State) -> float:
    """r = xᵀΣ⁻¹x of the context z; with a learned Σ, as far as it is known."""
    z, along = state.z, state.g
    square = 0.0
    if not state.trial[0].learns_moment:
        for r in range(z.shape[0]):
            square += z[r] * z[r]
        return square
    for c in range(z.shape[0]):
        entry = z[c]
        for r in range(c):
            entry -= state.seen_factor[r, c] * along[r]
        pivot = state.seen_factor[c, c]
        along[c] = entry / pivot if pivot != 0.0 else 0.0
        square += along[c] * along[c]
    seen: float = state.trial[0].seen
    return square * seen
