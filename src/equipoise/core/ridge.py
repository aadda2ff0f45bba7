"""Ridge regression: fixed λ, and one λ an arm by closed-form leave-one-out."""

from __future__ import annotations

import math

import numpy as np

from equipoise.core.layout import Matrix, Vector

# λ is searched between these multiples of the mean squared singular value of the contexts.
_SMALLEST, _LARGEST, _GRID = 1e-8, 1e4, 61


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


def leave_one_out_errors(contexts: Matrix, outcomes: Vector, ridges: Vector) -> Vector:
    """Mean squared leave-one-out residual of every λ, by e/(1 − h) with the leverages h."""
    left, singular, _ = np.linalg.svd(contexts, full_matrices=False)
    rotated = left.T @ outcomes
    squares = singular**2
    errors = np.empty(len(ridges))
    for j, ridge in enumerate(ridges):
        kept = squares / (squares + ridge) if ridge > 0 else (squares > 0).astype(float)
        residuals = outcomes - left @ (kept * rotated)
        leverages = np.minimum((left**2) @ kept, 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            left_out = residuals / (1.0 - leverages)
        errors[j] = np.mean(left_out**2)
    return np.where(np.isfinite(errors), errors, np.inf)


def leave_one_out_ridge(contexts: Matrix, outcomes: Vector) -> float:
    """The λ with the smallest leave-one-out error; the largest searched one without any outcome."""
    from scipy.optimize import minimize_scalar

    scale = float(np.mean(contexts**2)) * max(len(contexts), 1) if contexts.size else 1.0
    scale = scale or 1.0
    logs = np.linspace(math.log(_SMALLEST * scale), math.log(_LARGEST * scale), _GRID)
    if len(contexts) < 2:
        return math.exp(logs[-1])
    errors = leave_one_out_errors(contexts, outcomes, np.exp(logs))
    best = int(np.argmin(errors))
    if best in (0, _GRID - 1):
        return math.exp(logs[best])
    found = minimize_scalar(
        lambda log: float(leave_one_out_errors(contexts, outcomes, np.exp([log]))[0]),
        bounds=(logs[best - 1], logs[best + 1]),
        method="bounded",
    )
    return math.exp(float(found.x)) if found.fun < errors[best] else math.exp(logs[best])
