"""Fused multiply-add is rounded once, with an instruction for it and without."""

from __future__ import annotations

import platform

import numba
import numpy as np
import pytest
from exact import bits_in_python, exact_fma, float_in_python
from hypothesis import given
from hypothesis import strategies as st
from other_process import GENERIC, output_of

from equipoise.core.arithmetic.bits import bits_of, float_of
from equipoise.core.arithmetic.fma import fma
from equipoise.core.jit.decorators import compiled

numbers = st.integers(-(2**63), 2**63 - 1).map(float_in_python)


@compiled
def fused(a, b, c):
    return fma(a, b, c)


@compiled
def there_and_back(x):
    return float_of(bits_of(x) + 1)


def check(a, b, c):
    with np.errstate(all="ignore"):
        expected = exact_fma(a, b, c)
    got = fused(a, b, c)
    assert bits_in_python(got) == bits_in_python(expected) or (got != got and expected != expected), (a, b, c)


@given(numbers, numbers, numbers)
def test_one_rounding(a, b, c):
    check(a, b, c)


@given(st.floats(-2.0, 2.0), st.floats(-2.0, 2.0))
def test_what_a_product_lost(a, b):
    check(a, b, -(a * b))


def check_many():
    raw = np.random.PCG64(3).random_raw(6000)
    for a, b, c in raw.view(np.float64).reshape(-1, 3).tolist():
        check(a, b, c)
    for a, b in ((raw >> 11) * 2.0**-53).reshape(-1, 2).tolist():
        check(a, b, -(a * b))
        check(1.0 + a, 1.0 + b, -1.0)


def newer_instructions():
    """Which of the newer instructions machine code has that Numba makes in this process."""

    @numba.njit
    def products(a, b, c):
        for i in range(a.shape[0]):
            c[i] += a[i] * b[i]

    products(*np.ones((3, 4)))
    (made,) = products.inspect_asm().values()
    return [sign for sign in ("ymm", "zmm", "vmul", "vfmadd", "fmla", "fmadd") if sign in made]


def test_processors_without_the_instruction():
    assert output_of(__file__, "check_many()", **GENERIC) == "None"


@pytest.mark.skipif(platform.machine() != "x86_64", reason="other processors have others")
def test_a_generic_processor_has_none_of_the_newer_ones():
    """Or whatever is compared with it would be compared with itself."""
    assert output_of(__file__, "newer_instructions()", **GENERIC) == "[]"


def test_here_too():
    check_many()


def test_bits():
    assert there_and_back(1.0) == 1.0 + 2.0**-52
