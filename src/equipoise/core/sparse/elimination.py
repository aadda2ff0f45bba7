"""Backward elimination: drop the feature that the data miss least, until all that are left are evident.

Taking a feature out of arm i's least squares multiplies RSSᵢ; with νᵢ degrees of freedom without it,

    g = Σᵢ νᵢ log(RSSᵢ without / RSSᵢ with)

measures how much it is missed, in no unit. For a feature without effect, in a support that was fixed
beforehand, the ratio of each arm is Beta((νᵢ − 1)/2, ½) distributed, whatever the noise of the arm, and
Chernoff bounds P(g or more) at any number of rows: −log P ≥ maxθ θg − Σᵢ log E[ratio^(−νᵢθ)]. A feature
is evident when that exceeds log(candidates/α); the candidates pay for supports being chosen by the same
outcomes, which makes α a guide and not a guarantee. For several features at once ½ becomes half their
number.
"""

from __future__ import annotations

import numpy as np

from equipoise.core.arithmetic.gamma import log_gamma
from equipoise.core.arithmetic.logarithm import log, log1p
from equipoise.core.arrays import Matrix, Vector
from equipoise.core.jit.decorators import compiled
from equipoise.core.sparse.refit import Refit, remove_feature

# α of the bound.
_CHANCE = 0.05
# Grids for θ, each a third as wide as the last: the error of θ becomes 10⁻⁴, that of the maximum its square.
_ROUNDS, _POINTS = 8, 6
# Residuals below this share of the outcomes' squares are rounding.
_ROUNDING = 1e-20


def eliminate(refit: Refit, *, fixed: int | None, most: int) -> bool:
    """Shrink the support to ``fixed`` features, or to the evident ones, ``most`` of them at most.

    Return whether those that were dropped are evident together though none was alone: then features that
    were not screened yet hide them.
    """
    dim, places, arms = len(refit.design), len(refit.features), len(refit.counts)
    first, dropped = int(refit.size[0]), 0.0
    scratch = np.zeros((2, places)), np.zeros((places, arms)), np.zeros((2, arms))
    while (size := int(refit.size[0])) > (fixed or 0):
        weakest, evidence, dropped = _weakest(refit, *scratch, first)
        if fixed is None and size <= most and evidence >= log((dim - size + 1) / _CHANCE):
            break
        remove_feature(refit, weakest)
    # As many supports could have been dropped.
    choices = log_gamma(dim - size + 1.0) - log_gamma(first - size + 1.0) - log_gamma(dim - first + 1.0)
    return dropped >= choices - log(_CHANCE)


@compiled
def _weakest(
    refit: Refit, lines: Matrix, missed: Matrix, freedom: Matrix, first: int
) -> tuple[int, float, float]:
    """The place of the feature with the least evidence, the latest of equals, and that evidence.

    Also the evidence for all features that were dropped since there were ``first``.
    """
    size = refit.size[0]
    losses(refit, lines[0], lines[1], missed)
    weakest, least, missed_least = 0, np.inf, np.inf
    # One place more: the features that were dropped.
    for place in range(size + 1):
        evidence, gain = _evidence(refit, place, missed, freedom[0], freedom[1], first)
        # Whatever is missed less than chance expects has no evidence at all.
        if place < size and (evidence < least or (evidence == least and gain <= missed_least)):
            weakest, least, missed_least = place, evidence, gain
    return weakest, least, evidence


@compiled
def losses(refit: Refit, fit: Vector, inverse: Vector, missed: Matrix) -> None:
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
def _evidence(
    refit: Refit, place: int, missed: Matrix, dof: Vector, extra: Vector, first: int
) -> tuple[float, float]:
    """Chernoff's bound on −log P(g) for the feature at a place of the support, and g.

    At the place after the last one: for all features that were dropped since there were ``first``.
    """
    size = refit.size[0]
    alone = place < size
    gain, arms = 0.0, 0
    for i in range(refit.counts.shape[0]):
        free = refit.counts[i] - refit.ranks[size, i] + (1 if alone else 0)
        more = 1 if alone else refit.ranks[first, i] - refit.ranks[size, i]
        loss = missed[place, i] if alone else refit.squares[size, i] - refit.squares[first, i]
        if loss < 0.0 or refit.squares[0, i] == 0.0 or more < 1 or free <= more:
            continue
        left = refit.squares[size if alone else first, i]
        gain += free * log1p(loss / max(left, _ROUNDING * refit.squares[0, i]))
        dof[arms], extra[arms] = free, more
        arms += 1
    return _chernoff(gain, dof, extra, arms), gain


@compiled
def _chernoff(gain: float, dof: Vector, extra: Vector, arms: int) -> float:
    """maxθ θ·gain − log E[exp(θg)], concave in θ; E is finite below (ν − extra)/2ν of every arm."""
    limit = 0.5 if arms > 0 else 0.0
    for i in range(arms):
        limit = min(limit, (dof[i] - extra[i]) / (2.0 * dof[i]))
    best, most = 0.0, 0.0
    low, high = 0.0, limit
    for _ in range(_ROUNDS):
        step = (high - low) / _POINTS
        for place in range(1, _POINTS):
            theta = low + place * step
            value = _exponent(theta, gain, dof, extra, arms)
            if value > most:
                best, most = theta, value
        low, high = max(best - step, 0.0), min(best + step, limit)
    return most


@compiled
def _exponent(theta: float, gain: float, dof: Vector, extra: Vector, arms: int) -> float:
    total, term = theta * gain, 0.0
    for i in range(arms):
        # Arms of the same size share the term.
        if i == 0 or dof[i] != dof[i - 1] or extra[i] != extra[i - 1]:
            half, more = (dof[i] - extra[i]) / 2.0, extra[i] / 2.0
            tilted = half - dof[i] * theta
            term = log_gamma(tilted) - log_gamma(tilted + more)
            term += log_gamma(half + more) - log_gamma(half)
        total -= term
    return total
