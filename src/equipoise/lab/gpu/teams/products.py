"""Inner products by many threads: each multiplies some numbers, and all add up the products in their order.

Four threads do all of it alike: what they would save is less than what it takes to tell each other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from equipoise.core.arithmetic import products
from equipoise.core.arrays import Vector
from equipoise.core.jit.deferred import deferred
from equipoise.core.jit.handles import handled
from equipoise.core.jit.relinking import Relinker
from equipoise.lab.gpu.layout import Layout
from equipoise.lab.gpu.memory import near_numbers
from equipoise.lab.gpu.teams.lanes import LANES, Team
from equipoise.lab.gpu.teams.triangles import Variable

_GROUP, _ARRAY = "told", "products"
_HALF, _WORD, _NUMBER = ir.IntType(32), ir.IntType(64), ir.DoubleType()
_PAIR = ir.VectorType(_NUMBER, 2)
_NEAR = 3


@handled
class Told(NamedTuple):
    """What threads tell each other of an inner product."""

    products: Vector  # [d], of large teams


def new_told(dim: int, team: Team) -> Told:
    """Room for it."""
    return Told(np.zeros(dim if team.size > LANES else 0))


def use_products(relink: Relinker) -> None:
    """Let copies of compiled functions share out products."""
    relink.replace(products.inner, _inner)
    relink.replace(products.less_inner, _less_inner)


@deferred
def _inner(typing_context, x, y):
    def generate(layout, context, builder, signature, arguments):
        arrays = _data(context, builder, signature.args, arguments)
        return _summed(layout, builder, _NUMBER(0.0), arrays, builder.fadd)

    return types.float64(x, y), generate


@deferred
def _less_inner(typing_context, number, x, y):
    def generate(layout, context, builder, signature, arguments):
        arrays = _data(context, builder, signature.args[1:], arguments[1:])
        return _summed(layout, builder, arguments[0], arrays, builder.fsub)

    return types.float64(types.float64, x, y), generate


def _data(context: Any, builder: Any, kinds: Any, arrays: Any) -> list[Any]:
    return [
        context.make_array(kind)(context, builder, array).data
        for kind, array in zip(kinds, arrays, strict=True)
    ]


def _summed(
    layout: Layout, builder: Any, number: Any, arrays: list[Any], add: Callable[[Any, Any], Any]
) -> Any:
    """A number to which products are added, or from which they are taken, one after the other."""
    if layout.team.size == LANES or (_GROUP, _ARRAY) not in layout.share.offsets:
        total = Variable(builder, number)
        with cgutils.for_range(builder, _WORD(layout.dim)) as loop:
            factors = [builder.load(builder.gep(data, [loop.index])) for data in arrays]
            total.set(add(total.get(), builder.fmul(*factors)))
        return total.get()
    near = _multiplied(layout, builder, arrays)
    for r in range(layout.dim // 2):
        pair = builder.load(builder.gep(builder.bitcast(near, _PAIR.as_pointer(_NEAR)), [_WORD(r)]), align=16)
        for half in (0, 1):
            number = add(number, builder.extract_element(pair, _HALF(half)))
    if layout.dim % 2:
        number = add(number, builder.load(builder.gep(near, [_WORD(layout.dim - 1)])))
    return number


def _multiplied(layout: Layout, builder: Any, arrays: list[Any]) -> Any:
    """Where the products stand that threads have written, each some of them."""
    team, dim = layout.team, layout.dim
    near = near_numbers(layout, builder, _GROUP, _ARRAY)
    team.emit_wait(builder)  # others may still read the products before
    for first in range(0, dim, team.size):
        r = builder.add(team.member(builder), _HALF(first))
        inside = builder.icmp_unsigned("<", r, _HALF(dim))
        with builder.if_then(inside):
            own = builder.zext(r, _WORD)
            factors = [builder.load(builder.gep(data, [own])) for data in arrays]
            builder.store(builder.fmul(*factors), builder.gep(near, [own]))
    team.emit_wait(builder)
    return near
