"""First units of all arms enter their triangles, one behind the other, as in a pipeline.

The same turns as in core/arms/factor.py: a line, of a context and its outcome, is turned into one row of R
after the other, and every turn begins with a root and quotients that the next one waits for. Here each thread
of a trial has some rows of R, in registers. It turns them into a line, hands what is left of the line on to
the next thread, and takes the next line: so threads work on different lines at the same time. Lines of the
next arm follow those of the arm before without a gap.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from equipoise.core.jit.deferred import deferred
from equipoise.core.jit.nvptx import emit_call
from equipoise.lab.gpu.layout import Layout
from equipoise.lab.gpu.teams.lanes import LANES, WARP, Team
from equipoise.lab.gpu.teams.triangles import Variable, square_of

_MOST_HELD = 64
"""Numbers that a thread should have in registers, of its rows and of the line at hand."""
_AHEAD = 2
"""Lines that are asked for before they are read."""
_SECTOR = 4
"""Numbers that are read from far away at once."""
_HALF, _WORD, _NUMBER = ir.IntType(32), ir.IntType(64), ir.DoubleType()


def passing_team(dim: int) -> Team:
    """As few threads as have room for their rows, or a warp."""
    size = LANES
    while size < WARP and numbers_held(dim, size) > _MOST_HELD:
        size *= 2
    return Team(size)


def numbers_held(dim: int, size: int) -> int:
    """What each of so many threads has in registers."""
    return (-(-dim // size) + 1) * dim


@deferred
def _pass(typing_context, factors, sides, lines, place, units, answers, pivots, lefts, first, end):
    def generate(layout, context, builder, signature, arguments):
        arrays = [
            place if k == _PLACE else context.make_array(signature.args[k])(context, builder, place).data
            for k, place in enumerate(arguments[:-2])
        ]
        stack, lines = (context.make_array(signature.args[k])(context, builder, arguments[k]) for k in (0, 2))
        across = cgutils.unpack_tuple(builder, stack.shape)[1]
        units = cgutils.unpack_tuple(builder, lines.shape)[1]
        _Pipeline(builder, layout, arrays, across, units).emit(*arguments[-2:])

    kinds = factors, sides, lines, types.intp, units, answers, pivots, lefts, types.intp, types.intp
    return types.void(*kinds), generate


_PLACE = 3

# Typed as the function it is inside compiled code, not as the code generator above.
pass_lines: Any = _pass
"""Turn the first d + 1 units of some arms, from the first to before the end, into their triangles.

