"""Intervals that stay honest although the allocation was adaptive.

Given the contexts, β̂ is exactly Gaussian with covariance σ²S⁻¹, however the pulls were chosen, as
long as choices used contexts and variances only (appendix lemma on β̂ and σ̂²). What adaptivity does
bend is σ̂²: an arm whose σ̂² came out low is pulled less and keeps it. Let ε be the elasticity of an
arm's degrees of freedom to its σ̂². With Wald's identity, E[σ̂²] ≈ σ²(1 − 2ε/dof), so the plain t
interval is too short. Here σ̂² is inflated by

    1 + ε·(2/dof + 10/dof²)

The first term undoes the bias; the second, for small dof, was fitted by simulation
(benchmarks/pages/interval_coverage.py prints what it achieves). ε is read off the policy's own score, so
uniform and oracle, whose scores ignore σ̂², keep the exact t interval. A policy that pools reacts in two
ways: by its weight on the arm's own σ̂², and through the pool, since an arm that stands out makes all
arms look less alike. The second counts as far as it moves the arm's score against the others'.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from equipoise.core.arithmetic.logarithm import log, log1p
from equipoise.core.arms.noise_pool import pool_variances
from equipoise.core.arms.state import State
from equipoise.core.arrays import Vector
from equipoise.core.choice.scoring import call_score
from equipoise.core.jit.decorators import compiled
from equipoise.errors import InvalidArgument

FIRST_ORDER, SECOND_ORDER = 2.0, 10.0
_NUDGE = 1e-4
_LARGEST_ELASTICITY = 5.0
# Of a score that is not positive, falls as the noise rises or rises as units come in; 1 is taken instead.
_UNREADABLE = -1.0


def variance_inflation(dof: npt.ArrayLike, elasticity: npt.ArrayLike) -> Vector:
    """What σ̂² is multiplied by before intervals are formed; 1 where ε = 0 or dof = 0."""
    degrees = np.maximum(np.asarray(dof, float), 1.0)
    correction = FIRST_ORDER / degrees + SECOND_ORDER / (degrees * degrees)
    return np.asarray(1.0 + np.asarray(elasticity, float) * correction)


def elasticities(state: State, score: int, settings: Vector) -> Vector:
    """ε of every arm: d log(dof) / d log(σ̂²) along a level line of the policy's score."""
    result = np.zeros(len(state.arms))
    measure_elasticities(state.arms, state.arms.copy(), state.trial.copy(), score, settings, result)
    return result


def unreadable_arms(state: State, score: int, settings: Vector) -> list[int]:
    """Arms whose ε the policy's score does not show, so that it is taken to be 1."""
    arms, scored = state.arms, np.zeros(1)
    known = [i for i in range(len(arms)) if arms[i]["dof"] > 0 and arms[i]["design_ready"]]
    probes, trial = arms.copy(), state.trial.copy()[0]
    return [i for i in known if _elasticity(arms, probes, i, trial, score, settings, scored) == _UNREADABLE]


def check_confidence(confidence: float) -> None:
    """Refuse levels that there cannot be."""
    number = isinstance(confidence, int | float | np.floating) and not isinstance(confidence, bool)
    if not number or not 0.0 < confidence < 1.0:
        raise InvalidArgument(f"confidence={confidence!r} is not between 0 and 1", hint="e.g. 0.95")


def t_quantile(confidence: float, dof: npt.ArrayLike) -> Vector:
    """Two-sided Student quantiles, for any degrees of freedom; infinite without one."""
    from scipy.special import stdtrit

    degrees = np.asarray(dof, float)
    some = degrees > 0.0
    return np.where(some, stdtrit(np.where(some, degrees, 1.0), 0.5 + confidence / 2.0), math.inf)


def f_quantile(confidence: float, features: int, dof: float) -> float:
    """One-sided quantile of the squared error of coefficients over its estimate; exact where Σ ∝ S."""
    from scipy.special import fdtri

    return float(fdtri(features, dof, confidence))


def variance_interval(variance: float, dof: float, confidence: float) -> tuple[float, float]:
    """χ² interval of a noise variance."""
    from scipy.special import chdtri

    if dof < 1:
        return 0.0, math.inf
    tail = (1.0 - confidence) / 2.0
    return float(dof * variance / chdtri(dof, tail)), float(dof * variance / chdtri(dof, 1.0 - tail))


def variance_upper_bound(variance: float, dof: float, confidence: float) -> float:
    """One-sided χ² bound of a noise variance."""
    from scipy.special import chdtri

    return float(dof * variance / chdtri(dof, confidence)) if dof > 0 else math.inf


@compiled
def measure_elasticities(
    arms: npt.NDArray[Any],
    probe: npt.NDArray[Any],
    trial: npt.NDArray[Any],
    score: int,
    settings: Vector,
    result: Vector,
) -> None:
    """Write every arm's ε; ``probe`` starts as a copy of ``arms``, and ``trial``'s step may move on."""
    if arms.shape[0] == 1:  # nothing to take units from
        return
    # Policies with forced phases ignore σ̂² at some steps: then the next ones are looked at, too.
    adaptive = False
    for _ in range(2 * arms.shape[0] + 1):
        for i in range(arms.shape[0]):
            reacts = measure_elasticity(arms, probe, i, trial[0], score, settings, result)
            adaptive = adaptive or reacts
        if adaptive:
            return
        trial[0].step += 1


