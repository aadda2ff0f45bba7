"""The logarithm of the gamma function for positive numbers, by Stirling's series.

    log Γ(x) = (x − ½)·(log x − 1) + (½·log 2π − ½) + 1/12x − 1/360x³ + 1/1260x⁵ − …

From 8 on the first term left out is below 10⁻¹⁶. Smaller numbers are brought there by
Γ(x) = Γ(x + n)/(x·(x+1)…(x+n−1)), with one logarithm of the product. Absolute errors stay below
10⁻¹⁴, or 10⁻¹⁴ of the value where that is more; digits are lost around 1 and 2, where log Γ vanishes.
"""

from __future__ import annotations

import numpy as np

from equipoise.core.arithmetic.fma import fma
from equipoise.core.arithmetic.logarithm import log
from equipoise.core.jit.decorators import compiled

_LEAST = 8.0
# ½·log 2π − ½
_CONSTANT = 0.4189385332046727
# B₂ₖ/(2k(2k−1)): numerators and denominators of the series.
_SERIES = (
    1.0 / 12.0,
    -1.0 / 360.0,
    1.0 / 1260.0,
    -1.0 / 1680.0,
    1.0 / 1188.0,
    -691.0 / 360360.0,
    1.0 / 156.0,
    -3617.0 / 122400.0,
)


@compiled
def log_gamma(x: float) -> float:
    """log Γ(x) for x > 0; ∞ at 0 and nan below."""
    if not x > 0.0:
        return np.inf if x == 0.0 else np.nan
    if x == np.inf:
        return np.inf
    product = 1.0
    while x < _LEAST:
        product *= x
        x += 1.0
    inverse = 1.0 / x
    square = inverse * inverse
    series = 0.0
    for place in range(len(_SERIES) - 1, -1, -1):
        series = fma(series, square, _SERIES[place])
    value = fma(x - 0.5, log(x) - 1.0, fma(series, inverse, _CONSTANT))
    return value - log(product) if product != 1.0 else value
