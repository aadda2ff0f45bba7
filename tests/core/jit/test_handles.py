"""Named tuples in compiled code: the same fields, by one address."""

from typing import Any, NamedTuple

import numba
import numpy as np
import pytest

from equipoise.core.jit.decorators import compiled, inlined
from equipoise.core.jit.handles import Handle, handled


@handled
class Pair(NamedTuple):
    left: Any
    right: Any


@inlined
def _add(pair, place, number):
    pair.left[place] += number


@compiled
def _shift(pair, other, number):
    for k in range(pair.right.shape[0]):
        _add(pair, k, number * pair.right[k])
        _add(other, 0, 1.0)
    return pair.left[0]


def test_fields_are_read_and_written_in_place():
    pair, other = Pair(np.zeros(3), np.arange(3.0)), Pair(np.zeros(1), np.zeros(0))
    assert _shift(pair, other, 2.0) == 0.0
    np.testing.assert_array_equal(pair.left, [0.0, 2.0, 4.0])
    np.testing.assert_array_equal(other.left, [3.0])
    _add(pair, 1, 0.5)
    assert pair.left[1] == 2.5


def test_every_call_reads_the_arrays_it_is_given():
    pair, other = Pair(np.zeros(2), np.ones(2)), Pair(np.zeros(1), np.zeros(0))
    _shift(pair, other, 1.0)
    replaced = pair._replace(left=np.full(2, 10.0))
    assert _shift(replaced, other, 1.0) == 11.0
    np.testing.assert_array_equal(pair.left, [1.0, 1.0])


def test_types_tell_arrays_apart():
    flat, square = numba.typeof(Pair(np.zeros(1), np.zeros(1))), numba.typeof(Pair(np.zeros(1), np.eye(2)))
    assert isinstance(flat, Handle)
    assert flat != square
    assert flat == numba.typeof(Pair(np.ones(5), np.ones(7)))
    assert (flat.field("right").ndim, square.field("right").ndim) == (1, 2)


def test_a_field_that_does_not_exist_is_an_error():
    @compiled
    def middle(pair):
        return pair.middle[0]

    with pytest.raises(numba.TypingError, match="middle"):
        middle(Pair(np.zeros(1), np.zeros(1)))
