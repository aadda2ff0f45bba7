"""Four numbers at a time: vector arithmetic whose order is written down, not left to the compiler.

A compiler may not reorder a sum, so it cannot turn a plain loop over a dot product into vector
instructions. Here the order is explicit: lane l takes entries l, l + 4, l + 8, …, and :func:`total`
adds the lanes pairwise. Machines with wider or narrower registers give the same bits, and so do those
without an instruction for fused multiply-add, where the mathematical library computes it exactly.

Arrays are addressed by the offset of the first of four entries from the array's start, in C order.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, lower_builtin, models, register_model, type_callable

WIDTH = 4

_LINE = 64  # bytes

# For functions that generate code themselves.
NUMBERS, WORDS = ir.VectorType(ir.DoubleType(), WIDTH), ir.VectorType(ir.IntType(64), WIDTH)
PLACES = [ir.IntType(32)(place) for place in range(WIDTH)]


class _Lanes(types.Type):
    """Four float64 in one register."""


LANES = _Lanes("Lanes")


@register_model(_Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, NUMBERS)  # type: ignore[no-untyped-call]


def padded(length: int) -> int:
    """The smallest multiple of four that is not below ``length``.

    >>> [padded(length) for length in (1, 4, 10)]
    [4, 4, 12]
    """
    return -(-length // WIDTH) * WIDTH


def aligned_zeros(shape: tuple[int, ...]) -> npt.NDArray[np.float64]:
    """Zeros that begin on a cache line: four numbers that straddle two lines take twice as long."""
    size = math.prod(shape)
    room = np.zeros(size + _LINE // 8)
    first = -room.ctypes.data % _LINE // 8
    return room[first : first + size].reshape(shape)


@intrinsic
def _load(typing_context, array, offset):
    def generate(context, builder, signature, arguments):
        place = _address(context, builder, signature.args[0], *arguments)
        return builder.load(place, align=8)

    return LANES(array, types.intp), generate


@intrinsic
def _store(typing_context, array, offset, lanes):
    def generate(context, builder, signature, arguments):
        place = _address(context, builder, signature.args[0], *arguments[:2])
        builder.store(arguments[2], place, align=8)
        return context.get_dummy_value()

    return types.void(array, types.intp, lanes), generate


@intrinsic
def _load_one(typing_context, array, offset):
    def generate(context, builder, signature, arguments):
        return builder.load(_start(context, builder, signature.args[0], *arguments))

    return types.float64(array, types.intp), generate


@intrinsic
def _store_one(typing_context, array, offset, number):
    def generate(context, builder, signature, arguments):
        builder.store(arguments[2], _start(context, builder, signature.args[0], *arguments[:2]))
        return context.get_dummy_value()

    return types.void(array, types.intp, types.float64), generate


@intrinsic
def _spread(typing_context, number):
    def generate(context, builder, signature, arguments):
        single = builder.insert_element(NUMBERS(ir.Undefined), arguments[0], PLACES[0])
        return shuffled(builder, single, single, [0] * WIDTH)

    return LANES(types.float64), generate


@intrinsic
def _add_product(typing_context, lanes, left, right):
    def generate(context, builder, signature, arguments):
        return instruction(builder, f"llvm.fma.v{WIDTH}f64", [arguments[1], arguments[2], arguments[0]])

    return LANES(LANES, LANES, LANES), generate


@type_callable(operator.add)
@type_callable(operator.sub)
@type_callable(operator.mul)
def _type_lane_by_lane(context):
    def typer(left, right):
        return LANES if left == right == LANES else None

    return typer


@lower_builtin(operator.add, LANES, LANES)
def _add(context, builder, signature, arguments):
    return builder.fadd(*arguments)


@lower_builtin(operator.sub, LANES, LANES)
def _subtract(context, builder, signature, arguments):
    return builder.fsub(*arguments)


@lower_builtin(operator.mul, LANES, LANES)
def _multiply(context, builder, signature, arguments):
    return builder.fmul(*arguments)


@intrinsic
def _total(typing_context, lanes):
    def generate(context, builder, signature, arguments):
        even, odd = (shuffled(builder, arguments[0], arguments[0], half) for half in ([0, 2], [1, 3]))
        pairs = builder.fadd(even, odd)
        first, second = (builder.extract_element(pairs, place) for place in PLACES[:2])
        return builder.fadd(first, second)

    return types.float64(LANES), generate


@intrinsic
def _lane(typing_context, lanes, place):
    def generate(context, builder, signature, arguments):
        return builder.extract_element(arguments[0], arguments[1])

    return types.float64(LANES, types.intp), generate


def instruction(builder: Any, name: str, arguments: list[Any]) -> Any:
    """An operation that LLVM has a name for; the result is of the first argument's type."""
    kind = ir.FunctionType(arguments[0].type, [argument.type for argument in arguments])
    operation = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
    return builder.call(operation, arguments)


def shuffled(builder: Any, left: Any, right: Any, order: list[int]) -> Any:
    """Entries of two vectors in another order; those of the second are counted on from the first's."""
    return builder.shuffle_vector(left, right, ir.VectorType(ir.IntType(32), len(order))(order))


def _address(context: Any, builder: Any, array_type: Any, array: Any, offset: Any) -> Any:
    return builder.bitcast(_start(context, builder, array_type, array, offset), NUMBERS.as_pointer())


def _start(context: Any, builder: Any, array_type: Any, array: Any, offset: Any) -> Any:
    return builder.gep(context.make_array(array_type)(context, builder, array).data, [offset])


# Typed as the functions they are inside compiled code, not as the code generators above.
load: Callable[[Any, int], Any] = cast(Any, _load)
"""Four entries of an array, from an offset."""
store: Callable[[Any, int, Any], None] = cast(Any, _store)
"""Write four entries of an array, from an offset."""
load_one: Callable[[Any, int], float] = cast(Any, _load_one)
"""One entry of an array, at an offset."""
store_one: Callable[[Any, int, float], None] = cast(Any, _store_one)
"""Write one entry of an array, at an offset."""
spread: Callable[[float], Any] = cast(Any, _spread)
"""The same number in all lanes."""
add_product: Callable[[Any, Any, Any], Any] = cast(Any, _add_product)
"""lanes + left·right, rounded once: a fused multiply-add, on every machine."""
total: Callable[[Any], float] = cast(Any, _total)
"""(lane 0 + lane 1) + (lane 2 + lane 3)."""
lane: Callable[[Any, int], float] = cast(Any, _lane)
"""One of the four numbers."""
