"""What written arithmetic is held against: true values, and compiled functions run as Python."""

from __future__ import annotations

import functools
import math
import struct
from fractions import Fraction
from types import FunctionType

import numpy as np
from mpmath import mp, mpf

from equipoise.core.arithmetic.bits import bits_of, float_of
from equipoise.core.arithmetic.fma import fma

mp.prec = 240

# Numbers from here on are rounded to infinity.
_BEYOND = mpf(2) ** 1024 - mpf(2) ** 970


def exact_fma(a, b, c):
    """a·b + c rounded once, by fractions."""
    if not (math.isfinite(a) and math.isfinite(b) and math.isfinite(c)) or a == 0.0 or b == 0.0:
        return a * b + c
    value = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    try:
        rounded = value.numerator / value.denominator
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    # A sum that vanishes is +0, one that underflows keeps its sign.
    return rounded if value >= 0 else -abs(rounded)


def bits_in_python(number):
    return struct.unpack("<q", struct.pack("<d", number))[0]


def float_in_python(word):
    return struct.unpack("<d", struct.pack("<q", word))[0]


_INTRINSICS = {id(fma): exact_fma, id(bits_of): bits_in_python, id(float_of): float_in_python}


@functools.cache
def in_python(compiled):
    """A compiled function with everything that it calls, run by the interpreter."""
    function = compiled.py_func
    names = {name: _replaced(value) for name, value in function.__globals__.items()}
    interpreted = FunctionType(function.__code__, names)

    def call(*arguments):
        with np.errstate(all="ignore"):
            return interpreted(*arguments)

    return call


def _replaced(value):
    if id(value) in _INTRINSICS:
        return _INTRINSICS[id(value)]
    if hasattr(value, "py_func"):
        return lambda *arguments: in_python(value)(*arguments)
    return value


def units_off(got, exact):
    """|got − exact| in units of got's last place; infinite where one overflows and the other does not."""
    if abs(exact) >= _BEYOND or not math.isfinite(got):
        right = abs(exact) >= _BEYOND and math.isinf(got) and (got > 0) == (exact > 0)
        return 0.0 if right else math.inf
    return float(abs(mpf(got) - exact) / mpf(math.ulp(got)))
