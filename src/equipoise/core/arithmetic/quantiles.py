"""Lower quantiles of χ² for 1, 2, 3, … degrees of freedom, to about 13 digits.

With P(ν, x) the probability that χ² with ν degrees of freedom is at most x, integration by parts gives

    P(ν+2, x) = P(ν, x) − 2·f(ν+2, x),   f the density

so the quantiles x of ν and x + Δ of ν + 2 degrees of freedom, at the same probability, belong together by

    ∫₀^Δ (1 + s/x)^(ν/2)·e^(−s/2) ds = 2

whatever that probability is: no gamma function, and nothing that grows with ν. Eight points of
Gauss and Legendre give the integral, one or two steps of Halley the Δ, and sums keep their rounding
error, so that a million steps stay as exact as the first.

The first quantiles, where x is small beside Δ, come from sums of positive terms: with a = ν/2, x halved,

    P = xᵃe⁻ˣ/Γ(a+1)·Σ xᵏ/((a+1)…(a+k))

and for probabilities above one half from the finite sums of 1 − P. Newton's steps on the logarithms
approach from one side, since both are concave.
"""

from __future__ import annotations

import math

import numpy as np

from equipoise.core.arithmetic.exponential import exp
from equipoise.core.arithmetic.logarithm import log, log1p
from equipoise.core.arrays import Vector
from equipoise.core.jit.decorators import compiled

# Upper half of the eight points on [0, 1], the others mirror them, and their weights.
POINTS = np.array([0.591717321247825, 0.7627662049581645, 0.8983332387068134, 0.9801449282487681])
WEIGHTS = np.array([0.181341891689181, 0.15685332293894363, 0.11119051722668724, 0.05061426814518813])
PI = 3.141592653589793
LOG_GAMMA_ONE_AND_A_HALF = -0.12078223763524522

# Steps that are relied on: below these the next one is lost in rounding (Newton squares, Halley cubes).
_NEWTON_STEP, _HALLEY_STEP = 1e-9, 4e-6
_MOST_STEPS = 100
# From where on quantiles follow from each other: there Δ is small beside x, and the integrand smooth.
_FIRST_DOF, _SMALLEST, _LEAST_SHARE = 18, 8.0, 0.25
# The continued fraction of the Gaussian tail, from one standard deviation on, has settled by then.
_DEPTH = 100


def chi_square_quantiles(count: int, chance: float) -> Vector:
    """x with P(χ² ≤ x) = ``chance`` for 1 … ``count`` degrees of freedom; 0 < chance < 1.

    >>> chi_square_quantiles(3, 0.05).round(4).tolist()
    [0.0039, 0.1026, 0.3518]
    """
    quantiles = np.empty(count)
    write_quantiles(float(chance), quantiles)
    return quantiles


@compiled
def write_quantiles(chance: float, quantiles: Vector) -> None:
    """Write the quantile of 1, 2, 3, … degrees of freedom."""
    # Odd and even degrees of freedom are two sequences. Of both: what the last quantile lacks, and
    # log Γ(dof/2 + 1), needed while quantiles are found one by one.
    lacks, other_lacks = 0.0, 0.0
    log_gamma, other_log_gamma = LOG_GAMMA_ONE_AND_A_HALF, 0.0
    for i in range(quantiles.shape[0]):
        dof = i + 1
        follows = dof >= _FIRST_DOF and quantiles[i - 2] >= max(_SMALLEST, _LEAST_SHARE * dof)
        if follows:
            before = quantiles[i - 2]
            more = _increase(before, 0.5 * (dof - 2), before - quantiles[i - 4]) + lacks
            quantiles[i] = before + more
            lacks = (before - quantiles[i]) + more
        elif chance <= 0.5:
            quantiles[i] = _lower_quantile(0.5 * dof, log_gamma, log(chance))
        else:
            quantiles[i] = _upper_quantile(dof, log(1.0 - chance))
        log_gamma += 0.0 if follows else log(0.5 * dof + 1.0)
        lacks, other_lacks = other_lacks, lacks
        log_gamma, other_log_gamma = other_log_gamma, log_gamma


@compiled
def _increase(x: float, half_dof: float, guess: float) -> float:
    """Δ: how much larger the quantile is with two degrees of freedom more than 2·half_dof."""
    rise = guess
    for _ in range(_MOST_STEPS):
        area = 0.0
        for k in range(POINTS.shape[0]):
            near, far = rise * (1.0 - POINTS[k]), rise * POINTS[k]
            area += WEIGHTS[k] * (_ratio(near, x, half_dof) + _ratio(far, x, half_dof))
        step = (rise * area - 2.0) / _ratio(rise, x, half_dof)
        slope = half_dof / (x + rise) - 0.5
        rise -= step * (1.0 + 0.5 * step * slope)
        if abs(step) <= _HALLEY_STEP:
            break
    return rise


@compiled
def _ratio(s: float, x: float, half_dof: float) -> float:
    """The density at x + s over the density at x."""
    return exp(half_dof * log1p(s / x) - 0.5 * s)


@compiled
def _lower_quantile(a: float, log_gamma: float, log_chance: float) -> float:
    """Newton on log P over log x, from where P would be without its sum."""
    log_x = (log_chance + log_gamma) / a
    for _ in range(_MOST_STEPS):
        x = exp(log_x)
        total = _lower_sum(a, x)
        step = (a * log_x - x - log_gamma + log(total) - log_chance) * total / a
        log_x -= step
        if abs(step) <= _NEWTON_STEP:
            break
    return 2.0 * exp(log_x)


@compiled
def _lower_sum(a: float, x: float) -> float:
    """1 + x/(a+1) + x²/((a+1)(a+2)) + …"""
    term, total, k = 1.0, 1.0, a
    while term > 1e-17 * total:
        k += 1.0
        term *= x / k
        total += term
    return total


@compiled
def _upper_quantile(dof: int, log_rest: float) -> float:
    """Newton on log(1 − P), from the mean."""
    x = 0.5 * dof
    for _ in range(_MOST_STEPS):
        total, term = 0.0, exp(-x)
        if dof % 2 == 0:
            total = term
            for k in range(1, dof // 2):
                term *= x / k
                total += term
        else:
            total = _gaussian_tail(x)
            term /= math.sqrt(PI * x)
            for k in range(dof // 2):
                term *= x / (k + 0.5)
                total += term
        # The last term is the density.
        step = (log(total) - log_rest) * total / term
        x += step
        if abs(step) <= _NEWTON_STEP * x:
            break
    return 2.0 * x


@compiled
def _gaussian_tail(x: float) -> float:
    """erfc(√x) = 1 − P for one degree of freedom."""
    if x < 1.0:
        return 1.0 - 2.0 * math.sqrt(x / PI) * exp(-x) * _lower_sum(0.5, x)
    fraction = 0.0
    for k in range(_DEPTH, 0, -1):
        fraction = k * (k - 0.5) / (x + 2.0 * k + 0.5 - fraction)
    return math.sqrt(x / PI) * exp(-x) / (x + 0.5 - fraction)
