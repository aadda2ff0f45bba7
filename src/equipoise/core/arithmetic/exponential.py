"""The exponential function, within 0.52 units in the last place.

With k the whole number next to x·128/log 2, e = ⌊k/128⌋ and j = k − 128·e,

    eˣ = 2^e · 2^(j/128) · e^r,   r = x − k·log 2/128,   |r| < 0.00271
    e^r = 1 + r + r²·(1/2 + r/6 + r²/24 + r³/120)

2^(j/128) is a sum of two numbers (tables.py), and so is log 2/128, whose first part times k is exact. The
term left out is below 2⁻⁶⁰; what is added to the table's number is below 2⁻⁷ of it, and rounded in its
own last places. Below the normal numbers the result is rounded once, at the digit where it ends.
"""

from __future__ import annotations

import numpy as np

from equipoise.core.arithmetic.bits import bits_of, float_of
from equipoise.core.arithmetic.fma import fma
from equipoise.core.arithmetic.tables import POWERS, STEP_FIRST, STEP_REST, STEPS_PER_UNIT
from equipoise.core.jit.decorators import compiled, inlined

# Added to a number, it leaves the nearest whole number in the last bits.
_ROUNDER, _ROUNDER_BITS = 1.5 * 2.0**52, 0x4338000000000000
# Beyond these eˣ is infinite or rounds to 0.
LARGEST, SMALLEST = 709.79, -745.14


@compiled
def exp(x: float) -> float:
    """e to the power of x."""
    if -708.0 < x < 708.0:
        high, low, exponent = exp_parts(x, 0.0)
        return float_of(bits_of(high + low) + (exponent << 52))
    if x > LARGEST:
        return np.inf
    if x < SMALLEST:
        return 0.0
    if not x <= LARGEST:
        return np.nan
    high, low, exponent = exp_parts(x, 0.0)
    return scaled(high, low, exponent)


@inlined
def exp_parts(x: float, rest: float) -> tuple[float, float, int]:
    """e^(x + rest) as (high + low)·2^exponent, for a tiny ``rest`` and |x| < 1000."""
    shifted = fma(x, STEPS_PER_UNIT, _ROUNDER)
    k = bits_of(shifted) - _ROUNDER_BITS
    steps = shifted - _ROUNDER
    r = fma(steps, -STEP_REST, fma(steps, -STEP_FIRST, x)) + rest
    square = r * r
    series = fma(square, fma(r, 1.0 / 120.0, 1.0 / 24.0), fma(r, 1.0 / 6.0, 0.5))
    growth = fma(square, series, r)
    high = POWERS[k & 127, 0]
    return high, fma(high, growth, POWERS[k & 127, 1]), k >> 7


@compiled
def scaled(high: float, low: float, exponent: int) -> float:
    """(high + low)·2^exponent, rounded once; high from 1 to 2, low much smaller."""
    value = high + low
    if exponent > 1020:
        # In two steps: 2^1024 is no number, but value may be just below 1.
        return float_of(bits_of(value) + ((exponent - 2) << 52)) * 4.0
    if exponent >= -1020:
        return float_of(bits_of(value) + (exponent << 52))
    limit = float_of((1 - exponent) << 52)  # times 2^exponent it is the smallest normal number
    if value < limit:
        # A sum that begins with the limit ends at the last digit of subnormal numbers.
        total = limit + value
        lost = ((limit - total) + value) + ((high - value) + low)
        value = (total + lost) - limit
    # In two exact steps: 2^−1074 is the smallest power of 2.
    return value * float_of((exponent + 128 + 1023) << 52) * 2.0**-128
