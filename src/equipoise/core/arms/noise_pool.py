"""What the arms' noise variances have in common.

A σ̂² on one or two degrees of freedom says little, and what the other arms say helps only as far as
arms resemble each other. So both are learned: the arms' σ² are taken as draws from a scaled inverse
χ² with centre ``pooled_variance`` and ``pooled_dof`` degrees of freedom. On the log scale noise of any
size is on equal terms (arms that differ 300-fold included):

    log σ̂² = log σ² + noise with mean −b(dof) and variance s(dof),  b = 1/f + 1/(3f²),  s = 2/f + 2/f² + 1/f³

The centre is the mean of log σ̂² + b, weighted by 1/(1 + s); the spread v of log σ² is what the squared
distances from it exceed s by, together with a guess that weighs half an arm. Spread and degrees of
freedom belong together by v = ψ′(pooled_dof/2) ≈ 2/pooled_dof + 2/pooled_dof².

An arm's pooled estimate is (dof·σ̂² + pooled_dof·pooled_variance)/(dof + pooled_dof).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from equipoise.core.arithmetic.exponential import exp
from equipoise.core.arithmetic.logarithm import log
from equipoise.core.jit.decorators import compiled, inlined

# Before anything is known log σ² is taken to vary by 2 between arms: two of three σ² within a factor
# of four of each other. The guess counts as half of an arm whose σ² is known.
_GUESSED_SPREAD, _GUESS_WEIGHT = 2.0, 0.5
# Arms are never taken to be closer than this: about 100 degrees of freedom.
_LEAST_SPREAD = 0.02
# Smaller ratios of variances, one in a million, are told apart from it by nobody.
_DEEPEST = 14.0
_TINIEST = 1e-300


@inlined
def note_variance(arm: Any) -> None:
    """Keep log σ̂² without its bias, how much it varies, and what it counts for."""
    inverse = 1.0 / arm.dof
    bias = inverse * (1.0 + inverse / 3.0)
    arm.log_variance = log(max(arm.noise_variance, _TINIEST)) + bias
    arm.log_spread = inverse * (2.0 + inverse * (2.0 + inverse))
    # Every choice reads it of every arm, and it changes with the arm's own outcomes alone.
    arm.log_weight = 1.0 / (1.0 + arm.log_spread)


@compiled
def pool_variances(arms: npt.NDArray[Any], trial: Any) -> None:
    """Set the trial's centre and degrees of freedom from every arm whose σ̂² is known."""
    top, known = -np.inf, 0
    for i in range(arms.shape[0]):
        if arms[i].dof > 0:
            top = max(top, arms[i].log_variance)
            known += 1
    weights, total = 0.0, 0.0
    for i in range(arms.shape[0]):
        if arms[i].dof > 0:
            weight = arms[i].log_weight
            weights += weight
            total += weight * max(arms[i].log_variance, top - _DEEPEST)
    center = total / weights if known > 0 else 0.0
    excess, certainty = _GUESS_WEIGHT * _GUESSED_SPREAD, _GUESS_WEIGHT
    if known > 1:
        unbiased = known / (known - 1.0)
        for i in range(arms.shape[0]):
            if arms[i].dof > 0:
                weight = arms[i].log_weight
                gap = max(arms[i].log_variance, top - _DEEPEST) - center
                excess += weight * weight * (gap * gap * unbiased - arms[i].log_spread)
                certainty += weight * weight
    spread = max(excess / certainty, _LEAST_SPREAD)
    trial.pooled_variance = exp(center)
    trial.pooled_dof = (1.0 + np.sqrt(1.0 + 2.0 * spread)) / spread
