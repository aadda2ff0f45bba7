"""How far σ̂² and Tr(ΣΣ̂⁻¹) can stray: Props. 2 and 3, and the norm of contexts."""

from __future__ import annotations

import math

from equipoise.core.arms.widths import theory_constant
from equipoise.errors import InvalidArgument


def variance_width(*, pulls: int, dim: int, arms: int, budget: int, bound: float, delta: float) -> float:
    """Δ = R·√(64/(k−d))·log(2mn/δ) of Prop. 2, eq. (11).

    With probability 1 − δ/2, |σ̂² − σ²| ≤ Δ for all arms and steps at once, if R ≥ max σ².
    """
    if pulls < dim + 1:
        raise InvalidArgument(f"Prop. 2 needs k ≥ d + 1 = {dim + 1} pulls, not {pulls}")
    if not 0.0 < delta < 0.75:
        raise InvalidArgument(f"delta={delta!r} is not between 0 and 3/4")
    return theory_constant(bound, arms, budget, delta) / math.sqrt(pulls - dim)


def trace_constant(*, dim: int, arms: int, budget: int, delta: float) -> float:
    """C_Tr = 1 + √(2·log(4nm/δ)/d) of Prop. 3."""
    if not 0.0 < delta < 1.0:
        raise InvalidArgument(f"delta={delta!r} is not between 0 and 1")
    return 1.0 + math.sqrt(2.0 * math.log(4.0 * budget * arms / delta) / dim)


def trace_bounds(*, pulls: int, dim: int, arms: int, budget: int, delta: float) -> tuple[float, float]:
    """Prop. 3: (1 − C√(d/k))² ≤ Tr(ΣΣ̂⁻¹)/d ≤ (1 + 2C√(d/k))², with probability 1 − δ/2.

    The proof needs the eigenvalues of Σ̂ to stay off zero: the lower bound is informative only while
    C√(d/k) ≤ 1 (0 is returned beyond), the upper one is proved for k ≥ 4C²d (∞ is returned below).
    """
    if pulls < dim + 1:
        raise InvalidArgument(f"Prop. 3 needs k ≥ d + 1 = {dim + 1} pulls, not {pulls}")
    slack = trace_constant(dim=dim, arms=arms, budget=budget, delta=delta) * math.sqrt(dim / pulls)
    lower = max(0.0, 1.0 - slack) ** 2
    upper = (1.0 + 2.0 * slack) ** 2 if slack <= 0.5 else math.inf
    return lower, upper


def mean_square_norm_bound(*, pulls: int, dim: int, delta: float) -> float:
    """d + 8·log(1/δ)·√(d/t): bounds the mean ‖x‖² of t ≥ d+1 white contexts (appendix corollary)."""
    if pulls < dim + 1:
        raise InvalidArgument(f"the bound needs t ≥ d + 1 = {dim + 1} contexts, not {pulls}")
    if not 0.0 < delta < 1.0:
        raise InvalidArgument(f"delta={delta!r} is not between 0 and 1")
    return dim + 8.0 * math.log(1.0 / delta) * math.sqrt(dim / pulls)
