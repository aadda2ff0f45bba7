"""From a linear predictor to a rate, and the best linear fit of that.

With η = level + effect·u, where u = x·β/‖β‖_Σ is standard normal, the rate is g(η): logistic for answers,
e^η for counts. By Stein's lemma E[x·g(η)] = Σβ/‖β‖_Σ · E[u·g(η)], so the best linear fit of the rate is

    mean + slope·u,   mean = E[g(η)],   slope = E[u·g(η)]

for Gaussian contexts of any covariance, and what is left of the outcome has the variance
E[v(g)] + E[g²] − mean² − slope², where v is the outcome's own variance at a rate.

Expectations are sums over evenly spaced u, which for such smooth functions are exact to rounding.
"""

from __future__ import annotations

from equipoise.core.arithmetic.exponential import exp
from equipoise.core.arrays import Vector
from equipoise.core.jit.decorators import compiled, inlined

YES_NO, COUNTS = 1, 2
"""What compiled code knows the links by; 0 are outcomes that are real numbers."""

HIGHEST_COUNT_RATE = 500.0
"""Rates of counts stop there, where e^−rate is still a number."""

# u from −10 to 10 in steps of 1/16.
_STEPS, _STEP = 160, 0.0625


@inlined
def rate_of(code: int, predictor: float) -> float:
    """Probability of a yes, or expected count."""
    if code == COUNTS:
        return min(exp(predictor), HIGHEST_COUNT_RATE)
    if predictor < 0.0:
        odds = exp(predictor)
        return odds / (1.0 + odds)
    return 1.0 / (1.0 + exp(-predictor))


@inlined
def outcome_of(code: int, rate: float, level: float) -> float:
    """The outcome at a rate that a number uniform on (0, 1) stands for: more for smaller numbers."""
    if code == YES_NO:
        return 1.0 if level < rate else 0.0
    count, chance = 0.0, exp(-rate)
    above = 1.0 - chance
    while level < above and chance > 0.0:
        count += 1.0
        chance *= rate / count
        above -= chance
    return count


@compiled
def best_linear_fit(code: int, level: float, effect: float, found: Vector) -> None:
    """Write mean and slope of the rate's best linear fit, and the variance that it leaves."""
    total = mean = slope = squares = inner = 0.0
    for k in range(-_STEPS, _STEPS + 1):
        u = k * _STEP
        weight = exp(-0.5 * u * u)
        rate = rate_of(code, level + effect * u)
        total += weight
        mean += weight * rate
        slope += weight * u * rate
        squares += weight * rate * rate
        inner += weight * (rate if code == COUNTS else rate * (1.0 - rate))
    found[0], found[1] = mean / total, slope / total
    found[2] = (inner + squares) / total - found[0] * found[0] - found[1] * found[1]
