"""Numbers that compiled code reads by their place, and that know where they end.

They go by their address, which costs nothing a call; how many there are stands one place before it. A place
outside holds not a number, whatever memory is there.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types
from numba.extending import lower_builtin, models, register_model, type_callable


class _Bounded(types.Type):
    """The address of the first number."""


BOUNDED = _Bounded("Bounded")


@register_model(_Bounded)
class _BoundedModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, ir.DoubleType().as_pointer())


def bounded(numbers: Sequence[float] | npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """How many there are, the numbers, and one that is none, for reads that are not used.

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
    first, place = arguments[0], context.cast(builder, arguments[1], signature.args[1], types.int64)
    word = ir.IntType(64)
    count = builder.fptoui(_load(builder, first, word(-1)), word)
    # Without signs, so that a place below 0 is beyond the end.
    inside = builder.icmp_unsigned("<", place, count)
    found = _load(builder, first, builder.select(inside, place, word(0)))
    return builder.select(inside, found, ir.Constant(ir.DoubleType(), math.nan))


def _load(builder, first, place):
    """A number that does not change while the code runs: a loop reads it once."""
    number = builder.load(builder.gep(first, [place]))
    number.set_metadata("invariant.load", builder.module.add_metadata([]))
    return number
