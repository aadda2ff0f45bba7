"""How functions become machine code: one decorator, and calls through an address.

Kernels are compiled once for all policies. A policy's score reaches them as the address of its own
compiled function, so the very same machine code decides in the lab, in memory and in the service.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numba import types
from numba.extending import intrinsic

from equipoise.core.layout import ARM, TRIAL

F = TypeVar("F", bound=Callable[..., Any])

# No fastmath: another summation order would flip a decision now and then.
# error_model="numpy": a division by zero gives inf or nan, never an exception in the middle of a trial.
_OPTIONS: Any = {"nogil": True, "error_model": "numpy", "fastmath": False}

_SCORE_SIGNATURE = types.float64(
    numba.from_dtype(ARM), numba.from_dtype(TRIAL), types.Array(types.float64, 1, "C")
)


def compiled(function: F) -> F:
    """Compile on first call, without the GIL, cached on disk."""
    return cast(F, numba.njit(cache=True, **_OPTIONS)(function))


def compile_score(function: Callable[..., float]) -> Any:
    """Compile a score ``f(arm, trial, settings)``; the result's ``.address`` is callable from kernels."""
    try:
        return numba.cfunc(_SCORE_SIGNATURE, cache=True, **_OPTIONS)(function)
    except RuntimeError as error:
        # Functions typed into an interpreter have no file to be cached beside.
        if "cannot cache" not in str(error):
            raise
        return numba.cfunc(_SCORE_SIGNATURE, **_OPTIONS)(function)


@intrinsic
def _call(typing_context, address, arm, trial, settings):  # type: ignore[no-untyped-def]
    signature = types.float64(types.intp, arm, trial, settings)

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        from llvmlite import ir

        function_type = ir.FunctionType(
            context.get_value_type(types.float64),
            [context.get_value_type(kind) for kind in signature.args[1:]],
        )
        pointer = builder.inttoptr(arguments[0], function_type.as_pointer())
        return builder.call(pointer, arguments[1:])

    return signature, generate


# Typed as the function it is inside compiled code, not as the code generator above.
call_score: Callable[[int, Any, Any, Any], float] = cast(Any, _call)
"""Call the score compiled at an address: ``call_score(address, arm, trial, settings)``."""
