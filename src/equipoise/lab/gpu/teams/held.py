"""An arm's factor that stays in registers while one unit after the other enters it.

The same steps as in tiles.py, where the factor is asked for and written back with every unit. Here a thread
has its rows in a room of its own from the first unit to the last one. With more than four threads it has its
columns there, too, and changes both: a column cannot be had from other threads' rows but through memory.
Where that are too many numbers for registers, all is as in tiles.py.
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
    across_lanes,
    changed_rows,
    down_columns,
    extend_tile,
    if_there,
    scale_of,
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
    """A thread's rows of a factor, and its columns unless rows are enough, in its room."""

    def __init__(self, layout: Layout) -> None:
        self.shape = shape = Shape(layout)
        self.has_columns = shape.team.size > LANES
        self._rows = shape.rows * shape.strips
        self.count = self._rows + (shape.columns * shape.dim if self.has_columns else 0)

    def row(self, number: int) -> list[int]:
        """Places of a row."""
        return [number * self.shape.strips + k for k in range(self.shape.strips)]

    def column(self, number: int) -> list[int]:
        """Places of a column."""
        if not self.has_columns:  # four threads have rows whole, each a lane
            return [r * self.shape.strips + number for r in range(self.shape.dim)]
        return [self._rows + number * self.shape.dim + r for r in range(self.shape.dim)]


def is_held(layout: Layout) -> bool:
    """Whether registers have room for a factor from one unit to the next."""
    return _Held(layout).count <= _MOST


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
        for number in range(held.shape.rows):
            _write(builder, room, held.row(number), tile.row(start, number))
        for number in range(held.shape.columns if held.has_columns else 0):
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
        for number in range(held.shape.rows):
            with if_there(builder, tile.is_row(number)):
                tile.set_row(start, number, _read(builder, room, held.row(number)))

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
    stack, _, _, _, z, g = arguments
    held = _Held(layout)
    shape, team = held.shape, layout.team
    room = context.make_array(signature.args[0])(context, builder, stack).data
    gains = context.make_array(signature.args[5])(context, builder, g).data
    tile = Tile(context, builder, signature.args[0], stack, shape)
    rows = [_read(builder, room, held.row(number)) for number in range(shape.rows)]
    columns = [_read(builder, room, held.column(number)) for number in range(shape.columns)]
    f = down_columns(context, builder, shape, columns, signature.args[4], z)
    along, square = across_lanes(builder, shape, f)
    h = builder.fadd(_NUMBER(1.0), square)
    scale = scale_of(builder, h)
    for number, row in changed_rows(tile, rows, along, scale, gains):
        _write(builder, room, held.row(number), [_here(builder, entry) for entry in row])
    if held.has_columns:
        team.emit_wait(builder)  # all gains are there
        for r in range(shape.dim):
            step = builder.fmul(builder.load(builder.gep(gains, [_WORD(r)])), scale)
            for column, part in zip(columns, f, strict=True):
                column[r] = _here(builder, builder.fma(step, part, column[r]))
        for number, column in enumerate(columns):
            _write(builder, room, held.column(number), column)
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
