"""Triangular factors, which arms have until their contexts span all directions, shared out among threads.

The same steps as in core/arms/factor.py, in the same order. Every thread has columns of its own, so that
none reads what another has written; what all need of a column, its thread hands round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from equipoise.core.arithmetic.lanes import load_one, store_one
from equipoise.core.arms import factor
from equipoise.core.jit.deferred import deferred
from equipoise.core.jit.kernel import Kernel
from equipoise.core.jit.nvptx import emit_call
from equipoise.core.jit.relinking import Relinker
from equipoise.lab.gpu.teams.lanes import LANES, Team, member, team_size, wait

_AHEAD = 4
"""Rows that are asked for before they are needed, and turns that are written one after the other."""
_HALF, _WORD, _NUMBER = ir.IntType(32), ir.IntType(64), ir.DoubleType()


def use_triangles(relink: Relinker) -> None:
    """Let copies of compiled functions share out triangles."""

    def rotate(upper: Any, rotated: Any, z: Any, y: float) -> float:
        wait()
        left: float = _turned(upper, rotated, z, y)
        wait()
        return left

    def invert_upper(factors: Any, i: int, b: int, inverse: Any) -> bool:
        wait()
        invertible: bool = _inverted(factors, i, b, inverse)
        wait()
        return invertible

    def copy(source: Any, i: int, b: int, target: Any, j: int, t: int) -> None:
        wait()
        numbers = source.shape[2] * source.shape[3]
        first, goal = (source.shape[1] * i + b) * numbers, (target.shape[1] * j + t) * numbers
        for place in range(member(), numbers, team_size()):
            store_one(target, goal + place, load_one(source, first + place))
        wait()

    def clear(factors: Any, i: int, b: int) -> None:
        numbers = factors.shape[2] * factors.shape[3]
        first = (factors.shape[1] * i + b) * numbers
        for place in range(member(), numbers, team_size()):
            store_one(factors, first + place, 0.0)
        wait()

    replacements: list[tuple[Any, Callable[..., Any]]] = [
        (factor.clear, clear),
        (factor.rotate, rotate),
        (factor.invert_upper, invert_upper),
        (factor.copy, copy),
    ]
    for kernel, function in replacements:
        relink.replace(kernel, Kernel(function, inline=True))


class Columns:
    """A thread's columns of a matrix: every so-manieth."""

    def __init__(self, builder: Any, dim: int, team: Team) -> None:
        self.dim, self.team, self.member = dim, team, team.member(builder)
        self.count = -(-dim // team.size)
        places = [builder.add(self.member, _HALF(k * team.size)) for k in range(self.count)]
        self.inside = [
            None if (k + 1) * team.size <= dim else builder.icmp_unsigned("<", place, _HALF(dim))
            for k, place in enumerate(places)
        ]
        """Whether there is such a column; None where every thread has one."""
        # Where there is none, another one is read, and nothing written.
        self.places = [
            builder.zext(place if inside is None else builder.select(inside, place, _HALF(dim - 1)), _WORD)
            for place, inside in zip(places, self.inside, strict=True)
        ]

    def turns(self) -> Iterator[tuple[int, int, int]]:
        """Numbers of a thread's columns, and the first and last plus one of those that all threads have."""
        for k in range(self.count):
            yield k, k * self.team.size, min(self.dim, (k + 1) * self.team.size)


class Variable:
    """A number that changes in a loop."""

    def __init__(self, builder: Any, number: Any) -> None:
        self._builder = builder
        with builder.goto_entry_block():
            self._room = builder.alloca(number.type)
        self.set(number)

    def get(self) -> Any:
        """What it is now."""
        return self._builder.load(self._room)

    def set(self, number: Any) -> None:
        """Let it be another."""
        self._builder.store(number, self._room)


@deferred
def _turned(typing_context, upper, rotated, z, y):
    def generate(layout, context, builder, signature, arguments):
        matrix, sides, line = (
            context.make_array(signature.args[k])(context, builder, arguments[k]) for k in range(3)
        )
        across = cgutils.unpack_tuple(builder, matrix.shape)[1]
        numbers = sides.data, line.data, arguments[3]
        return _Rotation(builder, layout.dim, layout.team, matrix.data, across, *numbers).emit()

    return types.float64(upper, rotated, z, types.float64), generate


class _Rotation:
    """The code of :func:`equipoise.core.arms.factor.rotate`: a line z and its y are turned into R and q."""

    def __init__(
        self, builder: Any, dim: int, team: Team, data: Any, across: Any, sides: Any, line: Any, y: Any
    ) -> None:
        self._builder, self._dim, self._team = builder, dim, team
        self._columns = columns = Columns(builder, dim, team)
        self._data, self._across = data, across
        self._sides = [builder.gep(sides, [place]) for place in columns.places]
        self._side = [Variable(builder, builder.load(place)) for place in self._sides]
        self._rest = [Variable(builder, builder.load(builder.gep(line, [place]))) for place in columns.places]
        self._left = Variable(builder, y)

    def emit(self) -> Any:
        """Turn by turn; what is left of y."""
        builder, columns = self._builder, self._columns
        for own, first, last in columns.turns():
            whole = (last - first) // _AHEAD * _AHEAD
            # Rows change in their own turn only, so those of the next turns can be asked for.
            asked = self._ask(own, [_WORD(first + step) for step in range(_AHEAD)])
            ahead = [[Variable(builder, entry) for entry in row] for row in asked]
            with cgutils.for_range_slice(builder, _WORD(first), _WORD(first + whole), _WORD(_AHEAD)) as (
                j,
                _,
            ):
                rows = [[entry.get() for entry in row] for row in ahead]
                turns = [builder.add(j, _WORD(step)) for step in range(_AHEAD)]
                later = self._ask(own, [builder.add(turn, _WORD(_AHEAD)) for turn in turns])
                for turn, row in zip(turns, rows, strict=True):
                    self._turn(own, first, turn, row)
                for row, entries in zip(ahead, later, strict=True):
                    for entry, number in zip(row, entries, strict=True):
                        entry.set(number)
            for step in range(last - first - whole):
                self._turn(own, first, _WORD(first + whole + step), [entry.get() for entry in ahead[step]])
        return self._end()

    def _end(self) -> Any:
        """Write what q has become; what is left of y."""
        for place, side, inside in zip(self._sides, self._side, self._columns.inside, strict=True):
            _store_where(self._builder, inside, side.get(), place)
        return self._left.get()

    def _ask(self, own: int, rows: list[Any]) -> list[list[Any]]:
        """Ask for a thread's columns of some rows, from one of its columns on; past the last row, for it."""
        builder, found = self._builder, []
        for j in rows:
            past = builder.icmp_signed(">=", j, _WORD(self._dim))
            j = builder.select(past, _WORD(self._dim - 1), j)
            found.append([builder.load(self._address(j, k)) for k in range(own, self._columns.count)])
        return found

    def _address(self, j: Any, k: int) -> Any:
        place = self._builder.add(self._builder.mul(self._across, j), self._columns.places[k])
        return self._builder.gep(self._data, [place])

    def _turn(self, own: int, first: int, j: Any, row: list[Any]) -> None:
        """Bring entry j of the line to zero, which is in the threads' columns ``own``."""
        builder = self._builder
        owner = builder.trunc(builder.sub(j, _WORD(first)), _HALF)
        pivot, entry = self._corner(own, owner, row)
        square, needed = square_of(builder, pivot, entry)
        # While an arm has few units, most entries are zero already.
        with builder.if_then(needed):
            length = emit_call(builder, "sqrt", _NUMBER, [square])
            cosine, sine = builder.fdiv(pivot, length), builder.fdiv(entry, length)
            self._apply(own, owner, j, row, (length, cosine, sine))

    def _corner(self, own: int, owner: Any, row: list[Any]) -> tuple[Any, Any]:
        """What a turn begins with: the numbers of R and of the line in the column that is brought to zero."""
        builder, team = self._builder, self._team
        pivot = team.number_of_member(builder, row[0], owner)
        return pivot, team.number_of_member(builder, self._rest[own].get(), owner)

    def _apply(self, own: int, owner: Any, j: Any, row: list[Any], turn: tuple[Any, Any, Any]) -> None:
        """Turn row j of R and the line, q and y by an angle whose cosine and sine are given."""
        builder, columns, (length, cosine, sine) = self._builder, self._columns, turn
        other = self._team.number_of_member(builder, self._side[own].get(), owner)

        def turned(above: Any, below: Any) -> tuple[Any, Any]:
            return (
                builder.fadd(builder.fmul(cosine, above), builder.fmul(sine, below)),
                builder.fsub(builder.fmul(cosine, below), builder.fmul(sine, above)),
            )

        for k, entry in enumerate(row, own):
            above, below = turned(entry, self._rest[k].get())
            written = columns.inside[k]
            if k == own:  # the columns before j stay, and its own becomes the length
                after = builder.icmp_unsigned(">", columns.member, owner)
                above = builder.select(after, above, length)
                below = builder.select(after, below, self._rest[k].get())
                written = builder.icmp_unsigned(">=", columns.member, owner)
                if columns.inside[k] is not None:
                    written = builder.and_(written, columns.inside[k])
            self._rest[k].set(below)
            _store_where(builder, written, above, self._address(j, k))
        other, y = turned(other, self._left.get())
        self._left.set(y)
        mine = builder.icmp_unsigned("==", columns.member, owner)
        self._side[own].set(builder.select(mine, other, self._side[own].get()))


def square_of(builder: Any, pivot: Any, entry: Any) -> tuple[Any, Any]:
    """The square of what a pivot becomes, and whether it is to be turned at all."""
    square = builder.fadd(builder.fmul(pivot, pivot), builder.fmul(entry, entry))
    nothing = _NUMBER(0.0)
    differs = builder.fcmp_unordered("!=", entry, nothing)
    return square, builder.and_(differs, builder.fcmp_ordered(">", square, nothing))


def _store_where(builder: Any, condition: Any, number: Any, place: Any) -> None:
    """Write a number where a condition holds, None: everywhere."""
    if condition is None:
        builder.store(number, place)
        return
    with builder.if_then(condition):
        builder.store(number, place)


@deferred
def _inverted(typing_context, factors, i, b, inverse):
    def generate(layout, context, builder, signature, arguments):
        dim, team = layout.dim, layout.team
        stack, i, b, inverse = arguments
        array = context.make_array(signature.args[0])(context, builder, stack)
        across, width = (cgutils.unpack_tuple(builder, array.shape)[axis] for axis in (1, 3))
        matrix = builder.add(builder.mul(across, i), b)
        upper = builder.gep(array.data, [builder.mul(matrix, builder.mul(_WORD(dim), width))])
        goal = context.make_array(signature.args[3])(context, builder, inverse).data
        columns = Columns(builder, dim, team)

        def at(data: Any, r: Any, c: Any) -> Any:
            return builder.gep(data, [builder.add(builder.mul(r, width), c)])

        dependent, pivots = ir.IntType(1)(0), []
        for place in columns.places:
            pivot = builder.load(at(upper, place, place))
            sum_ = Variable(builder, _NUMBER(0.0))
            with cgutils.for_range(builder, builder.add(place, _WORD(1))) as loop:
                entry = _absolute(builder, builder.load(at(upper, loop.index, place)))
                sum_.set(builder.fadd(sum_.get(), entry))
            bound = builder.fmul(_NUMBER(factor.DEPENDENT), sum_.get())
            low = builder.fcmp_ordered("<=", _absolute(builder, pivot), bound)
            dependent = builder.or_(dependent, low)
            pivots.append(builder.fdiv(_NUMBER(1.0), pivot))
        invertible = builder.not_(team.any(builder, dependent))
        with builder.if_then(invertible):
            for turn, first, last in reversed(list(columns.turns())):
                with cgutils.for_range(builder, _WORD(last - first)) as loop:
                    r = builder.sub(_WORD(last - 1), loop.index)
                    owner = builder.trunc(builder.sub(r, _WORD(first)), _HALF)
                    pivot = team.number_of_member(builder, pivots[turn], owner)
                    for k, place in enumerate(columns.places):
                        _invert_entry(builder, at, (upper, goal), dim, r, place, pivot, columns.inside[k])
        return invertible

    return types.boolean(factors, types.intp, types.intp, inverse), generate


def _invert_entry(
    builder: Any, at: Any, matrices: tuple[Any, Any], dim: int, r: Any, c: Any, pivot: Any, inside: Any
) -> None:
    """Row r of a column of R⁻¹; rows below it are known."""
    upper, goal = matrices
    # As far as the four columns reach that a processor takes together.
    end = builder.add(builder.and_(c, _WORD(-LANES)), _WORD(LANES))
    end = builder.select(builder.icmp_signed("<", end, _WORD(dim)), end, _WORD(dim))
    entries = Variable(builder, _NUMBER(0.0))
    with cgutils.for_range_slice(builder, builder.add(r, _WORD(1)), end, _WORD(1)) as (k, _):
        factors = builder.load(at(upper, r, k)), builder.load(at(goal, k, c))
        entries.set(builder.fma(*factors, entries.get()))
    entry = builder.fma(entries.get(), builder.fneg(pivot), _NUMBER(0.0))
    entry = builder.select(builder.icmp_signed("==", r, c), pivot, entry)
    _store_where(builder, inside, entry, at(goal, r, c))


def _absolute(builder: Any, number: Any) -> Any:
    return emit_call(builder, "llvm.fabs.f64", _NUMBER, [number])
