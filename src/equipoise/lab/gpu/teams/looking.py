"""Policies that look at contexts: how little arms know at the contexts of several units to come, at once.

The leverage of an arm changes with its factor alone, and contexts are drawn before trials begin. So whoever
has an arm's factor at hand takes the leverages of all units that it will serve: those of the next K, where
an arm that gets no unit is looked at again every K units. A unit then reads the factor of its own arm and of
the one whose turn it is, not of all arms, and numbers of a factor are used K times.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from equipoise.core.arms import factor
from equipoise.core.arms.least_squares import per_context
from equipoise.core.arrays import Matrix
from equipoise.core.choice import leverage
from equipoise.core.jit.deferred import deferred
from equipoise.core.jit.handles import handled
from equipoise.core.jit.kernel import Kernel
from equipoise.core.jit.relinking import Relinker
from equipoise.lab.gpu.layout import Layout
from equipoise.lab.gpu.teams.lanes import in_order, member, team_size, wait
from equipoise.lab.gpu.teams.tiles import Shape, Tile, lanes_of
from equipoise.lab.gpu.teams.triangles import Variable
from equipoise.lab.gpu.teams.units import Sight, ask, put

_MOST = 8
"""Units that are looked at together, at most: each takes room for a context and every arm's leverage."""
_ROWS = 8
"""Rows of a factor that are asked for together, where there are many."""
_HALF, _WORD, _NUMBER = ir.IntType(32), ir.IntType(64), ir.DoubleType()
_PAIR = ir.VectorType(_NUMBER, 2)


@handled
class Coming(NamedTuple):
    """The unit at hand and those after it: unit t stands in place t mod K."""

    contexts: Matrix  # [K, d]
    leverages: Matrix  # [m, K] of every arm at these


def new_coming(arms: int, dim: int) -> Coming:
    """Room for as many units as arms have turns, if these are not many."""
    units = min(arms, _MOST)
    return Coming(np.zeros((units, dim)), np.zeros((arms, units)))


def sight_of(relink: Relinker, coming_of: Callable[[int], Any]) -> Sight:
    """How arms are looked at where outcomes come at once and Σ is given: factors change with units alone."""
    beside, of_context = relink(factor.beside), relink(per_context)
    find = Kernel(coming_of, inline=True)

    def place_of(arm: Any) -> int:
        place: int = arm.buffer if arm.design_ready else beside(arm.buffer)
        return place

    factor_of = Kernel(place_of, inline=True)

    def look_at_both(state: Any, coming: Any, i: int, j: int) -> None:
        b, c = factor_of(state.arms[i]), factor_of(state.arms[j])
        take_leverages(coming.contexts, coming.leverages, state.factors, i, b, j, c)

    look_at = Kernel(look_at_both, inline=True)

    def show(state: Any, place: int, t: int) -> None:
        coming, trial = find(place), state.trial[0]
        now = rest(t, coming.contexts.shape[0])
        for i in range(member(), state.arms.shape[0], team_size()):
            arm = state.arms[i]
            if arm.design_ready or arm.provisional:
                arm.leverage = coming.leverages[i, now]
                if not arm.design_ready:
                    arm.trace = of_context(trial, arm.provisional_sum)
            else:
                # Nothing is known of any arm's design: all contexts are alike to all arms.
                arm.leverage = arm.trace = 1.0
        in_order()

    def show_context(state: Any, coming: Any, t: int) -> None:
        now = rest(t, coming.contexts.shape[0])
        for r in range(member(), state.z.shape[0], team_size()):
            state.z[r] = coming.contexts[now, r]

    bring_context = Kernel(show_context, inline=True)

    def move_on(state: Any, place: int, t: int, arm: int, ahead: Any) -> None:
        coming, arms = find(place), state.arms.shape[0]
        units = coming.contexts.shape[0]
        put(coming.contexts[rest(t, units)], ahead)
        in_order()
        bring_context(state, coming, t + 1)
        turns = (arms + units - 1) // units
        turn = (t + 1) * turns
        look_at(state, coming, arm, rest(turn, arms))
        for k in range(1, turns, 2):
            look_at(state, coming, rest(turn + k, arms), rest(turn + min(k + 1, turns - 1), arms))

    def begin(state: Any, world: Any) -> None:
        place, first = world.clock[0].place, world.clock[0].unit
        coming, last = find(place), world.contexts.shape[1] - 1
        units, arms = coming.contexts.shape[0], state.arms.shape[0]
        for t in range(first, first + units):
            put(coming.contexts[rest(t, units)], ask(world.contexts, place, min(t, last)))
        wait()
        bring_context(state, coming, first)
        for i in range(0, arms, 2):
            look_at(state, coming, i, min(i + 1, arms - 1))

    def distance(place: int) -> int:
        units: int = find(place).contexts.shape[0]
        return units

    relink.replace(leverage.look_at, Kernel(_is_shown, inline=True))
    return Sight(*(Kernel(each, inline=True) for each in (distance, begin, show, move_on)))