@compiled
def measure_elasticity(
    arms: npt.NDArray[Any],
    probe: npt.NDArray[Any],
    i: int,
    trial: Any,
    score: int,
    settings: Vector,
    result: Vector,
) -> bool:
    """Write arm i's ε at the trial's step, if σ̂² is known; whether that is more than 0."""
    if arms[i].dof < 1 or not arms[i].design_ready:
        return False
    result[i] = _elasticity(arms, probe, i, trial, score, settings, result[i : i + 1])
    if result[i] == _UNREADABLE:
        result[i] = 1.0 - trial.chance
    return bool(result[i] > 0.0)


@compiled
def _elasticity(
    arms: npt.NDArray[Any],
    probes: npt.NDArray[Any],
    i: int,
    trial: Any,
    score: int,
    settings: Vector,
    scored: Vector,
) -> float:
    """ε of arm i, or that it cannot be read off the score; ``scored`` is scratch for one score."""
    arm, probe, one = arms[i], probes[i], probes[i : i + 1]
    # Looking changes which contexts an arm gets, not how many: all three scores are for typical ones,
    # whose leverage is the trace.
    probe.leverage = arm.trace
    call_score(score, one, trial, settings, scored)
    here = scored[0]
    probe.noise_variance = arm.noise_variance * (1.0 + _NUDGE)
    pull = 0.0  # what the pool does to the other arms' scores
    if trial.pools:
        pooled_dof, pooled_variance = trial.pooled_dof, trial.pooled_variance
        pull = -others_log_score(arms, probes, i, trial, score, settings, scored)
        probe.log_variance = arm.log_variance + log1p(_NUDGE)
        pool_variances(probes, trial)
        pull += others_log_score(arms, probes, i, trial, score, settings, scored)
    call_score(score, one, trial, settings, scored)
    noisier = scored[0]
    if trial.pools:
        trial.pooled_dof, trial.pooled_variance = pooled_dof, pooled_variance
        probe.log_variance = arm.log_variance
    probe.noise_variance = arm.noise_variance
    # One more typical pull: Tr(ΣS⁻¹) falls about as 1/(k − d).
    probe.count = arm.count + 1
    probe.dof = arm.dof + 1
    probe.inverse_root_dof = 1.0 / np.sqrt(probe.dof)
    probe.trace = arm.trace * arm.dof / probe.dof
    probe.leverage = probe.trace
    call_score(score, one, trial, settings, scored)
    richer = scored[0]
    probe.count, probe.dof = arm.count, arm.dof
    probe.inverse_root_dof, probe.trace = arm.inverse_root_dof, arm.trace
    if noisier == here:  # also when both are infinite: a forced pull ignores σ̂²
        return 0.0
    if not (0.0 < richer < here < noisier < np.inf):
        return _UNREADABLE
    rise = (log(noisier / here) - pull) / log1p(_NUDGE)
    fall = log(here / richer) / log1p(1.0 / arm.dof)
    # Units whose arm is drawn by lot select nothing.
    return (1.0 - trial.chance) * min(max(rise / fall, 0.0), _LARGEST_ELASTICITY)


@compiled
def measure_first_weights(
    arms: npt.NDArray[Any], probe: npt.NDArray[Any], trial: Any, score: int, settings: Vector, result: Vector
) -> None:
    """Write how far every arm's score followed σ̂² when that had one degree of freedom, from 0 to 1.

    d log(score) / d log(σ̂²) at today's σ̂², pool and mean, over the exponent of the objective. ``probe``
    starts as a copy of ``arms``.
    """
    for i in range(arms.shape[0]):
        if arms[i].dof < 1 or not arms[i].design_ready:
            continue
        arm, first, one, scored = arms[i], probe[i], probe[i : i + 1], result[i : i + 1]
        first.count, first.dof, first.inverse_root_dof = arm.count - arm.dof + 1, 1, 1.0
        first.trace = arm.trace * arm.dof
        first.leverage = first.trace
        call_score(score, one, trial, settings, scored)
        here = scored[0]
        first.noise_variance = arm.noise_variance * (1.0 + _NUDGE)
        call_score(score, one, trial, settings, scored)
        noisier = scored[0]
        result[i] = 0.0
        if 0.0 < here < noisier < np.inf:
            result[i] = min(log(noisier / here) / log1p(_NUDGE) / trial.exponent, 1.0)


@compiled
def others_log_score(
    arms: npt.NDArray[Any],
    probes: npt.NDArray[Any],
    i: int,
    trial: Any,
    score: int,
    settings: Vector,
    scored: Vector,
) -> float:
    """Mean over the arms other than i of the logarithm of their score for a typical context."""
    total, others = 0.0, 0
    for j in range(arms.shape[0]):
        if j != i and arms[j].dof > 0 and arms[j].design_ready:
            probes[j].leverage = arms[j].trace
            call_score(score, probes[j : j + 1], trial, settings, scored)
            if scored[0] > 0.0:
                total += log(scored[0])
                others += 1
    return total / max(others, 1)
