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
from numba.np.arrayobj import make_array

from equipoise.core.layout import ARM, TRIAL
from equipoise.errors import InvalidPolicy

F = TypeVar("F", bound=Callable[..., Any])

# No fastmath: another summation order would flip a decision now and then.
# error_model="numpy": a division by zero gives inf or nan, never an exception in the middle of a trial.
# _nrt=False: kernels cannot allocate, which also spares them all counting of references.
_OPTIONS: Any = {"nogil": True, "error_model": "numpy", "fastmath": False, "_nrt": False}

# Settings go as a bare pointer: an array's descriptor would be written and read back on every call.
_SCORE_SIGNATURE = types.float64(
    numba.from_dtype(ARM), numba.from_dtype(TRIAL), types.CPointer(types.float64)
)


def compiled(function: F) -> F:
    """Compile on first call, without the GIL, cached on disk."""
    return cast(F, numba.njit(cache=True, **_OPTIONS)(function))


def inlined(function: F) -> F:
    """The same for the steps of every decision: callers take the code in before it is typed.

    A call would pass a hundred words of array descriptors, which costs more than most steps.
    """
    return cast(F, numba.njit(cache=True, inline="always", **_OPTIONS)(function))


def compile_score(function: Callable[..., float]) -> Any:
    """Compile a score ``f(arm, trial, settings)``; the result's ``.address`` is callable from kernels."""
    # The cache on disk notices a change of the score's own file only. Scores from elsewhere may read
    # constants or helpers of other files, so they are compiled anew in every process.
    own = (function.__module__ or "").startswith("equipoise.")
    try:
        return numba.cfunc(_SCORE_SIGNATURE, cache=own, **_OPTIONS)(function)
    except (numba.core.errors.NumbaError, KeyError, AttributeError) as error:
        reason = str(error).strip().splitlines()[-1] if str(error).strip() else type(error).__name__
        raise InvalidPolicy(
            f"the score {function.__qualname__} cannot be compiled: {reason}",
            hint="use numbers, math and the fields of arm and trial listed in equipoise.core.layout",
        ) from error


@intrinsic
def _call(typing_context, address, arm, trial, settings):
    signature = types.float64(types.intp, arm, trial, settings)

    def generate(context, builder, signature, arguments):
        from llvmlite import ir

        data = make_array(signature.args[3])(context, builder, arguments[3]).data
        values = [arguments[1], arguments[2], data]
        result = context.get_value_type(types.float64)
        function_type = ir.FunctionType(result, [value.type for value in values])
        pointer = builder.inttoptr(arguments[0], function_type.as_pointer())
        return builder.call(pointer, values)

    return signature, generate


# Typed as the function it is inside compiled code, not as the code generator above.
call_score: Callable[[int, Any, Any, Any], float] = cast(Any, _call)
"""Call the score compiled at an address: ``call_score(address, arm, trial, settings)``."""
