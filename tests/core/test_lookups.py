"""Remembered signatures: each found once, and nobody else's compiler changed."""

import operator

import numba
import numpy as np
from numba import types
from numba.core.registry import cpu_target

from equipoise.core.compiled import compiled
from equipoise.core.lookups import remembering


def test_a_call_is_looked_up_once_for_the_same_types(monkeypatch):
    context = remembering(cpu_target.typing_context)
    assert context is remembering(cpu_target.typing_context)
    add = context.resolve_value_type(operator.add)
    asked = []
    get_call_type = types.Function.get_call_type

    def count(self, *arguments):
        asked.append(arguments[1])
        return get_call_type(self, *arguments)

    monkeypatch.setattr(types.Function, "get_call_type", count)
    kinds = (types.int16, types.float32)
    first, second = (add.get_call_type(context, kinds, {}) for _ in range(2))
    assert first is second
    assert first.return_type == add.get_call_type(context, (types.float32, types.int16), {}).return_type
    assert asked == [kinds, kinds[::-1]]


def test_ordinary_numba_functions_are_typed_as_before():
    remembering(cpu_target.typing_context)
    assert type(cpu_target.typing_context.resolve_value_type(operator.add)) is types.Function
    assert numba.njit(lambda a, b: a + b)("a", "b") == "ab"


def test_what_is_registered_later_is_found():
    def late(x):
        raise NotImplementedError

    @compiled
    def call(x):
        return late(x)

    numba.extending.overload(late)(lambda x: lambda x: 2.0 * x)
    assert call(4.0) == 8.0
    assert call(np.float64(1.5)) == 3.0
