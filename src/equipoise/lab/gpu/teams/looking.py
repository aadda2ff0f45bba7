"""Policies that look at contexts read factors of all arms: while one is used the next one is asked for."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from equipoise.core.arms import factor
from equipoise.core.arms.least_squares import per_context
from equipoise.core.choice import leverage
from equipoise.core.jit.deferred import deferred
from equipoise.core.jit.kernel import Kernel
from equipoise.core.jit.relinking import Relinker
from equipoise.lab.gpu.teams import rooms
from equipoise.lab.gpu.teams.lanes import in_order
from equipoise.lab.gpu.teams.rooms import NUMBERS
from equipoise.lab.gpu.teams.tiles import Shape, Tile, along_columns

_ROOM = 80
"""Numbers that a thread has room for: two columns of 40 features, the most that tiles have."""
_WORD, _NUMBER = ir.IntType(64), ir.DoubleType()


def use_looks_ahead(relink: Relinker) -> None:
    """Let copies of compiled functions look at arms in that way: outcomes come at once, Σ is given."""
    beside, of_context = relink(factor.beside), relink(per_context)

    def note_leverage(arm: Any, trial: Any, square: float) -> None:
        if arm.design_ready or arm.provisional:
            arm.leverage = square
            if not arm.design_ready:
                arm.trace = of_context(trial, arm.provisional_sum)
        else:
            # Nothing is known of any arm's design: all contexts are alike to all arms.
            arm.leverage = arm.trace = 1.0

    note = Kernel(note_leverage, inline=True)

    def look_at(state: Any, which: Any) -> None:
        arms, trial = state.arms.shape[0], state.trial[0]
        in_order()
        now, later, first = new_room(), new_room(), state.arms[0]
        ask(now, state.factors, 0, first.buffer if first.design_ready else beside(first.buffer))
        for i in range(0, arms, 2):
            # Two at a time, so that no number has to be moved, and so to be there, before it is used.
            if i + 1 < arms:
                after = state.arms[i + 1]
                ask(later, state.factors, i + 1, after.buffer if after.design_ready else beside(after.buffer))
            note(state.arms[i], trial, squared_along(now, state.z))
            if i + 2 < arms:
                after = state.arms[i + 2]
                ask(now, state.factors, i + 2, after.buffer if after.design_ready else beside(after.buffer))
            if i + 1 < arms:
                note(state.arms[i + 1], trial, squared_along(later, state.z))

    relink.replace(leverage.look_at, Kernel(look_at, inline=True))


@intrinsic
def _new_room(typing_context):
    def generate(context, builder, signature, arguments):
        return rooms.new_room(builder, _ROOM)

    return NUMBERS(), generate


@deferred
def _ask(typing_context, room, factors, i, b):
    def generate(layout, context, builder, signature, arguments):
        room, stack, i, b = arguments
        tile = Tile(context, builder, signature.args[1], stack, Shape(layout))
        start = tile.start(i, b)
        columns = [tile.column(start, number) for number in range(tile.shape.columns)]
        assert tile.shape.columns * tile.shape.dim <= _ROOM
        for place, entry in enumerate(entry for column in columns for entry in column):
            builder.store(entry, builder.gep(room, [_WORD(place)]))

    return types.void(NUMBERS, factors, types.intp, types.intp), generate


@deferred
def _squared(typing_context, columns, z):
    def generate(layout, context, builder, signature, arguments):
        shape = Shape(layout)
        columns = [
            [builder.load(builder.gep(arguments[0], [_WORD(k * shape.dim + r)])) for r in range(shape.dim)]
            for k in range(shape.columns)
        ]
        return along_columns(context, builder, shape, columns, signature.args[1], arguments[1])[1]

    return types.float64(NUMBERS, z), generate


# Typed as the functions they are inside compiled code, not as the code generators above.
new_room: Any = _new_room
"""Room for a thread's columns of a factor."""
ask: Any = _ask
"""Ask for them."""
squared_along: Any = _squared
"""zᵀVVᵀz, of such columns."""
