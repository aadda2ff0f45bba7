"""Weights of all arms by one call through an address, as scores are called in scoring.py.

A design is two functions in one: asked about a unit (``WEIGH``) it writes weights and changes nothing else;
told the unit's arm it takes note of it in its memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, cast

import numba
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from equipoise.core.arms.state import ARM, TRIAL, State
from equipoise.core.arrays import Vector
from equipoise.core.draws.streams import STREAM_WORDS
from equipoise.core.jit import ways
from equipoise.core.jit.addresses import array_at
from equipoise.core.jit.bounded import ADDRESS, open_bounded
from equipoise.core.jit.decorators import inlined
from equipoise.core.jit.sources import is_stamped
from equipoise.errors import InvalidPolicy

WEIGH = -1
"""In the place of an arm: weights are asked for."""

_ARMS, _TRIAL = types.CPointer(numba.from_dtype(ARM)), numba.from_dtype(TRIAL)
_WHOLE, _WORDS = types.CPointer(types.int64), types.CPointer(types.uint64)
# Arrays go as bare pointers, with their lengths where the trial does not know them.
_SIGNATURE = types.intp(
    *(_ARMS, _TRIAL, ADDRESS, ADDRESS, ADDRESS, types.intp, types.intp),
    *(_WHOLE, _WORDS, ADDRESS, types.intp, types.intp),
)


def compile_design(weigh: Callable[..., None], remember: Callable[..., None]) -> Any:
    """Compile the two functions of a design; the result's ``.address`` is for :func:`call_design`."""
    stored = is_stamped(weigh) and is_stamped(remember)
    name = f"design {weigh.__module__}.{weigh.__qualname__}, {remember.__qualname__}" if stored else None
    try:
        return ways.chosen().callback(_joined(weigh, remember), _SIGNATURE, name=name)
    except (numba.errors.NumbaError, KeyError, AttributeError) as error:
        text = re.sub(r"\x1b\[[0-9;]*m", "", str(error)).strip()
        reason = text.splitlines()[-1] if text else type(error).__name__
        raise InvalidPolicy(
            f"the design {weigh.__qualname__} cannot be compiled: {reason}",
            hint="use numbers, and the fields of arms and trial listed in equipoise.core.arms.state",
        ) from error


def _joined(weigh: Callable[..., None], remember: Callable[..., None]) -> Callable[..., int]:
    weighed = ways.chosen().part(weigh, inline=True)
    remembered = ways.chosen().part(remember, inline=True)

    def design(
        first: Any,
        trial: Any,
        numbers: Any,
        entries: Any,
        cells: Any,
        height: int,
        width: int,
        places: Any,
        words: Any,
        shares: Any,
        row: int,
        arm: int,
    ) -> int:
        settings = open_bounded(numbers)
        context = _line(entries, trial.dim)
        memory = _table(cells, height, width)
        if arm >= 0:
            remembered(trial, settings, context, memory, _line(words, STREAM_WORDS), row, arm)
        else:
            arms = _line(first, trial.arms)
            turns = _line(places, trial.arms)
            weighed(arms, trial, settings, context, memory, turns, _line(shares, trial.arms))
        return 1

    return design


@inlined
def call_design(state: State, row: int, arm: int, settings: Vector, weights: Vector) -> None:
    """Ask a design for weights (``arm`` is ``WEIGH``), or tell it the arm of a row."""
    _called(
        state.plan[0],
        state.arms,
        state.trial[0],
        settings,
        state.contexts[row],
        state.memory,
        state.plan[1:],
        state.lots,
        weights,
        row,
        arm,
    )


@intrinsic
def _line_at(typing_context, address, length):
    def generate(target, builder, signature, arguments):
        return array_at(target, builder, signature.return_type, arguments[0], [arguments[1]])

    return types.Array(address.dtype, 1, "C")(address, types.intp), generate


@intrinsic
def _table_at(typing_context, address, height, width):
    def generate(target, builder, signature, arguments):
        return array_at(target, builder, signature.return_type, arguments[0], arguments[1:])

    return types.Array(address.dtype, 2, "C")(address, types.intp, types.intp), generate


@intrinsic
def _call(typing_context, address, arms, trial, settings, context, memory, turns, lots, weights, row, arm):
    def generate(target, builder, signature, arguments):
        arrays = [
            target.make_array(signature.args[place])(target, builder, arguments[place])
            for place in (1, 3, 4, 5, 6, 7, 8)
        ]
        arms, settings, context, memory, turns, lots, weights = (array.data for array in arrays)
        height, width = (builder.extract_value(arrays[3].shape, place) for place in (0, 1))
        values = [arms, arguments[2], settings, context, memory, height, width, turns, lots, weights]
        values += arguments[9:]
        function_type = ir.FunctionType(ir.IntType(64), [value.type for value in values])
        return builder.call(builder.inttoptr(arguments[0], function_type.as_pointer()), values)

    given = (types.intp, arms, trial, settings, context, memory, turns, lots, weights, types.intp, types.intp)
    return types.intp(*given), generate


# Typed as the functions they are inside compiled code, not as the code generators above.
_called: Callable[..., int] = cast(Any, _call)
_line: Callable[[Any, int], Any] = cast(Any, _line_at)
_table: Callable[[Any, int, int], Any] = cast(Any, _table_at)
