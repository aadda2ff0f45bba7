"""Powers x^y, within 0.53 units in the last place.

x^y = e^(y·log x) with the logarithm as a sum of two numbers (logarithm.py), each product with y as one,
too, and the smaller part handed on to the exponential (exponential.py). |y·log x| is below 746 where
the result is neither 0 nor infinite, so 2⁻⁶⁸ of it is below 1/40 of the last place. Special cases follow C's
``pow``.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from equipoise.core.arithmetic.bits import bits_of
from equipoise.core.arithmetic.exponential import LARGEST, SMALLEST, exp_parts, scaled
from equipoise.core.arithmetic.fma import fma
from equipoise.core.arithmetic.logarithm import log_parts
from equipoise.core.arrays import Vector
from equipoise.core.jit.decorators import compiled

# From here on all floating-point numbers are even.
_EVEN = 2.0**53


def powers(numbers: npt.ArrayLike, exponent: float) -> Vector:
    """Each of a few numbers to the same power, in plain Python."""
    values = np.array(numbers, dtype=float)
    if exponent == 1.0:  # spares the time to compile
        return values
    return np.array([power(float(value), float(exponent)) for value in values.ravel()]).reshape(values.shape)


@compiled
def power(x: float, y: float) -> float:
    """x to the power of y; nan for x < 0 unless y is a whole number."""
    if y == 0.0 or x == 1.0:
        return 1.0
    if x != x or y != y:
        return np.nan
    size = abs(x)
    sign = 1.0
    if bits_of(x) < 0:
        whole = abs(y) >= _EVEN or float(int(y)) == y
        if whole and abs(y) < _EVEN and int(y) % 2 != 0:
            sign = -1.0
        if not whole and 0.0 < size < np.inf:
            return np.nan
    if size == 0.0 or size == np.inf or abs(y) == np.inf:
        if size == 1.0:
            return 1.0
        return sign * np.inf if (size > 1.0) == (y > 0.0) else sign * 0.0
    log_first, log_rest = log_parts(size)
    first = y * log_first
    if first > LARGEST + 0.01:
        return sign * np.inf
    if first < SMALLEST - 0.01:
        return sign * 0.0
    rest = fma(y, log_first, -first) + y * log_rest
    high, low, exponent = exp_parts(first, rest)
    return sign * scaled(high, low, exponent)
