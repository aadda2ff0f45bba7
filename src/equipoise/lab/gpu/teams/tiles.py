"""An arm's factor in the registers of a trial's threads.

The same sums as in core/arms/factor.py, in the same order. There a loop reads a row after the other; a thread
of a GPU would wait for each of them. Here all that is read is asked for first, since the number of features
is known when a program is compiled.

Sums along a row have four lanes, and rows are shared out among the threads of a lane. Sums along a column
have one, and columns are shared out among all threads; with four threads these are the columns of its lane.
More threads may have columns alone, since memory is read and written at once along rows, and tell each other
rows beside the processors.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from equipoise.core.arms import factor
from equipoise.core.arrays import Matrix
from equipoise.core.jit.deferred import deferred
from equipoise.core.jit.handles import handled
from equipoise.core.jit.kernel import Kernel
from equipoise.core.jit.nvptx import emit_call
from equipoise.core.jit.relinking import Relinker
from equipoise.lab.gpu.layout import Layout
from equipoise.lab.gpu.memory import near_numbers
from equipoise.lab.gpu.teams.lanes import LANES, WARP, Team, lane_number

_HELD = 36
"""Numbers of a factor that a thread should keep, at most."""
LARGEST = 64
"""Numbers of a factor that a thread may have: up to 40 features."""
_TOLD = 16
"""Rows that threads tell each other at once."""
_BANKS = 16
"""Numbers that threads read at the same time without waiting, from the memory beside the processors."""
_GROUP, _ARRAY = "bands", "rows"
_HALF, _WORD, _NUMBER = ir.IntType(32), ir.IntType(64), ir.DoubleType()


def best_team(dim: int, width: int) -> Team:
    """As few threads as can keep a factor of that many rows and columns."""
    size = LANES
    while size < WARP and _numbers_a_thread(dim, width, size) > _HELD:
        size *= 2
    return Team(size)


def _numbers_a_thread(dim: int, width: int, size: int) -> int:
    return -(-dim * LANES // size) * (width // LANES)


def are_tiles(dim: int, width: int, team: Team) -> bool:
    """Whether registers have room for factors of that many rows and columns."""
    return _numbers_a_thread(dim, width, team.size) <= LARGEST


@handled
class Bands(NamedTuple):
    """Some rows of a factor that threads with its columns tell each other."""

    rows: Matrix


def new_bands(width: int, team: Team, *, looks: bool) -> Bands:
    """Room for them, where it was found to be worth what it takes of the first cache.

    Policies that look have leverages near, too.
    """
    is_worth_it = team.size > LANES and (width == team.size or (team.size == 2 * LANES and not looks))
    return Bands(np.zeros((_TOLD, _apart(width, team)) if is_worth_it else (0, 0)))


def _apart(width: int, team: Team) -> int:
    """How far rows are apart, so that threads that read four numbers of a row each do not wait."""
    wanted = (_BANKS // 2,) if team.size == 2 * LANES else (LANES, _BANKS - LANES)
    return next(apart for apart in itertools.count(width) if apart % _BANKS in wanted)


def use_tiles(relink: Relinker) -> None:
    """Let copies of compiled functions have factors in registers."""

    def extend(factors: Any, i: int, b: int, target: int, z: Any, f: Any, g: Any) -> float:
        h: float = _extended(factors, i, b, target, z, g)
        _wait_for_others()
        return h

    def project(factors: Any, i: int, b: int, z: Any, f: Any) -> float:
        _wait_for_others()
        square: float = _projected(factors, i, b, z)
        return square

    def squared_norm(factors: Any, i: int, b: int) -> float:
        _wait_for_others()
        square: float = _squared(factors, i, b)
        return square

    replacements: list[tuple[Any, Callable[..., float]]] = [
        (factor.extend, extend),
        (factor.project, project),
        (factor.squared_norm, squared_norm),
    ]
    for kernel, function in replacements:
        relink.replace(kernel, Kernel(function, inline=True))


@deferred
def _wait(typing_context):
    def generate(layout, context, builder, signature, arguments):
        # Four threads read and write the columns of their own lane, and gains that each has written itself.
        if layout.team.size > LANES:
            layout.team.emit_wait(builder)

    return types.void(), generate


# Typed as the function it is inside compiled code, not as the code generator above.
_wait_for_others: Any = _wait
"""Wait for all threads of the trial, where one reads what another has written."""


class Shape:
    """How a factor is shared out."""

    def __init__(self, layout: Layout) -> None:
        self.dim, self.width, self.team = dim, width, team = layout.dim, layout.width, layout.team
        self.strips = width // LANES
        self.bands = team.size // LANES
        """Threads of a lane: each has every so-manieth row."""
        self.rows = -(-dim // self.bands)
        self.columns = -(-width // team.size)


class Tile:
    """One matrix of a stack, while code is generated."""

    def __init__(self, context: Any, builder: Any, kind: Any, stack: Any, shape: Shape) -> None:
        self.builder, self.shape = builder, shape
        array = context.make_array(kind)(context, builder, stack)
        self._data, self._across = array.data, cgutils.unpack_tuple(builder, array.shape)[1]
        self.band = builder.lshr(shape.team.member(builder), _HALF(LANES.bit_length() - 1))

    def start(self, i: Any, b: Any) -> Any:
        """The address of its first number."""
        builder, shape = self.builder, self.shape
        matrix = builder.add(builder.mul(self._across, i), b)
        return builder.gep(self._data, [builder.mul(matrix, _WORD(shape.dim * shape.width))])

    def row(self, start: Any, number: int) -> list[Any]:
        """Ask for a lane of one of a thread's rows; where there is none, of its first one."""
        first = self._lane(start, number)
        return [self.builder.load(self._strip(first, k)) for k in range(self.shape.strips)]

    def set_row(self, start: Any, number: int, numbers: list[Any]) -> None:
        """Write it."""
        first = self._lane(start, number)
        for k, entry in enumerate(numbers):
            self.builder.store(entry, self._strip(first, k))

    def row_number(self, number: int) -> Any:
        """Which row that is."""
        return self.builder.add(self.band, _HALF(number * self.shape.bands))

    def is_row(self, number: int) -> Any:
        """Whether there is such a row; None where every thread has one."""
        if (number + 1) * self.shape.bands <= self.shape.dim:
            return None
        return self.builder.icmp_unsigned("<", self.row_number(number), _HALF(self.shape.dim))

    def column(self, start: Any, number: int) -> list[Any]:
        """Ask for one of a thread's columns; where there is none, for the first one."""
        builder, shape, first = self.builder, self.shape, self.column_start(start, number)
        return [builder.load(builder.gep(first, [_WORD(r * shape.width)])) for r in range(shape.dim)]

    def column_start(self, start: Any, number: int) -> Any:
        """The address of its first number."""
        builder, place, inside = self.builder, self.column_number(number), self.is_column(number)
        if inside is not None:
            place = builder.select(inside, place, _HALF(0))
        return builder.gep(start, [builder.zext(place, _WORD)])

    def set_column(self, start: Any, number: int, r: int, entry: Any) -> None:
        """Write a row's entry in one of a thread's columns, if there is such a column."""
        place = self.builder.gep(self.column_start(start, number), [_WORD(r * self.shape.width)])
        with if_there(self.builder, self.is_column(number)):
            self.builder.store(entry, place)

    def is_column(self, number: int) -> Any:
        """Whether there is such a column; None where every thread has one."""
        if (number + 1) * self.shape.team.size <= self.shape.width:
            return None
        return self.builder.icmp_unsigned("<", self.column_number(number), _HALF(self.shape.width))

    def column_number(self, number: int) -> Any:
        """Which column that is."""
        return self.builder.add(self.shape.team.member(self.builder), _HALF(number * self.shape.team.size))

    def _lane(self, start: Any, number: int) -> Any:
        builder, row = self.builder, self.row_number(number)
        inside = self.is_row(number)
        if inside is not None:
            row = builder.select(inside, row, self.band)
        place = builder.add(builder.mul(row, _HALF(self.shape.width)), lane_number(builder))
        return builder.gep(start, [builder.zext(place, _WORD)])

    def _strip(self, first: Any, k: int) -> Any:
        return self.builder.gep(first, [_WORD(k * LANES)])


