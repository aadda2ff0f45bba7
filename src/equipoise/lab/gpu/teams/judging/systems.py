"""A ridge estimate in the registers of some threads, while their neighbours have those of other arms.

The same sums as in core/estimates/ridge.py and core/arithmetic/solving.py, each in the same order. There one
entry of Cholesky's factor is finished after the other; here a column is, and then its products are taken off
all entries to come, so that none waits for another. An entry still loses its products in their order.

Every thread has every so-manieth row of the system, as far as the diagonal. What all need of a column goes
through the memory beside the processors. What no thread needs, such as entries above the diagonal, is
computed along, but never a root or a quotient of it: those of zeros take many times longer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from equipoise.core.arithmetic import solving
from equipoise.core.jit.deferred import deferred
from equipoise.core.jit.nvptx import emit_call
from equipoise.lab.gpu.layout import Layout
from equipoise.lab.gpu.teams.lanes import LANES, WARP, Team
from equipoise.lab.gpu.teams.triangles import Variable

_HELD = 48
"""Numbers of a system that a thread should keep, at most."""
_ASKED = 16
"""Pairs of numbers of an arm's factor that a thread asks for at once."""
_MOST_FEATURES = 40
"""Whose systems registers have room for."""
_SECTOR = 4
"""Numbers that a GPU reads at once."""
_HALF, _WORD, _NUMBER = ir.IntType(32), ir.IntType(64), ir.DoubleType()
_PAIR = ir.VectorType(_NUMBER, 2)


