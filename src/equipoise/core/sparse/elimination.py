"""Backward elimination: drop the feature that the data miss least, until all that are left are evident.

Taking a feature out of arm i's least squares multiplies RSSᵢ; with νᵢ degrees of freedom without it,

    g = Σᵢ νᵢ log(RSSᵢ without / RSSᵢ with)

measures how much it is missed, in no unit. For a feature without effect the ratio of each arm is
Beta((νᵢ − 1)/2, ½) distributed, whatever the noise of the arm, so that Chernoff's bound on P(g or more)
is exact at any number of rows: −log P ≥ maxθ θg − Σᵢ log E[ratio^(−νᵢθ)]. A feature is evident when
that exceeds log(candidates/α): the chance that any of those without effect seems to have one.
"""

from __future__ import annotations

import math

import numpy as np

from equipoise.core.compiled import compiled
from equipoise.core.layout import Matrix, Vector
from equipoise.core.sparse.refit import Refit, remove_feature

# α: how often a support has a feature too many, at most.
_CHANCE = 0.05
# Grids for θ, each a third as wide as the last: the error of θ becomes 10⁻⁴, that of the maximum its square.
_ROUNDS, _POINTS = 8, 6
# Residuals below this share of the outcomes' squares are rounding.
_ROUNDING = 1e-20


def eliminate(refit: Refit, *, fixed: int | None, most: int) -> None:
    """Shrink the support to ``fixed`` features, or to the evident ones, ``most`` of them at most."""
    dim, places, arms = len(refit.design), len(refit.features), len(refit.counts)
    fit, inverse, dof = np.zeros(places), np.zeros(places), np.zeros(arms)
    missed = np.zeros((places, arms))
    while (size := int(refit.size[0])) > (fixed or 0):
        weakest, evidence = _weakest(refit, fit, inverse, missed, dof)
        if fixed is None and size <= most and evidence >= math.log((dim - size + 1) / _CHANCE):
            return
        remove_feature(refit, weakest)


@compiled
def _weakest(refit: Refit, fit: Vector, inverse: Vector, missed: Matrix, dof: Vector) -> tuple[int, float]:
    """The place of the feature with the least evidence, the latest of equals, and that evidence."""
    _losses(refit, fit, inverse, missed)
    weakest, least = 0, np.inf
    for place in range(refit.size[0]):
        evidence = _evidence(refit, place, missed, dof)
        if evidence <= least:
            weakest, least = place, evidence
    return weakest, least


@compiled
def _losses(refit: Refit, fit: Vector, inverse: Vector, missed: Matrix) -> None:
    """RSSᵢ would grow by b²ⱼ/(S⁻¹)ⱼⱼ without feature j; S⁻¹ = R⁻¹R⁻ᵀ."""
    size = refit.size[0]
    for i in range(refit.counts.shape[0]):
        upper = refit.triangles[i]
        for place in range(size):
            missed[place, i] = 0.0
        # Columns of R⁻¹, whose rows' squares add up to the diagonal of S⁻¹.
        for c in range(size):
            for r in range(c, -1, -1):
                entry = 1.0 if r == c else 0.0
                for k in range(r + 1, c + 1):
                    entry -= upper[r, k] * inverse[k]
                inverse[r] = entry / upper[r, r]
                missed[r, i] += inverse[r] * inverse[r]
        for r in range(size - 1, -1, -1):
            entry = refit.loads[r, i]
            for k in range(r + 1, size):
                entry -= upper[r, k] * fit[k]
            fit[r] = entry / upper[r, r]
            # −1: the arm cannot tell this feature from earlier ones.
            missed[r, i] = fit[r] * fit[r] / missed[r, i] if missed[r, i] > 0.0 else -1.0


@compiled
def _evidence(refit: Refit, place: int, missed: Matrix, dof: Vector) -> float:
    """Chernoff's bound on −log P(g) for the feature at a place of the support."""
    size = refit.size[0]
    gain, arms = 0.0, 0
    for i in range(refit.counts.shape[0]):
        free = refit.counts[i] - refit.ranks[size, i] + 1
        if missed[place, i] < 0.0 or refit.squares[0, i] == 0.0 or free < 2:
            continue
        left = max(refit.squares[size, i], _ROUNDING * refit.squares[0, i])
        gain += free * np.log1p(missed[place, i] / left)
        dof[arms] = free
        arms += 1
    return _chernoff(gain, dof, arms)


@compiled
def _chernoff(gain: float, dof: Vector, arms: int) -> float:
    """maxθ θ·gain − log E[exp(θg)], concave in θ; E is finite below (ν − 1)/2ν of every arm."""
    limit = 0.5 if arms > 0 else 0.0
    for i in range(arms):
        limit = min(limit, (dof[i] - 1.0) / (2.0 * dof[i]))
    best, most = 0.0, 0.0
    low, high = 0.0, limit
    for _ in range(_ROUNDS):
        step = (high - low) / _POINTS
        for place in range(1, _POINTS):
            theta = low + place * step
            value = _exponent(theta, gain, dof, arms)
            if value > most:
                best, most = theta, value
        low, high = max(best - step, 0.0), min(best + step, limit)
    return most


@compiled
def _exponent(theta: float, gain: float, dof: Vector, arms: int) -> float:
    total, last, term = theta * gain, 0.0, 0.0
    for i in range(arms):
        if dof[i] != last:
            last = dof[i]
            half = (last - 1.0) / 2.0
            tilted = half - last * theta
            term = (
                math.lgamma(tilted) - math.lgamma(tilted + 0.5) - math.lgamma(half) + math.lgamma(half + 0.5)
            )
        total -= term
    return total
