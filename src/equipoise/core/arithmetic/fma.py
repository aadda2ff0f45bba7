"""Fused multiply-add: a·b + c, rounded once.

A processor without such an instruction calls the C library's ``fma``, which is exact by the C standard.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from numba import types
from numba.extending import intrinsic


@intrinsic
def _fma(typing_context, a, b, c):
    def generate(context, builder, signature, arguments):
        return builder.fma(*arguments)

    return types.float64(types.float64, types.float64, types.float64), generate


# Typed as the function it is inside compiled code, not as the code generator above.
fma: Callable[[float, float, float], float] = cast(Any, _fma)
"""a·b + c with one rounding."""
