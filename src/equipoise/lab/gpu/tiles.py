"""An arm's factor in the registers of four threads: every thread has every fourth column.

The same sums as in core/arms/factor.py, in the same order. There a loop reads a row after the other; a thread
of a GPU would wait for each of them. Here all that is read is asked for first, since the number of features
is known when a program is compiled.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from equipoise.core.arms import factor
from equipoise.core.jit.kernel import Kernel
from equipoise.core.jit.nvptx import emit_call
from equipoise.core.jit.relinking import Relinker
from equipoise.lab.gpu.lanes import THREADS, lane_number, number_of_lane, total_of, wait

_HELD = 48
"""Numbers of a factor that a thread keeps; of a larger one it asks for some rows ahead."""
_LARGEST = 320
"""Numbers of a factor that a thread may have for programs not to become too long: 35 features."""
_HALF, _WORD, _NUMBER = ir.IntType(32), ir.IntType(64), ir.DoubleType()


def use_tiles(relink: Relinker, dim: int, width: int) -> None:
    """Let copies of compiled functions have factors of that many rows and columns in registers."""
    if dim * width > _LARGEST * THREADS:
        return
    extended, projected = _extension(dim, width), _projection(dim, width)
    squared, turned = _squares(dim, width), _rotation(dim, width)

    def extend(factors: Any, i: int, b: int, target: int, z: Any, f: Any, g: Any) -> float:
        h: float = extended(factors, i, b, target, z, f, g)
        wait()
        return h

    def project(factors: Any, i: int, b: int, z: Any, f: Any) -> float:
        wait()
        square: float = projected(factors, i, b, z, f)
        return square

    def squared_norm(factors: Any, i: int, b: int) -> float:
        wait()
        square: float = squared(factors, i, b)
        return square

    def rotate(upper: Any, rotated: Any, z: Any, y: float) -> float:
        wait()
        left: float = turned(upper, rotated, z, y)
        wait()
        return left

    for kernel, function in (
        (factor.rotate, rotate),
        (factor.extend, extend),
        (factor.project, project),
        (factor.squared_norm, squared_norm),
    ):
        relink.replace(kernel, Kernel(function, inline=True))


class _Tile:
    """A thread's columns of one matrix of a stack, while code is generated."""

    def __init__(self, context: Any, builder: Any, kind: Any, stack: Any, dim: int, width: int) -> None:
        self._builder, self._dim, self._width = builder, dim, width
        array = context.make_array(kind)(context, builder, stack)
        self._data, self._shape = array.data, cgutils.unpack_tuple(builder, array.shape)
        self.strips = width // THREADS

    def start(self, i: Any, b: Any) -> Any:
        """The address of its first number."""
        builder = self._builder
        matrix = builder.add(builder.mul(self._shape[1], i), b)
        lane = builder.zext(lane_number(builder), _WORD)
        place = builder.add(builder.mul(matrix, _WORD(self._dim * self._width)), lane)
        return builder.gep(self._data, [place])

    def row(self, start: Any, r: int) -> list[Any]:
        """Ask for a row."""
        return [self._builder.load(self._at(start, r, k)) for k in range(self.strips)]

    def set_row(self, start: Any, r: int, numbers: list[Any]) -> None:
        """Write a row."""
        for k, number in enumerate(numbers):
            self._builder.store(number, self._at(start, r, k))

    def _at(self, start: Any, r: int, k: int) -> Any:
        return self._builder.gep(start, [_WORD(r * self._width + k * THREADS)])


