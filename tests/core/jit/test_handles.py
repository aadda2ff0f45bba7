"""Named tuples in compiled code: the same fields, by one address."""

import gc
import weakref
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest

from equipoise.core.jit.decorators import compiled, inlined
from equipoise.core.jit.fast import Fast
from equipoise.core.jit.handles import Handle, gathered, handled
from equipoise.core.jit.plain import Plain


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


def test_what_was_gathered_stands_for_the_arrays():
    pair, other = Pair(np.zeros(3), np.arange(3.0)), Pair(np.zeros(1), np.zeros(0))
    kept = gathered(pair)
    assert _shift(kept, other, 2.0) == 0.0
    pair.right[0] = 5.0  # kernels see what is in the arrays at the time of the call
    assert _shift(kept, gathered(other), 2.0) == 10.0
    np.testing.assert_array_equal(pair.left, [10.0, 4.0, 8.0])
    np.testing.assert_array_equal(other.left, [6.0])


def test_arrays_stay_as_long_as_what_was_gathered_of_them():
    left = np.zeros(1000)
    seen = weakref.ref(left)
    kept = gathered(Pair(left, np.ones(1000)))
    del left
    gc.collect()
    assert seen() is not None
    assert _shift(kept, Pair(np.zeros(1), np.zeros(0)), 3.0) == 3.0
    del kept
    gc.collect()
    assert seen() is None


@pytest.mark.parametrize("way", [Fast(), Plain()], ids=["fast", "plain"])
@pytest.mark.parametrize("stored", [False, True])
def test_gathered_arrays_of_other_kinds_are_told_apart(way, stored):
    def dimensions(pair):
        return pair.right.ndim

    kernel = way.kernel(dimensions, stored=stored)
    pairs = [Pair(np.zeros(1), np.zeros((1,) * ndim)) for ndim in (1, 2, 3)]
    assert [kernel(gathered(pair)) for pair in pairs] == [1, 2, 3]
    assert [kernel(pair) for pair in pairs] == [1, 2, 3]
