"""Ridge regression with a λ that is given; shrinkage/ holds those that the data choose."""

from __future__ import annotations

import math

import numpy as np

from equipoise.core.layout import Matrix, Vector


def ridge_solution(root: Matrix, target: Vector, ridge: float) -> Vector:
    """β̂^λ = (RᵀR + λI)⁻¹Rᵀq, eq. (13), from a square root R of S and q = Rβ̂; no S is formed.

    >>> ridge_solution(np.eye(2) * 2.0, np.array([4.0, 2.0]), ridge=4.0)
    array([1. , 0.5])
    """
    dim = root.shape[1]
    stacked = np.vstack([root, math.sqrt(ridge) * np.eye(dim)])
    solution: Vector = np.linalg.lstsq(stacked, np.concatenate([target, np.zeros(dim)]), rcond=None)[0]
    return solution


def ridge_loss(moment: Matrix, gram: Matrix, noise_variance: float, coef: Vector, ridge: float) -> float:
    """E‖β̂^λ − β‖²_Σ = Tr(ΣW(σ²S + λ²ββᵀ)W), W = (S + λI)⁻¹ (appendix lemma on the ridge loss).

    >>> ridge_loss(np.eye(1), np.eye(1) * 3.0, 1.0, np.array([2.0]), ridge=1.0)
    0.4375
    """
    inverse = np.linalg.inv(gram + ridge * np.eye(len(gram)))
    inner = noise_variance * gram + ridge**2 * np.outer(coef, coef)
    return float(np.trace(moment @ inverse @ inner @ inverse))


def chosen_ridge_loss(
    moment: Matrix, gram: Matrix, noise_variance: float, coef: Vector, ridge: float
) -> tuple[float, float]:
    """Noise and bias of a λ that the same outcomes chose, from the least-squares ``coef``.

    The posterior variance σ²Tr(ΣW), and for the uncertain λ 2/(d−2) of the squared shift from least
    squares (Morris 1983). Putting the shrunk coefficients into :func:`ridge_loss` would promise an
    error of 0 as λ grows.

    >>> chosen_ridge_loss(np.eye(3), np.eye(3), 1.0, np.array([2.0, 0.0, 0.0]), ridge=1.0)
    (1.5, 2.0)
    """
    dim = len(gram)
    inverse = np.linalg.inv(gram + ridge * np.eye(dim))
    noise = noise_variance * float(np.trace(moment @ inverse))
    return noise, ridge_loss(moment, gram, 0.0, coef, ridge) * min(2.0 / max(dim - 2, 1), 2.0)
