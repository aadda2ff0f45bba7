"""Numbers that threads hand on from one function to another: registers, where both are taken in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba import types

from equipoise.core.jit.deferred import Generate, call_later

NUMBERS = types.CPointer(types.float64)
"""The type of a room."""
_NUMBER = ir.DoubleType()


def new_room(builder: Any, count: int) -> Any:
    """Room for so many numbers."""
    with builder.goto_entry_block():
        room = builder.alloca(ir.ArrayType(_NUMBER, count))
    return builder.bitcast(room, _NUMBER.as_pointer())


def filled_room(
    context: Any, builder: Any, signature: Any, arguments: Sequence[Any], count: int, fill: Generate
) -> Any:
    """The same, which a gap fills that takes it after the arguments."""
    room = new_room(builder, count)
    call_later(context, builder, types.void(*signature.args), [*arguments, room], fill)
    return room
