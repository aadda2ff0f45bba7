"""Policies that look at contexts: how little arms know at the contexts of several units to come, at once.

The leverage of an arm changes with its factor alone, and contexts are drawn before trials begin. So whoever
has an arm's factor at hand takes the leverages of all units that it will serve: those of the next K, where
an arm that gets no unit is looked at again every K units. A unit then reads the factor of its own arm and of
the one whose turn it is, not of all arms, and numbers of a factor are used K times.
"""

from __future__ import annotations

import itertools
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
from equipoise.lab.gpu.teams.lanes import LANES, Team, in_order, lane_number, member, team_size, wait
from equipoise.lab.gpu.teams.tiles import Shape, Tile
from equipoise.lab.gpu.teams.triangles import Variable
from equipoise.lab.gpu.teams.units import ContextSteps, ask, put

_MOST = 8
"""Units that are looked at together, at most: each takes room for a context and every arm's leverage."""
_ROWS = 8
"""Rows of a factor that are asked for together, where there are many."""
_BANKS = 16
"""Numbers that threads read at the same time without waiting, from the memory beside the processors."""
_HALF, _WORD, _NUMBER = ir.IntType(32), ir.IntType(64), ir.DoubleType()
_PAIR = ir.VectorType(_NUMBER, 2)


@handled
class Coming(NamedTuple):
    """The unit at hand and those after it: unit t stands in place t mod K."""

    contexts: Matrix  # [K, d]
    leverages: Matrix  # [m, K] of every arm at these
    along: Matrix  # f = Vᵀx of two arms at all of them, which threads tell each other; see _Leverages


def new_coming(arms: int, dim: int, width: int, team: Team) -> Coming:
    """Room for as many units as arms have turns, if these are not many."""
    units = min(arms, _MOST)
    along = np.zeros((2 * _rows_told(units, team), _told_width(width)) if team.size > LANES else (0, 0))
    return Coming(np.zeros((units, dim)), np.zeros((arms, units)), along)


def _rows_told(units: int, team: Team) -> int:
    """Rows of what is told of an arm: the same number for every thread of a lane."""
    bands = team.size // LANES
    return -(-units // bands) * bands


def _told_width(width: int) -> int:
    """How far rows are apart, so that threads that read four numbers of a row each do not wait."""
    return next(apart for apart in itertools.count(width) if apart % _BANKS in (LANES, _BANKS - LANES))


def looking_steps(relink: Relinker, coming_of: Callable[[int], Any]) -> ContextSteps:
    """How arms are looked at where outcomes come at once and Σ is given: factors change with units alone."""
    beside, of_context = relink(factor.beside), relink(per_context)
    find = Kernel(coming_of, inline=True)

    def place_of(arm: Any) -> int:
        place: int = arm.buffer if arm.design_ready else beside(arm.buffer)
        return place

    factor_of = Kernel(place_of, inline=True)

    def look_at_both(state: Any, coming: Any, i: int, j: int) -> None:
        b, c = factor_of(state.arms[i]), factor_of(state.arms[j])
        take_leverages(coming.contexts, coming.leverages, coming.along, state.factors, i, b, j, c)

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
    return ContextSteps(*(Kernel(each, inline=True) for each in (distance, begin, show, move_on)))


def _is_shown(state: Any, which: Any) -> None:
    """What takes the place of :func:`equipoise.core.choice.leverage.look_at`."""


@intrinsic
def _rest(typing_context, number, divisor):
    def generate(context, builder, signature, arguments):
        halves = [builder.trunc(each, _HALF) for each in arguments]
        return builder.zext(builder.urem(*halves), _WORD)

    return types.int64(types.int64, types.int64), generate


@deferred
def _take(typing_context, contexts, leverages, along, factors, i, b, j, c):
    def generate(layout, context, builder, signature, arguments):
        arrays = [
            context.make_array(kind)(context, builder, array).data
            for kind, array in zip(signature.args[:3], arguments[:3], strict=True)
        ]
        tile = Tile(context, builder, signature.args[3], arguments[3], Shape(layout))
        both = (arguments[4], arguments[5]), (arguments[6], arguments[7])
        _Leverages(builder, layout, tile, arrays).emit(both)

    kinds = contexts, leverages, along, factors, types.intp, types.intp, types.intp, types.intp
    return types.void(*kinds), generate


class _Leverages:
    """The code of it: f = Vᵀx of some arms and all units, row by row of V, and then fᵀf."""

    def __init__(self, builder: Any, layout: Layout, tile: Tile, arrays: list[Any]) -> None:
        self._builder, self._tile, self._shape = builder, tile, tile.shape
        self._contexts, self._leverages, self._along = arrays
        self._units = layout.groups["coming"].contexts.shape[0]
        self._rows, self._apart = _rows_told(self._units, layout.team), _told_width(layout.width)

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
        found = [[[number.get() for number in numbers] for numbers in its_sums] for its_sums in sums]
        if shape.team.size == LANES:
            for arm, columns in zip(arms, found, strict=True):
                for unit, numbers in enumerate(columns):
                    self._set(arm[0], _WORD(unit), self._square(numbers))
        else:
            self._tell(found)
            for k, arm in enumerate(arms):
                self._finish(k, arm[0])

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

    def _square(self, numbers: list[Any]) -> Any:
        """The squares of a thread's lane, and of all lanes."""
        builder, squares = self._builder, _NUMBER(0.0)
        for number in numbers:
            squares = builder.fma(number, number, squares)
        return self._shape.team.total(builder, squares)

    def _set(self, arm: Any, unit: Any, square: Any) -> None:
        builder = self._builder
        place = builder.add(builder.mul(arm, _WORD(self._units)), unit)
        builder.store(square, builder.gep(self._leverages, [place]))

    def _tell(self, found: list[list[list[Any]]]) -> None:
        """Write the entries of f that a thread has, those of its columns, where all threads look for them."""
        builder, shape = self._builder, self._shape
        shape.team.emit_wait(builder)  # others may still read what was told before
        for column in range(shape.columns):
            place = builder.add(shape.team.member(builder), _HALF(column * shape.team.size))
            inside = builder.icmp_unsigned("<", place, _HALF(shape.width))
            first = builder.gep(self._along, [builder.zext(place, _WORD)])
            with builder.if_then(inside):
                for k, its in enumerate(found):
                    for unit, numbers in enumerate(its):
                        row = _WORD((k * self._rows + unit) * self._apart)
                        builder.store(numbers[column], builder.gep(first, [row]))
        shape.team.emit_wait(builder)

    def _finish(self, k: int, arm: Any) -> None:
        """Leverages of the k-th arm: a lane of f for some of the units, which each thread of it takes."""
        builder, shape = self._builder, self._shape
        bands = shape.team.size // LANES
        lane = builder.zext(lane_number(builder), _WORD)
        for turn in range(self._rows // bands):
            unit = builder.add(builder.zext(self._tile.band, _WORD), _WORD(turn * bands))
            row = builder.mul(builder.add(unit, _WORD(k * self._rows)), _WORD(self._apart))
            first = builder.gep(self._along, [builder.add(row, lane)])
            strips = [builder.load(builder.gep(first, [_WORD(c)])) for c in range(0, shape.width, LANES)]
            square = self._square(strips)
            with builder.if_then(builder.icmp_unsigned("<", unit, _WORD(self._units))):
                self._set(arm, unit, square)


# Typed as the functions they are inside compiled code, not as the code generators above.
rest: Any = _rest
"""What is left of a number below 2³² divided by another one."""
take_leverages: Any = _take
"""Write the leverages of two arms, i and j, whose designs are their factors b and c, at all contexts."""
