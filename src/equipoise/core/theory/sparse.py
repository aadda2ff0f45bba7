"""What is proved about sparse arms: the loss of Sparse-Trace-UCB, and of a lasso on a static split."""

from __future__ import annotations

import math

import numpy.typing as npt

from equipoise.core.theory.regret import positive_noise
from equipoise.core.theory.static import checked_noise
from equipoise.core.theory.support import positive, whole
from equipoise.errors import InvalidArgument


def sparse_loss_bound(*, noise: npt.ArrayLike, sparsity: int, budget: int, pulls: int, delta: float) -> float:
    """(Σσ²/N)·(s + 2·log(3m/δ₁)) + (2c/σ_min)·(s·Σσ²/N)^(3/2) with N = n − Lm, of the sparse theorem.

    The worst arm's error stays below this plus o((s/N)^(3/2)) with probability 1 − δ₁ − δ₂. The o(·) has
    no number and is left out, so this is not a bound at any one n. ``pulls`` is L, the rows an arm that
    finding the support took, ``delta`` is δ₁, and δ₂ is :func:`recovery_failure`. c is at its largest,
    2(1 + √(2·log(12mn/δ₁)/s)).

    >>> round(sparse_loss_bound(noise=[1.0, 2.0], sparsity=3, budget=10_000, pulls=50, delta=0.1), 4)
    0.0038
    """
    variances = positive_noise(noise)
    m, s = len(variances), whole("sparsity", sparsity, least=0)
    n, L = whole("budget", budget, least=1), whole("pulls", pulls, least=0)
    if not 0.0 < delta < 1.0:
        raise InvalidArgument(f"delta={delta!r} is not between 0 and 1")
    left = n - L * m
    if left < (s + 1) * m:
        raise InvalidArgument(
            f"a budget of {n} leaves n − Lm = {left} units after recovery, below (s+1)m = {(s + 1) * m}",
            hint=f"give a budget of at least {(L + s + 1) * m}, or fewer pulls",
        )
    level = float(variances.sum()) / left
    # c·s^(3/2), so that s = 0 divides by nothing
    spread = 2.0 * s * (math.sqrt(s) + math.sqrt(2.0 * math.log(12.0 * m * n / delta)))
    return float(
        level * (s + 2.0 * math.log(3.0 * m / delta))
        + 2.0 * spread * level**1.5 / math.sqrt(float(variances.min()))
    )


def static_lasso_bound(
    *,
    noise: npt.ArrayLike,
    sparsity: int,
    dim: int,
    budget: int,
    restricted_eigenvalue: float,
    c: float,
    tau: float = 3.0,
) -> float:
    """(c²τ/γ²)·Σσ²·s·log d/n: ‖β̂ − β‖² of every arm after a lasso on k = σ²/Σσ²·n rows of its own.

    The split is ``optimal_shares(noise) * budget``, which makes c²σ²·τ·s·log d/(γ²k) the same for all
    arms. γ is the restricted eigenvalue of Σ, not the incoherence of C1. c is a universal constant that
    the paper does not print, and τ > 2 sets the probability. Times the largest eigenvalue of Σ it
    bounds the error in prediction.
    """
    variances = checked_noise(noise)
    s, d = whole("sparsity", sparsity, least=0), whole("dim", dim, least=2)
    if s > d:
        raise InvalidArgument(f"sparsity={s} is more than dim={d}")
    if not 2.0 < positive("tau", tau):
        raise InvalidArgument(f"tau={tau!r} is not above 2")
    constant = (positive("c", c) / positive("restricted_eigenvalue", restricted_eigenvalue)) ** 2 * tau
    n = whole("budget", budget, least=1)
    return float(constant * variances.sum() * s * math.log(d) / n)
