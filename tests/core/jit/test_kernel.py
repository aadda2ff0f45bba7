"""Functions that Python and compiled code call: the same code from both."""

import pickle
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest

from equipoise.core.jit.decorators import compiled, inlined
from equipoise.core.jit.handles import handled
from equipoise.core.jit.kernel import Kernel
from equipoise.core.jit.sources import is_stamped


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
    _sum_scaled(VALUES, 3)
    assert len(_scaled.part.overloads) == 1


def test_ordinary_numba_functions_can_call_kernels():
    @numba.njit
    def twice(values):
        return 2.0 * _sum_scaled(values, 3)

    assert twice(VALUES) == 2.0 * _sum_scaled(VALUES, 3)


def test_a_kernel_is_pickled_by_its_name():
    assert pickle.loads(pickle.dumps(_sum_scaled)) is _sum_scaled


@handled
class Box(NamedTuple):
    values: Any


def _is_flat(kind):
    return kind.field("values").ndim == 1


def _set_first(box, number):
    box.values.flat[0] = number


_set_if_flat = Kernel(_set_first).under(_is_flat)


@compiled
def _fill(box, number):
    _set_if_flat(box, number)
    return box.values.size


def test_a_call_under_a_condition_is_left_out_where_the_types_say_so():
    flat, square = Box(np.zeros(2)), Box(np.zeros((2, 2)))
    assert (_fill(flat, 3.0), _fill(square, 3.0)) == (2, 4)
    assert (flat.values[0], square.values[0, 0]) == (3.0, 0.0)


def test_a_call_is_never_tried_again():
    """A signal handler can raise when the kernel has done its work, and nobody sees whether it has."""
    kernel, calls = Kernel(_scaled.py_func), []

    def interrupted(*arguments):
        calls.append(arguments)
        raise TimeoutError

    kernel._dispatcher = interrupted
    with pytest.raises(TimeoutError):
        kernel(VALUES, 1, 2.0)
    assert len(calls) == 1


def test_only_sources_of_this_package_are_kept_on_disk():
    from equipoise.core.arms.least_squares import settle

    assert is_stamped(settle.py_func)
    assert not is_stamped(_sum_scaled.py_func)
