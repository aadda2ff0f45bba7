"""Expected error of ridge regression with a λ that is given."""

from __future__ import annotations

import numpy as np

from equipoise.core.arrays import Matrix, Vector


def ridge_loss(moment: Matrix, gram: Matrix, noise_variance: float, coef: Vector, ridge: float) -> float:
    """E‖β̂^λ − β‖²_Σ = Tr(ΣW(σ²S + λ²ββᵀ)W), W = (S + λI)⁻¹ (appendix lemma on the ridge loss).

    >>> ridge_loss(np.eye(1), np.eye(1) * 3.0, 1.0, np.array([2.0]), ridge=1.0)
    0.4375
    """
    inverse = np.linalg.inv(gram + ridge * np.eye(len(gram)))
    inner = noise_variance * gram + ridge**2 * np.outer(coef, coef)
    return float(np.trace(moment @ inverse @ inner @ inverse))
