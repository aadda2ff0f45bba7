"""Four threads a trial, in place of the four lanes of a processor's vector.

Functions that are written over lanes (arithmetic/lanes.py) run here unchanged: a vector of four numbers is
one number in each of four threads, :func:`load` reads every thread's own, and :func:`total` adds them in the
order that is written there, ``(0 + 1) + (2 + 3)``. So sums have the same bits.

All else is done by all four threads alike. They read the same numbers and so take the same ways; where one
has written what another reads, they wait for each other (:data:`SYNCED`). Trials that share a warp go their
own ways.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from equipoise.core.arithmetic import lanes
from equipoise.core.arms import factor
from equipoise.core.draws import normal, streams
from equipoise.core.jit.kernel import Kernel
from equipoise.core.jit.nvptx import emit_call
from equipoise.core.jit.relinking import Relinker

THREADS = lanes.WIDTH
"""Threads that work on a trial."""

_HALF, _WORD, _NUMBER = ir.IntType(32), ir.IntType(64), ir.DoubleType()
_HALVES = ir.VectorType(_HALF, 2)
_WARP = 32
TRIALS_A_WARP = _WARP // THREADS
# What a shuffle takes: the last thread of a warp, and for threads counted in fours the others' bits.
_WITHIN_WARP, _WITHIN_FOUR = _WARP - 1, (_WARP - THREADS) << 8 | (_WARP - 1)


def number_of(what: str) -> Any:
    """A number that every thread knows: of ``"tid"`` in its block, ``"ctaid"``, ``"ntid"``, ``"nctaid"``."""

    @intrinsic
    def read(typing_context):
        def generate(context, builder, signature, arguments):
            return builder.zext(_register(builder, what), _WORD)

        return types.int64(), generate

    return read


def _register(builder: Any, what: str) -> Any:
    return emit_call(builder, f"llvm.nvvm.read.ptx.sreg.{what}.x", _HALF, [])


def lane_number(builder: Any) -> Any:
    """Which of the four threads of its trial this is."""
    return builder.and_(_register(builder, "tid"), _HALF(THREADS - 1))


def _four(builder: Any) -> Any:
    """The bits of the four threads of this trial in their warp."""
    first = builder.and_(_register(builder, "tid"), _HALF(_WARP - THREADS))
    return builder.shl(_HALF(2**THREADS - 1), first)


def _exchanged(builder: Any, number: Any, how: str, place: Any, bounds: int) -> Any:
    """The number of another thread, in two halves."""
    halves, found = builder.bitcast(number, _HALVES), _HALVES(ir.Undefined)
    for half in (_HALF(0), _HALF(1)):
        arguments = [_four(builder), builder.extract_element(halves, half), place, _HALF(bounds)]
        other = emit_call(builder, f"llvm.nvvm.shfl.sync.{how}.i32", _HALF, arguments)
        found = builder.insert_element(found, other, half)
    return builder.bitcast(found, _NUMBER)


def total_of(builder: Any, number: Any) -> Any:
    """The numbers of the four threads, added up."""
    pair = builder.fadd(number, _exchanged(builder, number, "bfly", _HALF(1), _WITHIN_WARP))
    return builder.fadd(pair, _exchanged(builder, pair, "bfly", _HALF(2), _WITHIN_WARP))


def number_of_lane(builder: Any, number: Any, lane: int) -> Any:
    """The number that one of the four threads has."""
    return _exchanged(builder, number, "idx", _HALF(lane), _WITHIN_FOUR)


def _own(context: Any, builder: Any, kind: Any, array: Any, offset: Any) -> Any:
    """The address of this thread's entry, of four from an offset on."""
    place = builder.add(offset, builder.zext(lane_number(builder), _WORD))
    return builder.gep(context.make_array(kind)(context, builder, array).data, [place])


@intrinsic
def _load(typing_context, array, offset):
    def generate(context, builder, signature, arguments):
        return builder.load(_own(context, builder, signature.args[0], *arguments))

    return types.float64(array, types.intp), generate


@intrinsic
def _store(typing_context, array, offset, number):
    def generate(context, builder, signature, arguments):
        builder.store(arguments[2], _own(context, builder, signature.args[0], *arguments[:2]))
        return context.get_dummy_value()

    return types.void(array, types.intp, types.float64), generate


@intrinsic
def _spread(typing_context, number):
    def generate(context, builder, signature, arguments):
        return arguments[0]

    return types.float64(types.float64), generate


@intrinsic
def _add_product(typing_context, number, left, right):
    def generate(context, builder, signature, arguments):
        return builder.fma(arguments[1], arguments[2], arguments[0])

    return types.float64(types.float64, types.float64, types.float64), generate


@intrinsic
def _total(typing_context, number):
    def generate(context, builder, signature, arguments):
        return total_of(builder, arguments[0])

    return types.float64(types.float64), generate


@intrinsic
def _lane_at(typing_context, number, place):
    def generate(context, builder, signature, arguments):
        place = builder.trunc(arguments[1], _HALF)
        return _exchanged(builder, arguments[0], "idx", place, _WITHIN_FOUR)

    return types.float64(types.float64, types.intp), generate


@intrinsic
def _normals(typing_context, table, number):
    def generate(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        return normal.generate_one(builder, data, builder.bitcast(arguments[1], _WORD))

    return types.float64(table, types.float64), generate


@intrinsic
def _wait(typing_context):
    def generate(context, builder, signature, arguments):
        emit_call(builder, "llvm.nvvm.bar.warp.sync", ir.VoidType(), [_four(builder)])
        return context.get_dummy_value()

    return types.void(), generate


wait: Any = _wait
"""Wait until all four threads of the trial are here, and see what they have written."""

SYNCED = (
    factor.gain,
    factor.extend,
    factor.project,
    factor.squared_norm,
    factor.squared_norm_through,
    factor.invert_upper,
    factor.rotate,
    factor.copy,
    streams.turn_into_normals,
)
"""Functions in which threads write what other threads read."""


def use_threads(relink: Relinker) -> None:
    """Let copies of compiled functions have threads for lanes."""
    relink.replace_all(
        {
            lanes.load: _load,
            lanes.store: _store,
            lanes.spread: _spread,
            lanes.add_product: _add_product,
            lanes.total: _total,
            lanes.lane: _lane_at,
            normal.generated: _normals,
        }
    )
    for kernel in SYNCED:
        function: Any = kernel
        relink.replace(kernel, Kernel(_waiting(relink.function(function.py_func)), inline=True))


def _waiting(function: Any) -> Any:
    """The same function; all four threads wait for each other before it and after."""
    inner = Kernel(function, inline=True)
    count = function.__code__.co_argcount
    # Numba compiles no functions of any number of arguments to the same code as these.
    arguments = ", ".join(function.__code__.co_varnames[:count])
    space = {"inner": inner, "wait": wait}
    lines = (f"def synced({arguments}):", "wait()", f"result = inner({arguments})", "wait()", "return result")
    exec("\n    ".join(lines), space)
    synced = space["synced"]
    synced.__module__, synced.__qualname__ = function.__module__, function.__qualname__  # of the copies
    return synced