Unit r of arm i is line ``units[i(d + 1) + r]`` of ``lines[place]``, and ``answers[i(d + 1) + r]`` its
outcome. Writes R and q of every arm, the reciprocals of R's diagonal into ``pivots``, and into ``lefts`` the
sums of squares that are left of the outcomes.
"""


class _Pipeline:
    """The code of it, of one thread."""

    def __init__(self, builder: Any, layout: Layout, arrays: list[Any], across: Any, units: Any) -> None:
        self._builder, self._team = builder, layout.team
        self._dim, self._width = layout.dim, layout.width
        self._arrays, self._across, self._units = arrays, across, units
        self._member = layout.team.member(builder)
        self._own = -(-layout.dim // layout.team.size)
        """Rows of R that a thread has."""
        self._first = builder.mul(self._member, _HALF(self._own))
        nothing = _NUMBER(0.0)
        # Row a begins with its diagonal; the line begins with the column of the first row's.
        self._rows = [[Variable(builder, nothing) for _ in range(self._dim - a)] for a in range(self._own)]
        self._sides = [Variable(builder, nothing) for _ in range(self._own)]
        self._last = (self._dim - 1) // self._own
        """The thread with the last row."""
        self._reads_ahead = self._last + 1 < self._team.size
        """Whether a thread without rows reads lines while others work on those before."""
        length = self._dim + self._own if self._reads_ahead else self._dim
        self._line = [Variable(builder, nothing) for _ in range(length)]
        self._left, self._squares = Variable(builder, nothing), Variable(builder, nothing)
        self._pull = Variable(builder, _HALF(0))

    def emit(self, first: Any, end: Any) -> None:
        """A line enters with every step, until the last one has left."""
        builder, each, last = self._builder, self._dim + 1, self._last
        first, self._end = builder.trunc(first, _HALF), builder.trunc(end, _HALF)
        self._arm = Variable(builder, first)
        count = builder.mul(builder.sub(self._end, first), _HALF(each))
        ahead = Variable(builder, first), Variable(builder, _HALF(0))
        for _ in range(_AHEAD):
            self._ask(*(number.get() for number in ahead))
            _count_on(builder, *ahead, each)
        if self._reads_ahead:
            self._read_ahead(each)
        with cgutils.for_range(builder, builder.add(count, _HALF(last))) as loop:
            self._hand_on()
            number = builder.sub(loop.index, self._member)
            works = builder.icmp_unsigned("<", number, count)
            if self._reads_ahead:
                works = builder.and_(works, builder.icmp_unsigned("<=", self._member, _HALF(last)))
                self._read_ahead(each)
            with builder.if_then(builder.icmp_unsigned("<", ahead[0].get(), self._end)):
                self._ask(*(number.get() for number in ahead))
            _count_on(builder, *ahead, each)
            with builder.if_then(works):
                if not self._reads_ahead:
                    with builder.if_then(builder.icmp_unsigned("==", self._member, _HALF(0))):
                        self._take(self._line)
                for a in range(self._own):
                    self._turn(a)
                left = self._left.get()
                self._squares.set(builder.fadd(self._squares.get(), builder.fmul(left, left)))
                arm = self._arm.get()
                _count_on(builder, self._arm, self._pull, each)
                with builder.if_then(builder.icmp_unsigned("==", self._pull.get(), _HALF(0))):
                    self._finish(arm, last)

    def _hand_on(self) -> None:
        """Get from the thread before what is left of its line."""
        builder, own = self._builder, self._own
        self._team.emit_wait(builder)  # threads have gone different ways
        before = builder.and_(builder.sub(self._member, _HALF(1)), _HALF(self._team.size - 1))
        left = [number.get() for number in self._line[own:]]
        given = [self._team.number_of_member(builder, number, before) for number in left]
        for k, number in enumerate(self._line):
            number.set(given[k] if k < len(given) else _NUMBER(0.0))
        self._left.set(self._team.number_of_member(builder, self._left.get(), before))

    def _line_of(self, arm: Any, pull: Any) -> Any:
        """The address of the line of a unit."""
        builder = self._builder
        *_, lines, place, units, _, _, _ = self._arrays
        number = builder.load(builder.gep(units, [builder.zext(self._number(arm, pull), _WORD)]))
        t = builder.zext(number, _WORD)
        number = builder.add(builder.mul(self._units, place), t)
        return builder.gep(lines, [builder.mul(number, _WORD(self._dim))])

    def _number(self, arm: Any, pull: Any) -> Any:
        """The place of a unit among the first ones of all arms."""
        builder = self._builder
        return builder.add(builder.mul(arm, _HALF(self._dim + 1)), pull)

    def _ask(self, arm: Any, pull: Any) -> None:
        """Have a line brought near, a sector by every thread."""
        builder, line = self._builder, self._line_of(arm, pull)
        place = builder.mul(self._member, _HALF(_SECTOR))
        inside = builder.icmp_unsigned("<", place, _HALF(self._dim))
        place = builder.select(inside, place, _HALF(self._dim - 1))
        address = builder.ptrtoint(builder.gep(line, [builder.zext(place, _WORD)]), _WORD)
        kind = ir.FunctionType(ir.VoidType(), [_WORD])
        builder.asm(kind, "prefetch.global.L1 [$0];", "l", [address], True)

    def _read_ahead(self, each: int) -> None:
        """The last thread, from which the first one gets its lines, reads the next one."""
        builder = self._builder
        is_reader = builder.icmp_unsigned("==", self._member, _HALF(self._team.size - 1))
        is_there = builder.icmp_unsigned("<", self._arm.get(), self._end)
        with builder.if_then(builder.and_(is_reader, is_there)):
            self._take(self._line[self._own :])
            _count_on(builder, self._arm, self._pull, each)

    def _take(self, goal: list[Variable]) -> None:
        """Read a line, and its outcome."""
        builder, arm, pull = self._builder, self._arm.get(), self._pull.get()
        line = self._line_of(arm, pull)
        for c, number in enumerate(goal):
            number.set(builder.load(builder.gep(line, [_WORD(c)])))
        place = self._number(arm, pull)
        self._left.set(builder.load(builder.gep(self._arrays[5], [builder.zext(place, _WORD)])))

    def _turn(self, a: int) -> None:
        """Bring an entry of the line to zero, by row a of this thread."""
        builder, row, line = self._builder, self._rows[a], self._line[a : self._dim]
        pivot, entry = row[0].get(), line[0].get()
        square, needed = square_of(builder, pivot, entry)
        with builder.if_then(needed):
            length = emit_call(builder, "sqrt", _NUMBER, [square])
            cosine, sine = builder.fdiv(pivot, length), builder.fdiv(entry, length)
            row[0].set(length)
            for above, below in (*zip(row[1:], line[1:], strict=True), (self._sides[a], self._left)):
                high, low = above.get(), below.get()
                above.set(builder.fadd(builder.fmul(cosine, high), builder.fmul(sine, low)))
                below.set(builder.fsub(builder.fmul(cosine, low), builder.fmul(sine, high)))

    def _finish(self, arm: Any, last: int) -> None:
        """Write what an arm's lines have left, and begin with the next arm."""
        builder, dim = self._builder, self._dim
        factors, sides, *_, pivots, lefts = self._arrays
        matrix = builder.mul(builder.mul(self._across, builder.zext(arm, _WORD)), _WORD(dim * self._width))
        first = builder.gep(factors, [matrix])
        for a, row in enumerate(self._rows):
            number = builder.add(self._first, _HALF(a))
            with _if_inside(builder, number, dim, sure=self._own * self._team.size == dim):
                place = builder.add(builder.mul(number, _HALF(self._width)), number)
                start = builder.gep(first, [builder.zext(place, _WORD)])
                for c, entry in enumerate(row):
                    with _if_inside(builder, builder.add(number, _HALF(c)), dim, sure=c == 0):
                        builder.store(entry.get(), builder.gep(start, [_WORD(c)]))
                place = builder.zext(builder.add(builder.mul(arm, _HALF(dim)), number), _WORD)
                builder.store(self._sides[a].get(), builder.gep(sides, [place]))
                reciprocal = builder.fdiv(_NUMBER(1.0), row[0].get())
                builder.store(reciprocal, builder.gep(pivots, [place]))
        with builder.if_then(builder.icmp_unsigned("==", self._member, _HALF(last))):
            builder.store(self._squares.get(), builder.gep(lefts, [builder.zext(arm, _WORD)]))
        for number in (*(entry for row in self._rows for entry in row), *self._sides, self._squares):
            number.set(_NUMBER(0.0))


def _count_on(builder: Any, arm: Variable, pull: Variable, each: int) -> None:
    """The next unit of an arm, or the first one of the next."""
    after = builder.add(pull.get(), _HALF(1))
    is_over = builder.icmp_unsigned("==", after, _HALF(each))
    pull.set(builder.select(is_over, _HALF(0), after))
    arm.set(builder.add(arm.get(), builder.zext(is_over, _HALF)))


def _if_inside(builder: Any, number: Any, end: int, *, sure: bool) -> Any:
    """Code for numbers below an end."""
    condition = ir.IntType(1)(1) if sure else builder.icmp_unsigned("<", number, _HALF(end))
    return builder.if_then(condition)
