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
from equipoise.lab.gpu.lanes import THREADS, lane_number, total_of, wait

_HELD = 48
"""Numbers of a factor that a thread keeps; of a larger one it asks for some rows ahead."""
_LARGEST = 320
"""Numbers of a factor that a thread may have for programs not to become too long: 35 features."""
_WORD, _NUMBER = ir.IntType(64), ir.DoubleType()


def use_tiles(relink: Relinker, dim: int, width: int) -> None:
    """Let copies of compiled functions have factors of that many rows and columns in registers."""
    if dim * width > _LARGEST * THREADS:
        return
    extended, projected, squared = _extension(dim, width), _projection(dim, width), _squares(dim, width)

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

    for kernel, function in (
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
