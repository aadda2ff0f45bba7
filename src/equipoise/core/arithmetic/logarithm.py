"""Natural logarithms, within 0.51 units in the last place.

A positive x is 2^e·m with m from 0.708 to 1.416. The table (tables.py) has c ≈ 1/m for 256 intervals of m,
short enough that r = m·c − 1 is exact in a fused multiply-add, and |r| < 3/1024. Then

    log x = (e·log 2 − log c) + log(1 + r)
    log(1 + r) = r − r²/2 + r³·(1/3 − r/4 + r²/5 − r³/6 + r⁴/7 − r⁵/8)

The term left out is below 2⁻⁷⁰ of r. The bracket is a sum of two numbers, the first exact and so short
that adding r loses only what is added back; the rest is below 2⁻¹⁷ and is rounded in its own last places.
c is 1 around m = 1, where log x is as small as r: nothing cancels there. Intervals are equally long in the
bits of m, so half as long below 1 as above.

:func:`log_parts` keeps the rounding errors of r − r²/2, too: a sum of two numbers within 2⁻⁶⁸ of log x.
"""

from __future__ import annotations

import numpy as np

from equipoise.core.arithmetic.bits import bits_of, float_of
from equipoise.core.arithmetic.fma import fma
from equipoise.core.arithmetic.tables import LOG2_FIRST, LOG2_REST, LOGARITHMS
from equipoise.core.jit.decorators import compiled, inlined

_START = 0x3FE6A80000000000  # the bits of 1 − 149.5/512, where the first interval begins
_SMALLEST_NORMAL, _LARGEST = 2.0**-1022, 1.7976931348623157e308
# Above this 1 + x and x have the same logarithm.
_VAST = 2.0**60


@compiled
def log(x: float) -> float:
    """log x; −∞ at 0, nan below."""
    word, shift = bits_of(x), 0
    if not _SMALLEST_NORMAL <= x <= _LARGEST:
        if x == 0.0:
            return -np.inf
        if x == np.inf:
            return np.inf
        if not x > 0.0:
            return np.nan
        word, shift = bits_of(x * 2.0**54), -54
    exponent, place, fraction = _split(word)
    k = float(exponent + shift)
    r = fma(fraction, LOGARITHMS[place, 0], -1.0)
    return _joined(k, place, r, 0.0)


@compiled
def log1p(x: float) -> float:
    """log(1 + x), exact digits for small x, too."""
    if -(2.0**-10) <= x < 2.0**-9:
        return x + x * x * fma(x, _series(x), -0.5)
    if not -1.0 < x < np.inf:
        if x == -1.0:
            return -np.inf
        return x if x == np.inf else np.nan
    if x >= _VAST:
        return log(x)
    near = 1.0 + x
    # What 1 + x lost.
    lost = x - (near - 1.0) if x < 1.0 else 1.0 - (near - x)
    exponent, place, fraction = _split(bits_of(near))
    c = LOGARITHMS[place, 0]
    exact = fma(fraction, c, -1.0)
    more = lost * float_of((1023 - exponent) << 52) * c
    r = exact + more
    return _joined(float(exponent), place, r, (exact - r) + more)


@compiled
def log_parts(x: float) -> tuple[float, float]:
    """log x as a rounded number and what it lacks, for finite x > 0."""
    word, shift = bits_of(x), 0
    if x < _SMALLEST_NORMAL:
        word, shift = bits_of(x * 2.0**54), -54
    exponent, place, fraction = _split(word)
    k = float(exponent + shift)
    base = fma(k, LOG2_FIRST, LOGARITHMS[place, 1])
    rest = fma(k, LOG2_REST, LOGARITHMS[place, 2])
    r = fma(fraction, LOGARITHMS[place, 0], -1.0)
    top = base + r
    half = 0.5 * r * r
    high = top - half
    lost = ((base - top) + r) + ((top - high) - half)
    # What half lacks, with the sign that it is subtracted with.
    lost += fma(-0.5 * r, r, half)
    low = (lost + rest) + r * r * r * _series(r)
    total = high + low
    return total, (high - total) + low


@inlined
def _split(word: int) -> tuple[int, int, float]:
    """e, the interval of m, and m, from the bits of 2^e·m."""
    offset = word - _START
    exponent = offset >> 52
    return exponent, (offset >> 44) & 255, float_of(word - (exponent << 52))


@inlined
def _joined(k: float, place: int, r: float, more: float) -> float:
    """k·log 2 − log c + log(1 + r + more) for a tiny ``more``."""
    base = fma(k, LOG2_FIRST, LOGARITHMS[place, 1])
    rest = fma(k, LOG2_REST, LOGARITHMS[place, 2]) + more
    top = base + r
    return top + (((base - top) + r) + fma(r * r, fma(r, _series(r), -0.5), rest))


@inlined
def _series(r: float) -> float:
    """(log(1 + r) − r + r²/2)/r³; pairs of terms, so that they need not wait for each other."""
    square = r * r
    late = fma(r, -1.0 / 8.0, 1.0 / 7.0)
    middle = fma(r, -1.0 / 6.0, 1.0 / 5.0)
    early = fma(r, -1.0 / 4.0, 1.0 / 3.0)
    return fma(square, fma(square, late, middle), early)