class _Rows:
    """The rows of a tile one by one; those that come next were asked for before."""

    def __init__(self, tile: _Tile, start: Any, dim: int) -> None:
        self._tile, self._start, self._dim = tile, start, dim
        self._ahead = max(2, _HELD // tile.strips)
        self._asked = [tile.row(start, r) for r in range(min(dim, self._ahead))]

    @property
    def all_are_held(self) -> bool:
        return self._dim <= self._ahead

    def __getitem__(self, r: int) -> list[Any]:
        row = self._asked[r]
        if len(self._asked) < self._dim:
            self._asked.append(self._tile.row(self._start, len(self._asked)))
        return row


def _numbers(context: Any, builder: Any, kind: Any, array: Any, count: int) -> list[Any]:
    """The first numbers of an array."""
    data = context.make_array(kind)(context, builder, array).data
    return [builder.load(builder.gep(data, [_WORD(r)])) for r in range(count)]


def _along(builder: Any, rows: Any, z: list[Any], strips: int) -> tuple[list[Any], Any]:
    """A thread's numbers of f = Vᵀz, and fᵀf."""
    f = [_NUMBER(0.0)] * strips
    for r, entry in enumerate(z):
        f = [builder.fma(number, entry, sum_) for number, sum_ in zip(rows[r], f, strict=True)]
    squares = _NUMBER(0.0)
    for number in f:
        squares = builder.fma(number, number, squares)
    return f, total_of(builder, squares)


def _store_own(context: Any, builder: Any, kind: Any, array: Any, numbers: list[Any]) -> None:
    data = context.make_array(kind)(context, builder, array).data
    lane = builder.zext(lane_number(builder), _WORD)
    for k, number in enumerate(numbers):
        builder.store(number, builder.gep(data, [builder.add(lane, _WORD(k * THREADS))]))


def _projection(dim: int, width: int) -> Any:
    @intrinsic
    def projected(typing_context, factors, i, b, z, f):
        def generate(context, builder, signature, arguments):
            stack, i, b, z, f = arguments
            tile = _Tile(context, builder, signature.args[0], stack, dim, width)
            rows = _Rows(tile, tile.start(i, b), dim)
            entries = _numbers(context, builder, signature.args[3], z, dim)
            along, square = _along(builder, rows, entries, tile.strips)
            _store_own(context, builder, signature.args[4], f, along)
            return square

        return types.float64(factors, types.intp, types.intp, z, f), generate

    return projected


def _extension(dim: int, width: int) -> Any:
    @intrinsic
    def extended(typing_context, factors, i, b, target, z, f, g):
        def generate(context, builder, signature, arguments):
            stack, i, b, target, z, f, g = arguments
            tile = _Tile(context, builder, signature.args[0], stack, dim, width)
            start, goal = tile.start(i, b), tile.start(i, target)
            rows = _Rows(tile, start, dim)
            entries = _numbers(context, builder, signature.args[4], z, dim)
            along, square = _along(builder, rows, entries, tile.strips)
            _store_own(context, builder, signature.args[5], f, along)
            if not rows.all_are_held:
                rows = _Rows(tile, start, dim)
            h = builder.fadd(_NUMBER(1.0), square)
            root = emit_call(builder, "sqrt", _NUMBER, [h])
            scale = builder.fdiv(_NUMBER(-1.0), builder.fadd(h, root))
            gains = context.make_array(signature.args[6])(context, builder, g).data
            for r in range(dim):
                row, gain = rows[r], _NUMBER(0.0)
                for number, part in zip(row, along, strict=True):
                    gain = builder.fma(number, part, gain)
                gain = total_of(builder, gain)
                builder.store(gain, builder.gep(gains, [_WORD(r)]))
                step = builder.fmul(gain, scale)
                tile.set_row(
                    goal,
                    r,
                    [builder.fma(step, part, number) for number, part in zip(row, along, strict=True)],
                )
            return h

        kinds = factors, types.intp, types.intp, types.intp, z, f, g
        return types.float64(*kinds), generate

    return extended


def _squares(dim: int, width: int) -> Any:
    @intrinsic
    def squared(typing_context, factors, i, b):
        def generate(context, builder, signature, arguments):
            stack, i, b = arguments
            tile = _Tile(context, builder, signature.args[0], stack, dim, width)
            rows = _Rows(tile, tile.start(i, b), dim)
            columns = [_NUMBER(0.0)] * tile.strips
            for r in range(dim):
                columns = [builder.fma(n, n, sum_) for n, sum_ in zip(rows[r], columns, strict=True)]
            squares = _NUMBER(0.0)
            for column in columns:
                squares = builder.fma(column, _NUMBER(1.0), squares)
            return total_of(builder, squares)

        return types.float64(factors, types.intp, types.intp), generate

    return squared


def _rotation(dim: int, width: int) -> Any:
    @intrinsic
    def turned(typing_context, upper, rotated, z, y):
        def generate(context, builder, signature, arguments):
            kind, strips = signature.args[0], width // THREADS
            matrix = context.make_array(kind)(context, builder, arguments[0])
            across = cgutils.unpack_tuple(builder, matrix.shape)[1]
            lane = lane_number(builder)
            columns = [_own_column(builder, lane, k, dim) for k in range(strips)]
            # Below the diagonal there is nothing.
            places = {
                (j, k): builder.gep(matrix.data, [builder.add(builder.mul(across, _WORD(j)), columns[k])])
                for j in range(dim)
                for k in range(j // THREADS, strips)
            }
            entries = {place: builder.load(address) for place, address in places.items()}
            line = context.make_array(signature.args[2])(context, builder, arguments[2]).data
            rest = [builder.load(builder.gep(line, [column])) for column in columns]
            sides = context.make_array(signature.args[1])(context, builder, arguments[1]).data
            side = [builder.load(builder.gep(sides, [_WORD(j)])) for j in range(dim)]
            y = arguments[3]
            for j in range(dim):
                owner, strip = j % THREADS, j // THREADS
                pivot = number_of_lane(builder, entries[j, strip], owner)
                entry = number_of_lane(builder, rest[strip], owner)
                turn = _Turn(builder, pivot, entry)
                for k in range(strip, strips):
                    above, below = turn(entries[j, k], rest[k])
                    if k == strip:  # the columns before it stay, and its own becomes the length
                        later = builder.icmp_unsigned(">", lane, _HALF(owner))
                        mine = builder.icmp_unsigned("==", lane, _HALF(owner))
                        above = builder.select(later, above, builder.select(mine, turn.length, entries[j, k]))
                        below = builder.select(later, below, rest[k])
                    entries[j, k], rest[k] = above, below
                side[j], y = turn(side[j], y)
                builder.store(side[j], builder.gep(sides, [_WORD(j)]))
            for k in range(strips):
                inside = builder.icmp_unsigned("<", lane, _HALF(min(THREADS, dim - k * THREADS)))
                with builder.if_then(inside):
                    for j in range(min(dim, (k + 1) * THREADS)):
                        builder.store(entries[j, k], places[j, k])
            return y

        return types.float64(upper, rotated, z, types.float64), generate

    return turned


def _own_column(builder: Any, lane: Any, k: int, dim: int) -> Any:
    """The column of strip k that a thread has; past the last one, that one."""
    column = builder.add(builder.zext(lane, _WORD), _WORD(k * THREADS))
    if (k + 1) * THREADS <= dim:
        return column
    past = builder.icmp_unsigned(">=", column, _WORD(dim))
    return builder.select(past, _WORD(dim - 1), column)


class _Turn:
    """A rotation that brings an entry to zero: see :func:`equipoise.core.arms.factor.rotate`."""

    def __init__(self, builder: Any, pivot: Any, entry: Any) -> None:
        self._builder = builder
        square = builder.fadd(builder.fmul(pivot, pivot), builder.fmul(entry, entry))
        nothing = _NUMBER(0.0)
        self._needed = builder.and_(
            builder.fcmp_unordered("!=", entry, nothing), builder.fcmp_ordered(">", square, nothing)
        )
        length = emit_call(builder, "sqrt", _NUMBER, [square])
        self._cosine, self._sine = builder.fdiv(pivot, length), builder.fdiv(entry, length)
        self.length = builder.select(self._needed, length, pivot)

    def __call__(self, above: Any, below: Any) -> tuple[Any, Any]:
        """Two numbers of a column, turned; as they are where nothing is to be turned."""
        builder, cosine, sine = self._builder, self._cosine, self._sine
        first = builder.fadd(builder.fmul(cosine, above), builder.fmul(sine, below))
        second = builder.fsub(builder.fmul(cosine, below), builder.fmul(sine, above))
        return builder.select(self._needed, first, above), builder.select(self._needed, second, below)
