"""Numbers that compiled code reads by their place, and that know where they end.

They go by their address, which costs nothing a call, and how many there are stands first. A function opens
them once, and then knows; a place outside holds not a number, whatever memory is there.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, lower_builtin, models, register_model, type_callable

ADDRESS: Any = types.CPointer(types.float64)


class _Bounded(types.Type):
    """The address of the first number, and how many there are."""


_bounded = _Bounded("Bounded")
_FIRST, _COUNT = range(2)


@register_model(_Bounded)
class _BoundedModel(models.StructModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, [("first", ADDRESS), ("count", types.uint64)])


def bounded(numbers: Sequence[float] | npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """How many there are, the numbers, and one that is none, which is what places outside hold.

    >>> bounded([0.5, 2.0])
    array([2. , 0.5, 2. , nan])
    """
    return np.array([len(numbers), *numbers, math.nan], dtype=float)


@type_callable(operator.getitem)
def _type_read(context):
    def typer(numbers, place):
        return types.float64 if isinstance(numbers, _Bounded) and isinstance(place, types.Integer) else None

    return typer


@lower_builtin(operator.getitem, _Bounded, types.Integer)
def _read(context, builder, signature, arguments):
    first, count = (builder.extract_value(arguments[0], part) for part in (_FIRST, _COUNT))
    place = context.cast(builder, arguments[1], signature.args[1], types.int64)
    # Without signs, so that a place below 0 is beyond the end.
    inside = builder.icmp_unsigned("<", place, count)
    # After the last one stands the one that is none.
    return builder.load(builder.gep(first, [builder.select(inside, place, count)]))


@intrinsic
def _open(typing_context, address):
    def generate(context, builder, signature, arguments):
        first = builder.gep(arguments[0], [ir.IntType(64)(1)])
        count = builder.fptoui(builder.load(arguments[0]), ir.IntType(64))
        numbers = context.get_value_type(_bounded)(ir.Undefined)
        return builder.insert_value(builder.insert_value(numbers, first, _FIRST), count, _COUNT)

    return _bounded(ADDRESS), generate


# Typed as the function it is inside compiled code, not as the code generator above.
open_bounded: Callable[[Any], Any] = cast(Any, _open)
"""The numbers at an address, ready to be read."""