def lanes_of(builder: Any, team: Team, width: int, columns: list[Any]) -> list[Any]:
    """A thread's lane of the numbers that threads have for the columns of a matrix."""
    if team.size == LANES:
        return columns
    lane, found = lane_number(builder), []
    for k in range(width // LANES):
        number, member = divmod(k * LANES, team.size)
        owner = builder.add(lane, _HALF(member))
        found.append(team.number_of_member(builder, columns[number], owner))
    return found


def _along(context: Any, tile: Tile, start: Any, kind: Any, z: Any) -> tuple[list[Any], Any]:
    """A thread's lane of f = Vᵀz, and fᵀf."""
    columns = [tile.column(start, number) for number in range(tile.shape.columns)]
    return along_columns(context, tile.builder, tile.shape, columns, kind, z)


def along_columns(
    context: Any, builder: Any, shape: Shape, columns: list[list[Any]], kind: Any, z: Any
) -> tuple[list[Any], Any]:
    """The same from a thread's columns of V."""
    f = down_columns(context, builder, shape, columns, kind, z)
    return across_lanes(builder, shape, f)


def down_columns(
    context: Any, builder: Any, shape: Shape, columns: list[list[Any]], kind: Any, z: Any
) -> list[Any]:
    """A thread's entries of f = Vᵀz, from its columns of V."""
    data = context.make_array(kind)(context, builder, z).data
    f = [_NUMBER(0.0)] * shape.columns
    for r in range(shape.dim):
        entry = builder.load(builder.gep(data, [_WORD(r)]))
        f = [builder.fma(column[r], entry, sum_) for column, sum_ in zip(columns, f, strict=True)]
    return f


def across_lanes(builder: Any, shape: Shape, f: list[Any]) -> tuple[list[Any], Any]:
    """A thread's lane of f, from what threads have of it, and fᵀf."""
    along, squares = lanes_of(builder, shape.team, shape.width, f), _NUMBER(0.0)
    for number in along:
        squares = builder.fma(number, number, squares)
    return along, shape.team.total(builder, squares)


@deferred
def _projected(typing_context, factors, i, b, z):
    def generate(layout, context, builder, signature, arguments):
        stack, i, b, z = arguments
        shape = Shape(layout)
        tile = Tile(context, builder, signature.args[0], stack, shape)
        return _along(context, tile, tile.start(i, b), signature.args[3], z)[1]

    return types.float64(factors, types.intp, types.intp, z), generate


def extend_tile(layout: Layout, context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """The code of :func:`equipoise.core.arms.factor.extend`; h."""
    stack, i, b, target, z, g = arguments
    shape = Shape(layout)
    tile = Tile(context, builder, signature.args[0], stack, shape)
    start, goal = tile.start(i, b), tile.start(i, target)
    if tells_rows(layout):
        columns = [tile.column(start, number) for number in range(shape.columns)]
        h = extend_columns(layout, context, tile, columns, signature.args[4:], (z, g))
        for number, column in enumerate(columns):
            for r, entry in enumerate(column):
                tile.set_column(goal, number, r, entry)
        return h
    rows = [tile.row(start, number) for number in range(shape.rows)]
    if shape.team.size == LANES:  # it has its columns
        columns = [list(column) for column in zip(*rows, strict=True)]
        along, square = along_columns(context, builder, shape, columns, signature.args[4], z)
    else:
        along, square = _along(context, tile, start, signature.args[4], z)
    h = builder.fadd(_NUMBER(1.0), square)
    gains = context.make_array(signature.args[5])(context, builder, g).data
    for number, row in changed_rows(tile, rows, along, scale_of(builder, h), gains):
        with if_there(builder, tile.is_row(number)):
            tile.set_row(goal, number, row)
    return h


def tells_rows(layout: Layout) -> bool:
    """Whether threads change columns, and tell each other rows for what is summed up along them."""
    return bool(layout.groups[_GROUP].rows.size) and (_GROUP, _ARRAY) in layout.share.offsets


def extend_columns(
    layout: Layout, context: Any, tile: Tile, columns: list[list[Any]], kinds: Any, arrays: Any
) -> Any:
    """The same for a thread's columns of V, which change; h. Of the types and arrays of z and g."""
    builder, shape = tile.builder, tile.shape
    z, gains = arrays[0], context.make_array(kinds[1])(context, builder, arrays[1]).data
    f = down_columns(context, builder, shape, columns, kinds[0], z)
    along, square = across_lanes(builder, shape, f)
    h = builder.fadd(_NUMBER(1.0), square)
    scale = scale_of(builder, h)
    near, apart = near_numbers(layout, builder, _GROUP, _ARRAY), _apart(shape.width, shape.team)
    together = _TOLD // shape.bands
    for first in range(0, shape.rows, together):
        shape.team.emit_wait(builder)  # others may still read the rows before
        told = range(first * shape.bands, min((first + together) * shape.bands, shape.dim))
        for number, column in enumerate(columns):
            place = builder.gep(near, [builder.zext(tile.column_number(number), _WORD)])
            with if_there(builder, tile.is_column(number)):
                for r in told:
                    goal = builder.gep(place, [_WORD((r - told.start) * apart)])
                    builder.store(column[r], goal)
        shape.team.emit_wait(builder)
        place = builder.add(builder.mul(tile.band, _HALF(apart)), lane_number(builder))
        place = builder.gep(near, [builder.zext(place, _WORD)])
        for number in range(first, min(first + together, shape.rows)):
            start = builder.gep(place, [_WORD((number - first) * shape.bands * apart)])
            row = [builder.load(builder.gep(start, [_WORD(k * LANES)])) for k in range(shape.strips)]
            set_gain(tile, number, row, along, gains)
    shape.team.emit_wait(builder)
    for r in range(shape.dim):
        step = builder.fmul(builder.load(builder.gep(gains, [_WORD(r)])), scale)
        for column, part in zip(columns, f, strict=True):
            column[r] = builder.fma(step, part, column[r])
    return h


def set_gain(tile: Tile, number: int, row: list[Any], along: list[Any], gains: Any) -> Any:
    """Write an entry of g = Vf, if there is such a row."""
    builder, gain = tile.builder, _NUMBER(0.0)
    for entry, part in zip(row, along, strict=True):
        gain = builder.fma(entry, part, gain)
    gain = tile.shape.team.total(builder, gain)
    place = builder.gep(gains, [builder.zext(tile.row_number(number), _WORD)])
    with if_there(builder, tile.is_row(number)):
        builder.store(gain, place)
    return gain


def scale_of(builder: Any, h: Any) -> Any:
    """−1/(h + √h)."""
    root = emit_call(builder, "sqrt", _NUMBER, [h])
    return builder.fdiv(_NUMBER(-1.0), builder.fadd(h, root))


def changed_rows(
    tile: Tile, rows: list[list[Any]], along: list[Any], scale: Any, gains: Any
) -> Iterator[tuple[int, list[Any]]]:
    """Write a thread's entries of g = Vf, one by one; what its rows become, by number."""
    builder = tile.builder
    for number, row in enumerate(rows):
        step = builder.fmul(set_gain(tile, number, row, along, gains), scale)
        yield number, [builder.fma(step, part, entry) for entry, part in zip(row, along, strict=True)]


def if_there(builder: Any, condition: Any) -> Any:
    """Code for threads that have a row; None: all have it."""
    return nullcontext() if condition is None else builder.if_then(condition)


@deferred
def _extended(typing_context, factors, i, b, target, z, g):
    kinds = factors, types.intp, types.intp, types.intp, z, g
    return types.float64(*kinds), extend_tile


@deferred
def _squared(typing_context, factors, i, b):
    def generate(layout, context, builder, signature, arguments):
        stack, i, b = arguments
        shape = Shape(layout)
        tile = Tile(context, builder, signature.args[0], stack, shape)
        start, columns = tile.start(i, b), []
        for number in range(shape.columns):
            square = _NUMBER(0.0)
            for entry in tile.column(start, number):
                square = builder.fma(entry, entry, square)
            columns.append(square)
        squares = _NUMBER(0.0)
        for column in lanes_of(builder, shape.team, shape.width, columns):
            squares = builder.fma(column, _NUMBER(1.0), squares)
        return shape.team.total(builder, squares)

    return types.float64(factors, types.intp, types.intp), generate
