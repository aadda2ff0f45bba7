"""Intervals that stay honest although the allocation was adaptive.

Given the contexts, β̂ is exactly Gaussian with covariance σ²S⁻¹, however the pulls were chosen, as
long as choices used contexts and variances only (appendix lemma on β̂ and σ̂²). What adaptivity does
bend is σ̂²: an arm whose σ̂² came out low is pulled less and keeps it. Let ε be the elasticity of an
arm's degrees of freedom to its σ̂². With Wald's identity, E[σ̂²] ≈ σ²(1 − 2ε/dof), so the plain t
interval is too short. Here σ̂² is inflated by

    1 + ε·(2/dof + 10/dof²)

The first term undoes the bias; the second, for small dof, was fitted by simulation
(benchmarks/coverage.py prints what it achieves). ε is read off the policy's own score, so uniform and
oracle, whose scores ignore σ̂², keep the exact t interval.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from equipoise.core.compiled import call_score, compiled
from equipoise.core.layout import State, Vector

_FIRST_ORDER, _SECOND_ORDER = 2.0, 10.0
_NUDGE = 1e-4
_LARGEST_ELASTICITY = 5.0


def variance_inflation(dof: npt.ArrayLike, elasticity: npt.ArrayLike) -> Vector:
    """What σ̂² is multiplied by before intervals are formed; 1 where ε = 0 or dof = 0."""
    degrees = np.maximum(np.asarray(dof, float), 1.0)
    correction = _FIRST_ORDER / degrees + _SECOND_ORDER / degrees**2
    return np.asarray(1.0 + np.asarray(elasticity, float) * correction)


@compiled
def elasticities(state: State, score: int, settings: Vector) -> Vector:
    """ε of every arm: d log(dof) / d log(σ̂²) along a level line of the policy's score."""
    result = np.zeros(state.arms.shape[0])
    probe = state.arms.copy()
    for i in range(state.arms.shape[0]):
        dof = state.arms[i].dof
        if dof < 1 or not state.arms[i].design_ready:
            continue
        here = call_score(score, state.arms[i], state.trial[0], settings)
        probe[i].noise_variance = state.arms[i].noise_variance * (1.0 + _NUDGE)
        noisier = call_score(score, probe[i], state.trial[0], settings)
        probe[i].noise_variance = state.arms[i].noise_variance
        # One more typical pull: Tr(ΣS⁻¹) falls about as 1/(k − d).
        probe[i].count += 1
        probe[i].dof += 1
        probe[i].trace *= dof / (dof + 1)
        richer = call_score(score, probe[i], state.trial[0], settings)
        if noisier == here:  # also when both are infinite: a forced pull ignores σ̂²
            continue
        if 0.0 < richer < here < noisier < np.inf:
            rise = np.log(noisier / here) / np.log1p(_NUDGE)
            fall = np.log(here / richer) / np.log1p(1.0 / dof)
            result[i] = min(rise / fall, _LARGEST_ELASTICITY)
        else:
            result[i] = 1.0
    return result


def t_quantile(confidence: float, dof: float) -> float:
    """Two-sided Student quantile; infinite without a degree of freedom."""
    from scipy.special import stdtrit

    return float(stdtrit(dof, 0.5 + confidence / 2.0)) if dof > 0 else math.inf


def variance_interval(variance: float, dof: int, confidence: float) -> tuple[float, float]:
    """χ² interval of a noise variance."""
    from scipy.special import chdtri

    if dof < 1:
        return 0.0, math.inf
    tail = (1.0 - confidence) / 2.0
    return float(dof * variance / chdtri(dof, tail)), float(dof * variance / chdtri(dof, 1.0 - tail))


def variance_upper_bound(variance: float, dof: int, confidence: float) -> float:
    """One-sided χ² bound of a noise variance."""
    from scipy.special import chdtri

    return float(dof * variance / chdtri(dof, confidence)) if dof > 0 else math.inf
