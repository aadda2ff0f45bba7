"""Tables of logarithms and of powers of 2, from whole numbers of any length: the same on every machine.

``LOGARITHMS`` has a row for each of the 256 intervals that logarithm.py cuts the fractions m from
0.708 to 1.416 into: c ≈ 1/m, a multiple of 1/512, and −log c as a sum of two numbers. ``POWERS``
has a row for each j below 128: 2^(j/128) as a sum of two numbers.

The first part of a logarithm is a multiple of 2⁻⁴², so that whole multiples of log 2 add to it without
rounding; the first part of a step log 2/128 is one of 2⁻⁴⁴, for the same reason.
"""

from __future__ import annotations

from math import isqrt, ldexp

import numpy as np

from equipoise.core.arrays import Matrix

INTERVALS, ONE = 256, 149
"""How many intervals of fractions there are, and which one has 1 in its middle."""
STEPS = 128
"""How many steps a power of 2 is cut into."""

# Bits after the point; the results are rounded at 2⁻¹⁰⁰ at the latest.
_BITS = 160


def _log_ratio(a: int, b: int) -> int:
    """log(a/b)·2^_BITS by 2·artanh((a−b)/(a+b)), within a few units."""
    square, whole = (a - b) * (a - b), (a + b) * (a + b)
    power = ((a - b) << _BITS + 1) // (a + b)
    total, order = 0, 1
    while abs(power) > 1:
        total += power // order
        power = power * square // whole
        order += 2
    return total


def _rounded(value: int, bits: int) -> int:
    """A number with _BITS bits after the point, to the nearest with fewer, which it is returned as."""
    shift = _BITS - bits
    return (value + (1 << shift - 1)) >> shift


def _in_two(value: int, bits: int) -> tuple[float, float]:
    """The nearest multiple of 2^−bits, and what is left over."""
    first = _rounded(value, bits)
    rest = value - (first << _BITS - bits)
    # Fewer than 53 bits are left, so both are exact floating-point numbers.
    return ldexp(first, -bits), ldexp(_rounded(rest, bits + 52), -(bits + 52))


def _inverses() -> list[int]:
    """512·c for every interval; below 1 fractions have a bit more, and c one less."""
    below = [2 * round(256 * 512 / (512 - places)) for places in range(ONE, 0, -1)]
    return below + [round(512 * 256 / (256 + places)) for places in range(INTERVALS - ONE)]


def _logarithms() -> Matrix:
    # log of every whole number from the least c on, in steps log((a+1)/a) that take a few terms each.
    inverses = _inverses()
    logs, a = {512: 0}, 512
    while a < max(inverses):
        logs[a + 1] = logs[a] + _log_ratio(a + 1, a)
        a += 1
    a = 512
    while a > min(inverses):
        logs[a - 1] = logs[a] - _log_ratio(a, a - 1)
        a -= 1
    return np.array([(a / 512.0, *_in_two(-logs[a], 42)) for a in inverses])


def _powers() -> Matrix:
    root = 2 << _BITS
    for _ in range(STEPS.bit_length() - 1):
        root = isqrt(root << _BITS)
    values = [1 << _BITS]
    for _ in range(STEPS - 1):
        values.append(values[-1] * root >> _BITS)
    return np.array([_in_two(value, 52) for value in values])


LOG2 = _log_ratio(2, 1)
LOG2_FIRST, LOG2_REST = _in_two(LOG2, 42)
STEP_FIRST, STEP_REST = _in_two(LOG2 // STEPS, 44)
STEPS_PER_UNIT = ldexp((STEPS << 2 * _BITS) // LOG2, -_BITS)
LOGARITHMS, POWERS = _logarithms(), _powers()
