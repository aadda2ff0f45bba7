"""Scores of all arms by one call through an address.

Kernels are compiled once for all policies. A policy's score reaches them as the address of a compiled
function that scores any number of arms, so the very same machine code decides in the lab, in memory
and in the service, and a decision makes one call, however many arms there are.
"""

from __future__ import annotations

import dis
from collections.abc import Callable
from types import FunctionType
from typing import Any, cast

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from equipoise.core.arms.state import ARM, TRIAL
from equipoise.core.choice.score_errors import not_compiled, refused
from equipoise.core.jit import ways
from equipoise.core.jit.bounded import ADDRESS, open_bounded
from equipoise.core.jit.decorators import inlined
from equipoise.core.jit.sources import is_stamped
from equipoise.errors import EquipoiseError, InvalidPolicy

_ARM, _TRIAL = numba.from_dtype(ARM), numba.from_dtype(TRIAL)
# Arrays go as bare pointers: a descriptor would be written and read back on every call.
_SCORE_SIGNATURE = types.intp(_ARM, types.intp, _TRIAL, ADDRESS, ADDRESS)


def compile_score(function: Callable[..., float]) -> Any:
    """Compile a score ``f(arm, trial, settings)``; the result's ``.address`` is for :data:`call_score`."""
    # Scores from elsewhere are compiled anew in every process.
    name = f"score {function.__module__}.{function.__qualname__}" if is_stamped(function) else None
    check_score(function)
    try:
        return ways.chosen().callback(_for_all_arms(function), _SCORE_SIGNATURE, name=name)
    except Exception as error:  # whatever the compiler stumbles over
        if name is not None or isinstance(error, EquipoiseError):
            raise
        raise not_compiled(cast(FunctionType, function), error) from error


def check_score(function: Any) -> None:
    """Refuse what compiles and must not be in a score: it would write to the trial, or break off in it."""
    if not isinstance(function, FunctionType):
        raise InvalidPolicy(
            f"the score {function!r} is not a Python function",
            hint="def score(arm, trial, settings): ..., without @njit: it will be compiled",
        )
    line = None
    for step in dis.get_instructions(function):
        line = step.positions.lineno if step.positions and step.positions.lineno else line
        if step.opname in ("STORE_ATTR", "STORE_SUBSCR", "DELETE_ATTR", "DELETE_SUBSCR"):
            hint = "a score only reads arm, trial and settings; keep numbers in variables of its own"
            raise refused(function, "writes to what it is given", hint=hint, line=line)
        if step.opname == "RAISE_VARARGS":
            hint = "return -math.inf for an arm that must wait"
            raise refused(function, "raises", hint=hint, line=line)


def _for_all_arms(function: Callable[..., float]) -> Callable[..., int]:
    """The loop over the arms around a score; returns how many it has written."""
    score = ways.chosen().part(function, inline=True)

    def score_arms(first: Any, arms: int, trial: Any, numbers: Any, scores: Any) -> int:
        settings = open_bounded(numbers)
        # Policies that look compare even the arms that go first, see highest_score.py.
        starts = trial.forced_start and not trial.looks
        for i in range(arms):
            arm = _record_at(first, i)
            if starts and not arm.design_ready:
                scores[i] = np.inf
            else:
                scores[i] = score(arm, trial, settings)
        return arms

    return score_arms


@inlined
def call_score(address: int, arms: Any, trial: Any, settings: Any, scores: Any) -> None:
    """Score arms with what is compiled at an address.

    Arms without an invertible S score infinity where the policy asks for a forced start and does not look.
    """
    if _called(address, arms, trial, settings, scores) != arms.shape[0]:
        # The score broke off in spite of all checks, and Numba gives 0 for it: what was there is no score.
        for i in range(arms.shape[0]):
            scores[i] = np.nan


@intrinsic
def _call(typing_context, address, arms, trial, settings, scores):
    def generate(context, builder, signature, arguments):
        arrays = [
            context.make_array(signature.args[place])(context, builder, arguments[place])
            for place in (1, 3, 4)
        ]
        first, settings, scores = (array.data for array in arrays)
        values = [first, arrays[0].nitems, arguments[2], settings, scores]
        function_type = ir.FunctionType(ir.IntType(64), [value.type for value in values])
        return builder.call(builder.inttoptr(arguments[0], function_type.as_pointer()), values)

    return types.intp(types.intp, arms, trial, settings, scores), generate


@intrinsic
def _place(typing_context, first, place):
    def generate(context, builder, signature, arguments):
        bytes_before = builder.mul(arguments[1], ir.Constant(arguments[1].type, ARM.itemsize))
        start = builder.bitcast(arguments[0], ir.IntType(8).as_pointer())
        return builder.bitcast(builder.gep(start, [bytes_before]), arguments[0].type)

    return first(first, types.intp), generate


# Typed as the functions they are inside compiled code, not as the code generators above.
_called: Callable[[int, Any, Any, Any, Any], int] = cast(Any, _call)
_record_at: Callable[[Any, int], Any] = cast(Any, _place)
"""The record that many places after the first one of an array."""
