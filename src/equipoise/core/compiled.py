"""How functions become machine code: one decorator, and calls through an address.

Kernels are compiled once for all policies. A policy's score reaches them as the address of a compiled
function that scores any number of arms, so the very same machine code decides in the lab, in memory
and in the service, and a decision makes one call, however many arms there are.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba import types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from equipoise.core.layout import ARM, TRIAL
from equipoise.core.linking import ScoreCompiler, foreign_part, part_and_kernel
from equipoise.errors import InvalidPolicy

F = TypeVar("F", bound=Callable[..., Any])

# No fastmath: another summation order would flip a decision now and then.
# error_model="numpy": a division by zero gives inf or nan, never an exception in the middle of a trial.
# _nrt=False: kernels cannot allocate, which also spares them all counting of references.
_OPTIONS: Any = {"nogil": True, "error_model": "numpy", "fastmath": False, "_nrt": False}

_ARM, _TRIAL, _NUMBERS = numba.from_dtype(ARM), numba.from_dtype(TRIAL), types.CPointer(types.float64)
# Arrays go as bare pointers: a descriptor would be written and read back on every call.
_SCORE_SIGNATURE = types.void(_ARM, types.intp, _TRIAL, _NUMBERS, _NUMBERS)


def compiled(function: F) -> F:
    """Compile on first call, without the GIL, cached on disk."""
    return cast(F, part_and_kernel(function, **_OPTIONS))


def inlined(function: F) -> F:
    """The same for the steps of every decision, which callers take in whole: most cost less than a call."""
    return cast(F, part_and_kernel(function, forceinline=True, **_OPTIONS))


def compile_score(function: Callable[..., float]) -> Any:
    """Compile a score ``f(arm, trial, settings)``; the result's ``.address`` is for :data:`call_score`."""
    # The cache on disk notices a change of the score's own file only. Scores from elsewhere may read
    # constants or helpers of other files, so they are compiled anew in every process.
    own = (function.__module__ or "").startswith("equipoise.")
    try:
        return numba.cfunc(_SCORE_SIGNATURE, cache=own, pipeline_class=ScoreCompiler, **_OPTIONS)(
            _for_all_arms(function)
        )
    except (numba.core.errors.NumbaError, KeyError, AttributeError) as error:
        reason = str(error).strip().splitlines()[-1] if str(error).strip() else type(error).__name__
        raise InvalidPolicy(
            f"the score {function.__qualname__} cannot be compiled: {reason}",
            hint="use numbers, math and the fields of arm and trial listed in equipoise.core.layout",
        ) from error


def _for_all_arms(function: Any) -> Any:
    """The loop around a score, which the cache on disk takes for code of the score's file."""
    code = _score_arms.__code__.replace(
        co_filename=function.__code__.co_filename, co_firstlineno=function.__code__.co_firstlineno
    )
    loop = FunctionType(code, {**globals(), "_score": foreign_part(function, forceinline=True, **_OPTIONS)})
    loop.__module__, loop.__qualname__ = function.__module__, function.__qualname__
    return loop


def _score(arm: Any, trial: Any, settings: Any) -> float:
    """Keeps the place of the score in the loop below."""
    raise NotImplementedError


def _score_arms(first: Any, arms: int, trial: Any, settings: Any, scores: Any) -> None:
    for i in range(arms):
        arm = _record_at(first, i)
        # Policies that look compare even the arms that go first, see choice.py.
        if trial.forced_start and not trial.looks and not arm.design_ready:
            scores[i] = np.inf
        else:
            scores[i] = _score(arm, trial, settings)


@intrinsic
def _call(typing_context, address, arms, trial, settings, scores):
    def generate(context, builder, signature, arguments):
        from llvmlite import ir

        array, numbers = signature.args[1], signature.args[3]
        first, settings, scores = (
            make_array(kind)(context, builder, value).data
            for kind, value in zip((array, numbers, numbers), (arguments[1], *arguments[3:]), strict=True)
        )
        count = make_array(array)(context, builder, arguments[1]).nitems
        values = [first, count, arguments[2], settings, scores]
        function_type = ir.FunctionType(ir.VoidType(), [value.type for value in values])
        builder.call(builder.inttoptr(arguments[0], function_type.as_pointer()), values)
        return context.get_dummy_value()

    return types.void(types.intp, arms, trial, settings, scores), generate


@intrinsic
def _place(typing_context, first, place):
    def generate(context, builder, signature, arguments):
        from llvmlite import ir

        bytes_before = builder.mul(arguments[1], ir.Constant(arguments[1].type, ARM.itemsize))
        start = builder.bitcast(arguments[0], ir.IntType(8).as_pointer())
        return builder.bitcast(builder.gep(start, [bytes_before]), arguments[0].type)

    return first(first, types.intp), generate


# Typed as the functions they are inside compiled code, not as the code generators above.
call_score: Callable[[int, Any, Any, Any, Any], None] = cast(Any, _call)
"""Score arms with what is compiled at an address: ``call_score(address, arms, trial, settings, scores)``.

Arms without an invertible S score infinity where the policy asks for a forced start and does not look.
"""
_record_at: Callable[[Any, int], Any] = cast(Any, _place)
"""The record that many places after the first one of an array."""
