"""How many rows an arm the ℓ1/ℓ2 lasso needs to find the features that some arm uses."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy.typing as npt

from equipoise.core.theory.support import (
    Geometry,
    checked_coef,
    checked_features,
    checked_moment,
    checked_support,
    extreme_eigenvalues,
    positive,
    whole,
)


def sparsity_overlap(*, moment: npt.ArrayLike, coef: npt.ArrayLike) -> float:
    """ψ(M, Σ) = max_i z_iᵀ·Σ_SS⁻¹·z_i, z_i having the entries M_ji/‖M_j‖ for the features j in S.

    The paper cites ψ and does not define it. This is the form for arms with rows of their own: the dual
    variables of a feature outside S are then independent between arms, with variances proportional to
    these numbers. Were the rows shared by all arms, their covariance would be ZᵀΣ_SS⁻¹Z, and ψ its
    spectral norm (Obozinski et al. 2011), which is never smaller.

    s/m for white contexts and coefficients that differ only in sign between arms; 0 if S is empty.

    >>> import numpy as np
    >>> round(sparsity_overlap(moment=np.eye(3), coef=[[1, -2, 0], [1, 2, 0]]), 4)
    1.0
    >>> sparsity_overlap(moment=np.eye(3), coef=[[1, 1, 0], [0, 0, 1]])
    2.0
    """
    signals = checked_coef(coef)
    features = checked_support(None, signals)
    return Geometry(checked_moment(moment, signals.shape[1]), features).overlap(signals)


def recovery_pulls(
    *,
    moment: npt.ArrayLike,
    coef: npt.ArrayLike,
    support: Sequence[int] | None = None,
    margin: float = 0.1,
) -> float:
    """The smallest L above 2(1+v)·ψ·log(d−s)·ρ_u/γ², rows an arm for exact recovery of S.

    v is ``margin``: the theorem holds for any v > 0, and a larger one fails less often. A whole number;
    ∞ if γ ≤ 0, where no L is enough, and 1 if at most one feature is outside S or S is empty, where the
    theorem asks for nothing. It counts what keeps other features out, and is silent about the L ≥ s
    rows that least squares on S takes.
    """
    signals = checked_coef(coef)
    features = checked_support(support, signals)
    shape = Geometry(checked_moment(moment, signals.shape[1]), features)
    return smallest_above(
        overlap=shape.overlap(signals),
        incoherence=shape.incoherence,
        conditional_variance=shape.conditional_variance,
        outside=signals.shape[1] - len(features),
        margin=margin,
    )


def complete_overlap_pulls(
    *, moment: npt.ArrayLike, support: Sequence[int], arms: int, margin: float = 0.1
) -> float:
    """The smallest L with L·m above 2(1+v)·s·log(d−s)·ρ_u/(C_min·γ²), rows an arm.

    The paper asks for it where all arms use the same features. It follows from the theorem only if
    every coefficient also has the same size in all arms, for ψ ≤ s/(m·C_min) needs that; arms with one
    support and unequal coefficients can take up to m times as many (:func:`recovery_pulls`).

    >>> import numpy as np
    >>> complete_overlap_pulls(moment=np.eye(100), support=range(5), arms=4)
    13
    """
    matrix = checked_moment(moment)
    features = checked_features(support, len(matrix))
    shape = Geometry(matrix, features)
    smallest, _ = extreme_eigenvalues(matrix)
    overlap = len(features) / (whole("arms", arms, least=1) * smallest) if smallest > 0.0 else math.inf
    return smallest_above(
        overlap=overlap,
        incoherence=shape.incoherence,
        conditional_variance=shape.conditional_variance,
        outside=len(matrix) - len(features),
        margin=margin,
    )


def recovery_failure(*, arms: int, sparsity: int, dim: int, c0: float, c1: float) -> float:
    """δ₂ = m·exp(−c₀·log s) + exp(−c₁·log(d−s)), at most 1: the chance that S is not found.

    The paper does not print the constants c₀ and c₁. The first term is about features of S that are
    missed, the second about others that get in; a term is 0 where there is no such feature. With s = 1
    or d − s = 1 the result is 1: the theorem promises nothing.

    >>> round(recovery_failure(arms=4, sparsity=10, dim=200, c0=2.0, c1=1.0), 4)
    0.0453
    """
    m, s = whole("arms", arms, least=1), whole("sparsity", sparsity, least=0)
    outside = whole("dim", dim, least=max(s, 1)) - s
    powers = positive("c0", c0), positive("c1", c1)
    missed = m * s ** -powers[0] if s else 0.0
    added = outside ** -powers[1] if outside else 0.0
    return min(1.0, missed + added)


def smallest_above(
    *, overlap: float, incoherence: float, conditional_variance: float, outside: int, margin: float
) -> float:
    """The smallest whole L above 2(1+v)·ψ·log(d−s)·ρ_u/γ²; see :func:`recovery_pulls`."""
    slack = positive("margin", margin)
    if incoherence <= 0.0:
        return math.inf
    if outside <= 1:
        return 1
    needed = 2.0 * (1.0 + slack) * overlap * math.log(outside) * conditional_variance / incoherence**2
    return math.floor(needed) + 1 if math.isfinite(needed) else math.inf
