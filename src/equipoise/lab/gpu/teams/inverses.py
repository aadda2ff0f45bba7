"""R⁻¹ of an arm, by all threads of a trial: every thread has columns of it, in registers.

The same sums as in core/arms/factor.py, in the same order. What a processor does not add there, since it is
zero above or below, is added here: to a number that is none, or infinite, nobody asks what was added.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from equipoise.core.arms import factor
from equipoise.core.jit.deferred import deferred
from equipoise.core.jit.nvptx import emit_call
from equipoise.lab.gpu.layout import Layout
from equipoise.lab.gpu.teams.lanes import Team
from equipoise.lab.gpu.teams.rooms import NUMBERS, filled_room
from equipoise.lab.gpu.teams.tiles import lanes_of
from equipoise.lab.gpu.teams.triangles import Columns

_HALF, _WORD, _NUMBER = ir.IntType(32), ir.IntType(64), ir.DoubleType()
LARGEST = 64
"""Features of which threads have columns in registers, at most."""
_ROOM = 2 * LARGEST
"""Numbers that a thread has room for: two columns of so many features, or more that are shorter."""


@deferred
def _independent(typing_context, factors, i):
    def generate(layout, context, builder, signature, arguments):
        first = _matrix(context, builder, layout, signature.args[0], *arguments)
        columns = Columns(builder, layout.dim, layout.team)
        dependent = ir.IntType(1)(0)
        for place, inside in zip(columns.places, columns.inside, strict=True):
            sum_, pivot = _NUMBER(0.0), builder.load(_at(builder, layout, first, place, place))
            for r in range(layout.dim):  # below the diagonal are zeros
                entry = builder.load(_at(builder, layout, first, _WORD(r), place))
                sum_ = builder.fadd(sum_, emit_call(builder, "llvm.fabs.f64", _NUMBER, [entry]))
            size = emit_call(builder, "llvm.fabs.f64", _NUMBER, [pivot])
            low = builder.fcmp_ordered("<=", size, builder.fmul(_NUMBER(factor.DEPENDENT), sum_))
            dependent = builder.or_(dependent, low if inside is None else builder.and_(low, inside))
        return builder.not_(layout.team.any(builder, dependent))

    return types.boolean(factors, types.intp), generate


@intrinsic
def _inverse(typing_context, factors, i, pivots):
    def generate(context, builder, signature, arguments):
        return filled_room(context, builder, signature, arguments, _ROOM, fill)

    def fill(layout, context, builder, signature, arguments):
        stack, i, pivots, room = arguments
        dim = layout.dim
        first = _matrix(context, builder, layout, signature.args[0], stack, i)
        reciprocals = context.make_array(signature.args[2])(context, builder, pivots).data
        reciprocals = builder.gep(reciprocals, [builder.mul(i, _WORD(dim))])
        numbers = _numbers(builder, dim, layout.team)
        columns = [[_NUMBER(0.0)] * dim for _ in numbers]
        for r in range(dim - 1, -1, -1):
            # Row r of R·R⁻¹ = I; rows below it are known.
            sums = [_NUMBER(0.0)] * len(columns)
            for k in range(r + 1, dim):
                entry = builder.load(_at(builder, layout, first, _WORD(r), _WORD(k)))
                sums = [
                    builder.fma(entry, column[k], sum_) for column, sum_ in zip(columns, sums, strict=True)
                ]
            pivot = builder.load(builder.gep(reciprocals, [_WORD(r)]))
            for number, column, sum_ in zip(numbers, columns, sums, strict=True):
                entry = builder.fma(sum_, builder.fneg(pivot), _NUMBER(0.0))
                column[r] = builder.select(builder.icmp_unsigned("==", number, _HALF(r)), pivot, entry)
        for place, entry in enumerate(entry for column in columns for entry in column):
            builder.store(entry, builder.gep(room, [_WORD(place)]))

    return NUMBERS(factors, types.intp, pivots), generate


@deferred
def _norm(typing_context, columns):
    def generate(layout, context, builder, signature, arguments):
        sums = []
        for column in _columns(builder, layout, arguments[0]):
            sum_ = _NUMBER(0.0)
            for entry in column:
                sum_ = builder.fma(entry, entry, sum_)
            sums.append(sum_)
        squares = _NUMBER(0.0)
        for sum_ in lanes_of(builder, layout.team, layout.width, sums):
            squares = builder.fma(sum_, _NUMBER(1.0), squares)
        return layout.team.total(builder, squares)

    return types.float64(NUMBERS), generate


@deferred
def _put(typing_context, columns, factors, i):
    def generate(layout, context, builder, signature, arguments):
        columns, *where = arguments
        first = _matrix(context, builder, layout, signature.args[1], *where)
        own = Columns(builder, layout.dim, layout.team)
        found = _columns(builder, layout, columns)
        for place, inside, column in zip(own.places, own.inside, found, strict=True):
            with builder.if_then(ir.IntType(1)(1) if inside is None else inside):
                for r, entry in enumerate(column):
                    builder.store(entry, _at(builder, layout, first, _WORD(r), place))

    return types.void(NUMBERS, factors, types.intp), generate


@intrinsic
def _solution(typing_context, factors, i, sides):
    def generate(context, builder, signature, arguments):
        return filled_room(context, builder, signature, arguments, _ROOM, fill)

    def fill(layout, context, builder, signature, arguments):
        stack, i, sides, room = arguments
        dim = layout.dim
        first = _matrix(context, builder, layout, signature.args[0], stack, i)
        side = context.make_array(signature.args[2])(context, builder, sides).data
        side = builder.gep(side, [builder.mul(i, _WORD(dim))])
        numbers = [builder.load(builder.gep(side, [_WORD(c)])) for c in range(dim)]
        for k, r in enumerate(Columns(builder, dim, layout.team).places):
            line = builder.gep(first, [builder.mul(r, _WORD(layout.width))])
            entries = [builder.load(builder.gep(line, [_WORD(c)])) for c in range(dim)]
            sum_ = _NUMBER(0.0)
            for entry, number in zip(entries, numbers, strict=True):  # zeros come first
                sum_ = builder.fadd(sum_, builder.fmul(entry, number))
            builder.store(sum_, builder.gep(room, [_WORD(k)]))

    return NUMBERS(factors, types.intp, sides), generate


@deferred
def _put_solution(typing_context, solution, sides, i):
    def generate(layout, context, builder, signature, arguments):
        solution, sides, i = arguments
        side = context.make_array(signature.args[1])(context, builder, sides).data
        side = builder.gep(side, [builder.mul(i, _WORD(layout.dim))])
        own = Columns(builder, layout.dim, layout.team)
        for k, (place, inside) in enumerate(zip(own.places, own.inside, strict=True)):
            with builder.if_then(ir.IntType(1)(1) if inside is None else inside):
                number = builder.load(builder.gep(solution, [_WORD(k)]))
                builder.store(number, builder.gep(side, [place]))

    return types.void(NUMBERS, sides, types.intp), generate


# Typed as the functions they are inside compiled code, not as the code generators above.
is_independent: Any = _independent
"""Whether no column of an arm's R is, up to rounding, a combination of those before it."""
inverse_of: Any = _inverse
"""A thread's columns of an arm's R⁻¹, from R and the reciprocals of its diagonal."""
norm_of: Any = _norm
"""‖R⁻¹‖², as :func:`equipoise.core.arms.factor.squared_norm` sums it up."""
put_inverse: Any = _put
"""Write R⁻¹ where R was."""
solution_of: Any = _solution
"""A thread's entries of R⁻¹q, from R⁻¹ and q."""
put_solution: Any = _put_solution
"""Write R⁻¹q where q was."""


def _numbers(builder: Any, dim: int, team: Team) -> list[Any]:
    """Which columns a thread has; there need not be such a column."""
    return [builder.add(team.member(builder), _HALF(k * team.size)) for k in range(-(-dim // team.size))]


def _columns(builder: Any, layout: Layout, room: Any) -> list[list[Any]]:
    """A thread's columns, as they stand in its room."""
    count, dim = -(-layout.dim // layout.team.size), layout.dim
    return [[builder.load(builder.gep(room, [_WORD(k * dim + r)])) for r in range(dim)] for k in range(count)]


def _matrix(context: Any, builder: Any, layout: Layout, kind: Any, stack: Any, i: Any) -> Any:
    """The address of the first factor of arm i."""
    array = context.make_array(kind)(context, builder, stack)
    across = cgutils.unpack_tuple(builder, array.shape)[1]
    place = builder.mul(builder.mul(across, i), _WORD(layout.dim * layout.width))
    return builder.gep(array.data, [place])


def _at(builder: Any, layout: Layout, first: Any, r: Any, c: Any) -> Any:
    return builder.gep(first, [builder.add(builder.mul(r, _WORD(layout.width)), c)])
