"""Functions as parts of kernels: the same code from Python and inside another kernel."""

import gc

import numba
import numpy as np
from numba import types

from equipoise.core.compiled import compiled, inlined


@inlined
def _scaled(values, place, factor):
    return values[place] * factor


@compiled
def _sum_scaled(values, factor):
    total = 0.0
    for k in range(values.shape[0]):
        total += _scaled(values, k, factor)
    return total + _scaled(values, 0, 2) + _scaled(values, 1, 3)


VALUES = np.array([0.1, 0.7, 1.3])


def test_a_part_computes_what_it_does_on_its_own():
    alone = [_scaled(VALUES, k, 3) for k in range(3)]
    assert _sum_scaled(VALUES, 3) == sum(alone) + _scaled(VALUES, 0, 2) + alone[1]


def test_constants_do_not_compile_a_part_anew():
    for place, factor in ((0, 2), (1, 3)):
        # What a kernel asks for that calls _scaled(values, 0, 2).
        _scaled.get_call_template([numba.typeof(VALUES), types.literal(place), types.literal(factor)], {})
    assert len(_scaled.get_overload.__self__.overloads) == 1


def test_ordinary_numba_functions_can_call_parts():
    @numba.njit
    def twice(values):
        return 2.0 * _sum_scaled(values, 3)

    assert twice(VALUES) == 2.0 * _sum_scaled(VALUES, 3)


def test_compiling_leaves_the_garbage_collector_as_it_was():
    @compiled
    def twice(x):
        return 2 * x

    assert gc.isenabled()
    assert twice(4) == 8
    assert gc.isenabled()
    gc.disable()
    try:
        assert twice(4.0) == 8.0
        assert not gc.isenabled()
    finally:
        gc.enable()
