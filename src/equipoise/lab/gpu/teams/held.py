"""An arm's factor that stays in registers while one unit after the other enters it.

The same steps as in tiles.py, where the factor is asked for and written back with every unit. Here a thread
has its rows, or its columns, in a room of its own from the first unit to the last one. Where that are too
many numbers for registers, or a large team tells no rows (tiles.py), all is as in tiles.py.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from equipoise.core.arms import factor
from equipoise.core.jit.deferred import call_later, deferred
from equipoise.core.jit.kernel import Kernel
from equipoise.core.jit.relinking import Relinker
from equipoise.lab.gpu.layout import Layout
from equipoise.lab.gpu.teams.lanes import LANES
from equipoise.lab.gpu.teams.rooms import new_room
from equipoise.lab.gpu.teams.tiles import (
    Shape,
    Tile,
    along_columns,
    changed_rows,
    extend_columns,
    extend_tile,
    scale_of,
    tells_rows,
)

_MOST = 66
"""Numbers that a thread may have in its room: half of its registers, about."""
_WORD, _NUMBER = ir.IntType(64), ir.DoubleType()


def use_held_factor(relink: Relinker) -> None:
    """Let copies of compiled functions change a factor in registers: that of a state made by :data:`hold`."""

    def extend(factors: Any, i: int, b: int, target: int, z: Any, f: Any, g: Any) -> float:
        h: float = _extended(factors, i, b, target, z, g)
        return h

    relink.replace(factor.extend, Kernel(extend, inline=True))


class _Held:
    """A thread's columns of a factor in its room; four threads have rows, each a lane of them all."""

    def __init__(self, layout: Layout) -> None:
        self.shape = shape = Shape(layout)
        self.in_rows = shape.team.size == LANES
        self.count = shape.dim * (shape.strips if self.in_rows else shape.columns)

    def row(self, number: int) -> list[int]:
        """Places of a row."""
        return [number * self.shape.strips + k for k in range(self.shape.strips)]

    def column(self, number: int) -> list[int]:
        """Places of a column."""
        if self.in_rows:
            return [r * self.shape.strips + number for r in range(self.shape.dim)]
        return [number * self.shape.dim + r for r in range(self.shape.dim)]


def is_held(layout: Layout) -> bool:
    """Whether registers have room for a factor from one unit to the next."""
    held = _Held(layout)
    return held.count <= _MOST and (held.in_rows or tells_rows(layout))


def _read(builder: Any, room: Any, places: list[int]) -> list[Any]:
    return [builder.load(builder.gep(room, [_WORD(place)])) for place in places]


def _write(builder: Any, room: Any, places: list[int], numbers: list[Any]) -> None:
    for place, number in zip(places, numbers, strict=True):
        builder.store(number, builder.gep(room, [_WORD(place)]))


@intrinsic
def _hold(typing_context, state):
    def generate(context, builder, signature, arguments):
        with builder.goto_entry_block():
            copy = builder.alloca(context.get_value_type(state.arrays))
        builder.store(builder.load(arguments[0]), copy)
        call_later(context, builder, types.void(state), [copy, new_room(builder, _MOST)], point)
        return copy

    def point(layout, context, builder, signature, arguments):
        if is_held(layout):
            handle = signature.args[0]
            place = builder.gep(arguments[0], [ir.IntType(32)(0), ir.IntType(32)(handle.place("factors"))])
            array = context.make_array(handle.field("factors"))(context, builder, builder.load(place))
            array.data = arguments[1]
            builder.store(array._getvalue(), place)

    return state(state), generate


@deferred
def _take_up(typing_context, room, factors, i, b):
    def generate(layout, context, builder, signature, arguments):
        if not is_held(layout):
            return
        held = _Held(layout)
        room = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        tile = Tile(context, builder, signature.args[1], arguments[1], held.shape)
        start = tile.start(*arguments[2:])
        for number in range(held.shape.rows if held.in_rows else 0):
            _write(builder, room, held.row(number), tile.row(start, number))
        for number in range(0 if held.in_rows else held.shape.columns):
            _write(builder, room, held.column(number), tile.column(start, number))

    return types.void(room, factors, types.intp, types.intp), generate


@deferred
def _put_down(typing_context, room, factors, i, b):
    def generate(layout, context, builder, signature, arguments):
        if not is_held(layout):
            return
        held = _Held(layout)
        room = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        tile = Tile(context, builder, signature.args[1], arguments[1], held.shape)
        start = tile.start(*arguments[2:])
        for number in range(held.shape.rows if held.in_rows else 0):
            tile.set_row(start, number, _read(builder, room, held.row(number)))
        for number in range(0 if held.in_rows else held.shape.columns):
            for r, entry in enumerate(_read(builder, room, held.column(number))):
                tile.set_column(start, number, r, entry)

    return types.void(room, factors, types.intp, types.intp), generate


@deferred
def _extended(typing_context, factors, i, b, target, z, g):
    def generate(layout, context, builder, signature, arguments):
        if is_held(layout):
            return _extend_held(layout, context, builder, signature, arguments)
        h = extend_tile(layout, context, builder, signature, arguments)
        if layout.team.size > LANES:
            layout.team.emit_wait(builder)
        return h

    kinds = factors, types.intp, types.intp, types.intp, z, g
    return types.float64(*kinds), generate


def _extend_held(layout: Layout, context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    stack, _, _, _, *arrays = arguments
    held = _Held(layout)
    shape, kinds = held.shape, signature.args[4:]
    room = context.make_array(signature.args[0])(context, builder, stack).data
    tile = Tile(context, builder, signature.args[0], stack, shape)
    columns = [_read(builder, room, held.column(number)) for number in range(shape.columns)]
    if not held.in_rows:
        h = extend_columns(layout, context, tile, columns, kinds, arrays)
        for number, column in enumerate(columns):
            _write(builder, room, held.column(number), [_here(builder, entry) for entry in column])
        return h
    gains = context.make_array(kinds[1])(context, builder, arrays[1]).data
    rows = [list(row) for row in zip(*columns, strict=True)]
    along, square = along_columns(context, builder, shape, columns, kinds[0], arrays[0])
    h = builder.fadd(_NUMBER(1.0), square)
    for number, row in changed_rows(tile, rows, along, scale_of(builder, h), gains):
        _write(builder, room, held.row(number), [_here(builder, entry) for entry in row])
    return h


def _here(builder: Any, number: Any) -> Any:
    """A number that is worked out where it stands, though it is needed with the next unit alone.

    Later, all that it is made of would have to be kept until then.
    """
    kind = ir.FunctionType(_NUMBER, [_NUMBER])
    return builder.asm(kind, "mov.f64 $0, $1;", "=d,d", [number], True)


# Typed as the functions they are inside compiled code, not as the code generators above.
hold: Any = _hold
"""The same state, but that its factors are a thread's room, in which there is one at a time."""
take_up: Any = _take_up
"""Bring a factor there."""
put_down: Any = _put_down
"""Bring it back."""