@dataclass(frozen=True)
class Room:
    """How a warp's threads are shared out among arms of so many features, and what each arm needs."""

    dim: int
    arms: int

    @property
    def threads(self) -> int:
        """Of an arm: as few as can keep its system, and more where there are not so many arms."""
        size = LANES
        while size < WARP and (self._numbers(size) > _HELD or WARP // size >= 2 * self.arms):
            size *= 2
        return size

    @property
    def groups(self) -> int:
        """Arms that are judged at the same time."""
        return WARP // self.threads

    @property
    def row(self) -> int:
        """Numbers from a row of the factor to the next one."""
        return _apart(self.dim)

    @property
    def matrix(self) -> int:
        """Numbers from an arm's factor to the next one's."""
        return _apart(self.dim * self.row)

    @property
    def vector(self) -> int:
        """Numbers from an arm's coefficients to the next one's."""
        return _apart(self.dim)

    @property
    def triangle(self) -> int:
        """Numbers from an arm's triangle to the next one's."""
        last = self.dim - 1
        return _apart(self.column(last) + self.dim + self.dim % 2)

    def column(self, c: int) -> int:
        """Where a column of a triangle, which has rows from c on, would begin if it had those before."""
        even = self.dim + self.dim % 2
        return sum(even - (k - k % 2) for k in range(c)) - (c - c % 2)

    def _numbers(self, size: int) -> int:
        return sum(min(self.dim, first + size) for first in range(0, self.dim, size))


def room_of(state: Any, judge: Any) -> Room | None:
    """The room of arms that are judged side by side; None where they cannot be."""
    dim = state.factors.shape[2]
    if dim > _MOST_FEATURES or len(state.whitener) or len(judge.error_root):
        return None
    return Room(dim, len(state.arms))


def room_in(layout: Layout) -> Room | None:
    """The same for those of a layout."""
    return room_of(layout.groups["state"], layout.groups["judge"])


def _apart(numbers: int) -> int:
    """So many numbers or a few more: pairs at such distances lie in different banks."""
    pairs = -(-numbers // 2)
    return 2 * (pairs + 1 - pairs % 2)


@deferred
def _solved(typing_context, factors, coefs, i, b, ready, ridge, root, system, least_squares, coef, squares):
    def generate(layout, context, builder, signature, arguments):
        room = room_in(layout)
        if room is None:
            return
        arrays = {
            k: context.make_array(kind)(context, builder, arguments[k])
            for k, kind in enumerate(signature.args)
            if isinstance(kind, types.Array)
        }
        data = [arrays[k].data if k in arrays else one for k, one in enumerate(arguments)]
        _, coefs, i, b, ready, ridge, *near = data
        kept = _kept(builder, layout, arrays[0], i, b)
        known = builder.gep(coefs, [builder.mul(i, _WORD(room.dim))])
        _Arm(builder, room, layout.team, near).solve((kept, known), layout.width, ready, ridge)

    number, place = types.float64, types.intp
    kinds = factors, coefs, place, place, types.boolean, number, root, system, least_squares, coef, squares
    return types.void(*kinds), generate


# Typed as the function it is inside compiled code, not as the code generator above.
solve: Any = _solved
"""Write β̂^λ of an arm, β̂, and the squared lengths of the rows of V.

All threads of a warp come here, with the arms of their groups; the places have room for those of each.
Who reads the results waits before.
"""


@deferred
def _fetched(typing_context, factors, i, b):
    def generate(layout, context, builder, signature, arguments):
        room = room_in(layout)
        if room is None:
            return
        stack = context.make_array(signature.args[0])(context, builder, arguments[0])
        lane = builder.and_(layout.team.member(builder), _HALF(room.threads - 1))
        own = builder.zext(builder.mul(lane, _HALF(_SECTOR)), _WORD)
        start = _kept(builder, layout, stack, *arguments[1:])
        length, step = room.dim * layout.width, room.threads * _SECTOR
        for first in range(0, length, step):
            place = builder.add(own, _WORD(first))
            if first + step > length:
                inside = builder.icmp_unsigned("<", place, _WORD(length))
                place = builder.select(inside, place, _WORD(0))
            address = builder.ptrtoint(builder.gep(start, [place]), _WORD)
            kind = ir.FunctionType(ir.VoidType(), [_WORD])
            builder.asm(kind, "prefetch.global.L2 [$0];", "l", [address], True)

    return types.void(factors, types.intp, types.intp), generate


# Typed as the function it is inside compiled code, not as the code generator above.
fetch_factor: Any = _fetched
"""Ask for an arm's factor, which is far away and will be needed soon."""


def _kept(builder: Any, layout: Layout, stack: Any, i: Any, b: Any) -> Any:
    """The address of an arm's factor where it is kept."""
    across = cgutils.unpack_tuple(builder, stack.shape)[1]
    matrix = builder.add(builder.mul(across, i), b)
    return builder.gep(stack.data, [builder.mul(matrix, _WORD(layout.dim * layout.width))])


class _Arm:
    """The code for an arm, whose rows are shared out among a few threads."""

    def __init__(self, builder: Any, room: Room, team: Team, near: list[Any]) -> None:
        self._builder, self._room, self._team = builder, room, team
        self._dim, size = room.dim, room.threads
        # Read here each time: what follows from it would be found once and kept, in too many registers.
        kind = ir.FunctionType(_HALF, [])
        thread = builder.asm(kind, "mov.u32 $0, %tid.x;", "=r", [], side_effect=True)
        member = builder.and_(thread, _HALF(team.size - 1))
        self._lane = builder.and_(member, _HALF(size - 1))
        group = builder.lshr(member, _HALF(size.bit_length() - 1))
        lengths = room.matrix, room.triangle, *(room.vector,) * 3
        self._root, self._triangle, self._least_squares, self._coef, self._squares = (
            builder.gep(start, [builder.zext(builder.mul(group, _HALF(length)), _WORD)])
            for start, length in zip(near, lengths, strict=True)
        )
        self._rows = []
        for first in range(0, self._dim, size):
            row = builder.add(self._lane, _HALF(first))
            if first + size > self._dim:  # who has no row does what the thread of the last one does
                inside = builder.icmp_unsigned("<", row, _HALF(self._dim))
                row = builder.select(inside, row, _HALF(self._dim - 1))
            self._rows.append(row)
        self._places = [builder.zext(row, _WORD) for row in self._rows]
        self._ends = [min(self._dim, first + size) for first in range(0, self._dim, size)]

    def solve(self, far: tuple[Any, Any], width: int, ready: Any, ridge: Any) -> None:
        builder, one = self._builder, _NUMBER(1.0)
        self._copy(*far, width)
        self._wait()
        scale, diagonal = builder.select(ready, ridge, one), builder.select(ready, one, ridge)
        along, system = self._weigh(scale, diagonal)
        solution = self._back(self._columns(along, system))
        with builder.if_else(ready) as (then, otherwise):
            with then:
                self._take_off(solution, ridge)
            with otherwise:
                for r, number in enumerate(solution):
                    builder.store(number, builder.gep(self._coef, [_WORD(r)]))

    def _copy(self, kept: Any, known: Any, width: int) -> None:
        """Bring an arm's factor and coefficients beside the processor; asked for before any is written."""
        builder, room = self._builder, self._room
        pairs, columns = -(-self._dim // 2), []
        for first in range(0, pairs, room.threads):
            pair = builder.add(self._lane, _HALF(first))
            if first + room.threads > pairs:
                inside = builder.icmp_unsigned("<", pair, _HALF(pairs))
                pair = builder.select(inside, pair, _HALF(pairs - 1))
            column = builder.zext(builder.shl(pair, _HALF(1)), _WORD)
            columns.append((builder.gep(kept, [column]), builder.gep(self._root, [column])))
        turns = [(r, *column) for r in range(self._dim) for column in columns]
        for begin in range(0, len(turns), _ASKED):
            asked = turns[begin : begin + _ASKED]
            found = [self._load_pair(builder.gep(source, [_WORD(r * width)])) for r, source, _ in asked]
            for pair, (r, _, goal) in zip(found, asked, strict=True):
                place = builder.gep(goal, [_WORD(r * room.row)])
                builder.store(pair, builder.bitcast(place, _PAIR.as_pointer()), align=16)
        for place in self._places:
            number = builder.load(builder.gep(known, [place]))
            builder.store(number, builder.gep(self._least_squares, [place]))

    def _weigh(self, scale: Any, diagonal: Any) -> tuple[list[Any], list[list[Any]]]:
        """A thread's entries of Vᵀβ̂, and its rows of aVᵀV + bI, for numbers a and b."""
        builder, nothing = self._builder, _NUMBER(0.0)
        along = [Variable(builder, nothing) for _ in self._rows]
        system = [
            [Variable(builder, builder.select(self._is(row, c), diagonal, nothing)) for c in range(end)]
            for row, end in zip(self._rows, self._ends, strict=True)
        ]
        with cgutils.for_range(builder, _WORD(self._dim)) as loop:
            start = builder.gep(self._root, [builder.mul(loop.index, _WORD(self._room.row))])
            entry = builder.load(builder.gep(self._least_squares, [loop.index]))
            line = self._line(start, 0)
            for place, side, numbers in zip(self._places, along, system, strict=True):
                own = builder.load(builder.gep(start, [place]))
                side.set(builder.fadd(side.get(), builder.fmul(own, entry)))
                weighted = builder.fmul(own, scale)
                for c, number in enumerate(numbers):
                    number.set(builder.fadd(number.get(), builder.fmul(weighted, line[c])))
        return [side.get() for side in along], [[number.get() for number in row] for row in system]

    def _columns(self, along: list[Any], system: list[list[Any]]) -> list[Any]:
        """The triangle's diagonal, column by column; the others of its numbers are in the triangle's room.

        There, the solution of Lx = Vᵀβ̂ takes the place of the diagonal.
        """
        builder, size, pivots = self._builder, self._room.threads, []
        bounds = []
        for row, numbers, first in zip(self._rows, system, range(0, self._dim, size), strict=True):
            entry = numbers[first]
            for c in range(first + 1, len(numbers)):
                entry = builder.select(self._is(row, c), numbers[c], entry)
            bounds.append(builder.fmul(_NUMBER(solving.OPEN), entry))
        for c in range(self._dim):
            own, owner = divmod(c, size)
            entry = system[own][c]
            is_open = builder.fcmp_ordered("<=", entry, bounds[own])
            # The root of an infinite entry is what the pivot of an open direction is to be.
            entry = builder.select(is_open, _NUMBER(float("inf")), entry)
            entry = self._team.number_of_neighbour(builder, entry, _HALF(owner), size)
            pivot = emit_call(builder, "sqrt", _NUMBER, [entry])
            pivots.append(pivot)
            column = builder.gep(self._triangle, [_WORD(self._room.column(c))])
            mine = self._is(self._rows[own], c)
            below = builder.icmp_unsigned(">", self._rows[own], _HALF(c))
            quotients = []
            for k in range(own, len(system)):
                number = system[k][c]
                if k == own:  # whose row has come to its end divides its side, and who is past it, a one
                    number = builder.select(mine, along[k], builder.select(below, number, _NUMBER(1.0)))
                quotients.append(builder.fdiv(number, pivot))
                self._store_where(
                    builder.or_(mine, below) if k == own and owner else None,
                    quotients[-1],
                    builder.gep(column, [self._places[k]]),
                )
            self._wait()
            line = self._line(column, c)
            for k, quotient in enumerate(quotients, own):
                along[k] = builder.fsub(along[k], builder.fmul(quotient, line[c]))
                for later in range(c + 1, self._ends[k]):
                    taken = builder.fmul(quotient, line[later])
                    system[k][later] = builder.fsub(system[k][later], taken)
        return pivots

    def _back(self, pivots: list[Any]) -> list[Any]:
        """The whole solution, which every thread has."""
        builder = self._builder
        found: dict[int, Any] = {}
        for r in reversed(range(self._dim)):
            line = self._line(builder.gep(self._triangle, [_WORD(self._room.column(r))]), r)
            entry = line[r]
            for k in range(r + 1, self._dim):
                entry = builder.fsub(entry, builder.fmul(line[k], found[k]))
            found[r] = builder.fdiv(entry, pivots[r])
        return [found[r] for r in range(self._dim)]

    def _take_off(self, solution: list[Any], ridge: Any) -> None:
        """Write a thread's entries of β̂ − λV·solution, and what its rows of V are long."""
        builder = self._builder
        for row, place in zip(self._rows, self._places, strict=True):
            first = builder.zext(builder.mul(row, _HALF(self._room.row)), _WORD)
            entry = square = _NUMBER(0.0)
            line = self._line(builder.gep(self._root, [first]), 0)
            for k, number in enumerate(solution):
                entry = builder.fadd(entry, builder.fmul(line[k], number))
                square = builder.fadd(square, builder.fmul(line[k], line[k]))
            coef = builder.load(builder.gep(self._least_squares, [place]))
            coef = builder.fsub(coef, builder.fmul(ridge, entry))
            builder.store(coef, builder.gep(self._coef, [place]))
            builder.store(square, builder.gep(self._squares, [place]))

    def _line(self, start: Any, first: int) -> dict[int, Any]:
        """Numbers that lie one after the other, from one on to the last; read in pairs."""
        builder, found = self._builder, {}
        for k in range(first - first % 2, self._dim, 2):
            pair = self._load_pair(builder.gep(start, [_WORD(k)]))
            for half in (0, 1):
                found[k + half] = builder.extract_element(pair, _HALF(half))
        return found

    def _load_pair(self, place: Any) -> Any:
        return self._builder.load(self._builder.bitcast(place, _PAIR.as_pointer()), align=16)

    def _store_where(self, condition: Any, number: Any, place: Any) -> None:
        if condition is None:
            self._builder.store(number, place)
            return
        with self._builder.if_then(condition):
            self._builder.store(number, place)

    def _is(self, row: Any, c: int) -> Any:
        return self._builder.icmp_unsigned("==", row, _HALF(c))

    def _wait(self) -> None:
        self._team.emit_wait(self._builder)