def _is_shown(state: Any, which: Any) -> None:
    """What takes the place of :func:`equipoise.core.choice.leverage.look_at`."""


@intrinsic
def _rest(typing_context, number, divisor):
    def generate(context, builder, signature, arguments):
        halves = [builder.trunc(each, _HALF) for each in arguments]
        return builder.zext(builder.urem(*halves), _WORD)

    return types.int64(types.int64, types.int64), generate


@deferred
def _take(typing_context, contexts, leverages, factors, i, b, j, c):
    def generate(layout, context, builder, signature, arguments):
        arrays = [context.make_array(signature.args[k])(context, builder, arguments[k]).data for k in (0, 1)]
        tile = Tile(context, builder, signature.args[2], arguments[2], Shape(layout))
        both = (arguments[3], arguments[4]), (arguments[5], arguments[6])
        _Leverages(builder, layout, tile, *arrays).emit(both)

    kinds = contexts, leverages, factors, types.intp, types.intp, types.intp, types.intp
    return types.void(*kinds), generate


class _Leverages:
    """The code of it: f = Vᵀx of some arms and all units, row by row of V, and then fᵀf."""

    def __init__(self, builder: Any, layout: Layout, tile: Tile, contexts: Any, leverages: Any) -> None:
        self._builder, self._tile, self._shape = builder, tile, tile.shape
        self._contexts, self._leverages = contexts, leverages
        self._units = layout.groups["coming"].contexts.shape[0]

    def emit(self, arms: Any) -> None:
        """Write the leverages of arms, given by their number and which factor is meant."""
        builder, shape = self._builder, self._shape
        starts = [
            [self._tile.column_start(self._tile.start(*arm), k) for k in range(shape.columns)] for arm in arms
        ]
        sums = [
            [[Variable(builder, _NUMBER(0.0)) for _ in range(shape.columns)] for _ in range(self._units)]
            for _ in arms
        ]
        whole = shape.dim // _ROWS * _ROWS
        if shape.dim < 2 * _ROWS:
            whole = 0
        if whole:
            with cgutils.for_range_slice(builder, _WORD(0), _WORD(whole), _WORD(_ROWS)) as (r, _):
                self._add(starts, sums, r, _ROWS)
        self._add(starts, sums, _WORD(whole), shape.dim - whole)
        for arm, its_sums in zip(arms, sums, strict=True):
            for unit, numbers in enumerate(its_sums):
                self._finish(arm[0], unit, [number.get() for number in numbers])

    def _add(self, starts: Any, sums: Any, first: Any, rows: int) -> None:
        """Add what some rows of V give."""
        builder, shape = self._builder, self._shape
        entries = [
            [
                [
                    builder.load(
                        builder.gep(start, [builder.mul(builder.add(first, _WORD(r)), _WORD(shape.width))])
                    )
                    for r in range(rows)
                ]
                for start in columns
            ]
            for columns in starts
        ]
        for unit in range(self._units):
            context = self._numbers(unit, first, rows)
            for columns, its_sums in zip(entries, sums, strict=True):
                for column, sum_ in zip(columns, its_sums[unit], strict=True):
                    total = sum_.get()
                    for entry, number in zip(column, context, strict=True):
                        total = builder.fma(entry, number, total)
                    sum_.set(total)

    def _numbers(self, unit: int, first: Any, rows: int) -> list[Any]:
        """Some numbers of a context, two at a time where they lie so."""
        builder, dim = self._builder, self._shape.dim
        start = builder.gep(self._contexts, [builder.add(first, _WORD(unit * dim))])
        if dim % 2 or rows % 2:
            return [builder.load(builder.gep(start, [_WORD(r)])) for r in range(rows)]
        pairs = builder.bitcast(start, _PAIR.as_pointer())
        found = [builder.load(builder.gep(pairs, [_WORD(r)]), align=16) for r in range(rows // 2)]
        return [builder.extract_element(pair, _HALF(half)) for pair in found for half in (0, 1)]

    def _finish(self, arm: Any, unit: int, columns: list[Any]) -> None:
        """Square the length of f, whose entries threads have as columns of V."""
        builder, shape, squares = self._builder, self._shape, _NUMBER(0.0)
        for number in lanes_of(builder, shape.team, shape.width, columns):
            squares = builder.fma(number, number, squares)
        place = builder.add(builder.mul(arm, _WORD(self._units)), _WORD(unit))
        builder.store(shape.team.total(builder, squares), builder.gep(self._leverages, [place]))


# Typed as the functions they are inside compiled code, not as the code generators above.
rest: Any = _rest
"""What is left of a number below 2³² divided by another one."""
take_leverages: Any = _take
"""Write the leverages of two arms, i and j, whose designs are their factors b and c, at all contexts."""
