"""The 64 bits of a float64, read and written as a whole number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


@intrinsic
def _bits_of(typing_context, number):
    def generate(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.IntType(64))

    return types.int64(types.float64), generate


@intrinsic
def _float_of(typing_context, word):
    def generate(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.int64), generate


# Typed as the functions they are inside compiled code, not as the code generators above.
bits_of: Callable[[float], int] = cast(Any, _bits_of)
"""Sign, exponent and fraction of a number, as an int64."""
float_of: Callable[[Any], float] = cast(Any, _float_of)
"""The number that has these bits."""
