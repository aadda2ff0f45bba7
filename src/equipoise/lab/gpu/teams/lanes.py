"""Threads of a trial in place of the four lanes of a processor's vector.

Functions that are written over lanes (arithmetic/lanes.py) run here unchanged: a vector of four numbers is
one number in each of four threads, :func:`load` reads every thread's own, and :func:`total` adds them in the
order that is written there, ``(0 + 1) + (2 + 3)``. So sums have the same bits.

A trial has four threads, or 8, 16 or 32: then several of them are the same lane, and do the same, but for
what the other files of this room share out among all. All else is done by all threads alike. They read the
same numbers and so take the same ways; where one has written what another reads, they wait for each other
(:data:`SYNCED`, :data:`wait`), or go in step anyway (:data:`in_order`). Trials that share a warp go their own
ways.

What all do alike rests on threads of a trial going in step, as a GPU's do where they take the same way: all
read a number that they count up before any of them writes it. No manual promises that.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from equipoise.core.arithmetic import lanes
from equipoise.core.arithmetic.bits import float_of
from equipoise.core.arms import factor, least_squares
from equipoise.core.draws import normal, streams
from equipoise.core.jit.deferred import deferred
from equipoise.core.jit.kernel import Kernel
from equipoise.core.jit.nvptx import emit_call
from equipoise.core.jit.relinking import Relinker

LANES = lanes.WIDTH
"""Threads that a trial has at least."""
WARP = 32
"""Threads that run together, and that a trial has at most."""

_HALF, _WORD, _NUMBER = ir.IntType(32), ir.IntType(64), ir.DoubleType()
_HALVES = ir.VectorType(_HALF, 2)


def number_of(what: str) -> Any:
    """A number that every thread knows: of ``"tid"`` in its block, ``"ctaid"``, ``"ntid"``, ``"nctaid"``."""

    @intrinsic
    def read(typing_context):
        def generate(context, builder, signature, arguments):
            return builder.zext(register(builder, what), _WORD)

        return types.int64(), generate

    return read


def register(builder: Any, what: str) -> Any:
    """The same for functions that generate code themselves."""
    return emit_call(builder, f"llvm.nvvm.read.ptx.sreg.{what}.x", _HALF, [])


def lane_number(builder: Any) -> Any:
    """Which of the four lanes of its trial a thread is."""
    return builder.and_(register(builder, "tid"), _HALF(LANES - 1))


class Team:
    """The threads that work on a trial: so many, a power of two from 4 to 32."""

    def __init__(self, size: int) -> None:
        self.size = size

    def member(self, builder: Any) -> Any:
        """Which thread of its trial this is."""
        return builder.and_(register(builder, "tid"), _HALF(self.size - 1))

    def total(self, builder: Any, number: Any) -> Any:
        """The numbers of the four lanes, added up."""
        pair = builder.fadd(number, self._exchanged(builder, number, "bfly", _HALF(1), WARP))
        return builder.fadd(pair, self._exchanged(builder, pair, "bfly", _HALF(2), WARP))

    def number_of_lane(self, builder: Any, number: Any, lane: Any) -> Any:
        """The number that a lane has."""
        return self._exchanged(builder, number, "idx", lane, LANES)

    def number_of_member(self, builder: Any, number: Any, member: Any) -> Any:
        """The number that a thread of the trial has."""
        return self._exchanged(builder, number, "idx", member, self.size)

    def number_of_neighbour(self, builder: Any, number: Any, place: Any, size: int) -> Any:
        """The number that a thread has, counted among so many neighbours of the trial."""
        return self._exchanged(builder, number, "idx", place, size)

    def count_of_neighbours(self, builder: Any, count: Any, size: int) -> Any:
        """The counts of so many neighbours, added up."""
        total, bounds = builder.trunc(count, _HALF), _HALF(WARP - 1)
        for step in (1 << k for k in range(size.bit_length() - 1)):
            arguments = [self._mask(builder), total, _HALF(step), bounds]
            total = builder.add(total, emit_call(builder, "llvm.nvvm.shfl.sync.bfly.i32", _HALF, arguments))
        return builder.zext(total, _WORD)

    def any(self, builder: Any, condition: Any) -> Any:
        """Whether a condition holds for any thread of the trial."""
        return emit_call(builder, "llvm.nvvm.vote.any.sync", ir.IntType(1), [self._mask(builder), condition])

    def emit_wait(self, builder: Any) -> None:
        """Wait until all threads of the trial are here, and see what they have written."""
        emit_call(builder, "llvm.nvvm.bar.warp.sync", ir.VoidType(), [self._mask(builder)])

    def _mask(self, builder: Any) -> Any:
        """The bits of the trial's threads in their warp."""
        if self.size == WARP:
            return _HALF(2**WARP - 1)
        first = builder.and_(register(builder, "tid"), _HALF(WARP - self.size))
        return builder.shl(_HALF(2**self.size - 1), first)

    def emit_order(self, builder: Any) -> None:
        """See what other threads of the trial have written before, which are here, too."""
        emit_call(builder, "llvm.nvvm.bar.warp.sync", ir.VoidType(), [self._here(builder)])

    def _here(self, builder: Any) -> Any:
        """The bits of the threads that go in step with this one, those of its trial among them.

        Of a mask that threads might have worked out differently machine code looks first whether they all
        have the same, which takes longer than what they exchange.
        """
        if self.size == WARP:
            return self._mask(builder)
        # Once in every run of instructions: threads may part where one ends.
        block = builder.block
        if not hasattr(block, "threads_here"):
            block.threads_here = emit_call(builder, "llvm.nvvm.activemask", _HALF, [])
        return block.threads_here

    def _exchanged(self, builder: Any, number: Any, how: str, place: Any, within: int) -> Any:
        """The number of another thread, counted among so many neighbours; in two halves."""
        halves, found = builder.bitcast(number, _HALVES), _HALVES(ir.Undefined)
        bounds = _HALF((WARP - within) << 8 | (WARP - 1))
        for half in (_HALF(0), _HALF(1)):
            arguments = [self._here(builder), builder.extract_element(halves, half), place, bounds]
            other = emit_call(builder, f"llvm.nvvm.shfl.sync.{how}.i32", _HALF, arguments)
            found = builder.insert_element(found, other, half)
        return builder.bitcast(found, _NUMBER)


@deferred
def _wait(typing_context):
    def generate(layout, context, builder, signature, arguments):
        layout.team.emit_wait(builder)

    return types.void(), generate


@deferred
def _order(typing_context):
    def generate(layout, context, builder, signature, arguments):
        layout.team.emit_order(builder)

    return types.void(), generate


@deferred
def _member(typing_context):
    def generate(layout, context, builder, signature, arguments):
        return builder.zext(layout.team.member(builder), _WORD)

    return types.int64(), generate


@deferred
def _team_size(typing_context):
    def generate(layout, context, builder, signature, arguments):
        return _WORD(layout.team.size)

    return types.int64(), generate


@deferred
def _of_member(typing_context, number, place):
    def generate(layout, context, builder, signature, arguments):
        return layout.team.number_of_member(builder, arguments[0], builder.trunc(arguments[1], _HALF))

    return types.float64(types.float64, types.intp), generate


# Typed as the functions they are inside compiled code, not as the code generators above.
wait: Any = _wait
"""Wait until all threads of the trial are here, and see what they have written."""
in_order: Any = _order
"""The same where threads of the trial have gone in step since they met: nobody waits."""
member: Any = _member
"""Which thread of its trial this is."""
of_member: Any = _of_member
"""The number that a thread of the trial has."""
team_size: Any = _team_size
"""How many threads the trial has."""


def _own(context: Any, builder: Any, kind: Any, array: Any, offset: Any) -> Any:
    """The address of this thread's entry, of four from an offset on."""
    place = builder.add(offset, builder.zext(lane_number(builder), _WORD))
    return builder.gep(context.make_array(kind)(context, builder, array).data, [place])


@intrinsic
def _load(typing_context, array, offset):
    def generate(context, builder, signature, arguments):
        return builder.load(_own(context, builder, signature.args[0], *arguments))

    return types.float64(array, types.intp), generate


@intrinsic
def _store(typing_context, array, offset, number):
    def generate(context, builder, signature, arguments):
        builder.store(arguments[2], _own(context, builder, signature.args[0], *arguments[:2]))
        return context.get_dummy_value()

    return types.void(array, types.intp, types.float64), generate


@intrinsic
def _spread(typing_context, number):
    def generate(context, builder, signature, arguments):
        return arguments[0]

    return types.float64(types.float64), generate


@intrinsic
def _add_product(typing_context, number, left, right):
    def generate(context, builder, signature, arguments):
        return builder.fma(arguments[1], arguments[2], arguments[0])

    return types.float64(types.float64, types.float64, types.float64), generate


@intrinsic
def _lane_number(typing_context):
    def generate(context, builder, signature, arguments):
        return builder.zext(lane_number(builder), _WORD)

    return types.int64(), generate


@deferred
def _total(typing_context, number):
    def generate(layout, context, builder, signature, arguments):
        return layout.team.total(builder, arguments[0])

    return types.float64(types.float64), generate


@deferred
def _lane(typing_context, number, place):
    def generate(layout, context, builder, signature, arguments):
        return layout.team.number_of_lane(builder, arguments[0], builder.trunc(arguments[1], _HALF))

    return types.float64(types.float64, types.intp), generate


@intrinsic
def _normals(typing_context, table, number):
    def generate(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        return normal.generate_one(builder, data, builder.bitcast(arguments[1], _WORD))

    return types.float64(table, types.float64), generate


one_normal: Any = _normals
"""A normal of the bits of a number, by a thread alone."""


@intrinsic
def _picked(typing_context, first, second, third, fourth):
    def generate(context, builder, signature, arguments):
        lane, word = lane_number(builder), arguments[0]
        for place in range(1, LANES):
            is_mine = builder.icmp_unsigned("==", lane, _HALF(place))
            word = builder.select(is_mine, arguments[place], word)
        return word

    return types.uint64(*(types.uint64,) * LANES), generate


_pick: Any = _picked
_own_lane: Any = _lane_number


def _fill_normals(address: Any, block: int, target: Any, row: int, column: int) -> None:
    """What takes the place of :func:`~equipoise.core.draws.streams.fill_normals`: a lane has a word each."""
    place, end = row * target.shape[1] + column, (row + 1) * target.shape[1]
    while place < end:
        word = _pick(*streams.block_words(address, block))
        if place + _own_lane() < end:
            lanes.store_one(target, place + _own_lane(), one_normal(normal.TABLE_BY_TERMS, float_of(word)))
        block += 1
        place += LANES
    wait()


def _move(coefs: Any, gains: Any, step: float) -> None:
    """What takes the place of :func:`~equipoise.core.arms.least_squares.move`: a thread has some of them."""
    for r in range(member(), coefs.shape[0], team_size()):
        coefs[r] += gains[r] * step
    wait()


SYNCED = (
    factor.gain,
    factor.extend,
    factor.project,
    factor.squared_norm,
    factor.squared_norm_through,
    factor.invert_upper,
    factor.rotate,
    factor.copy,
)
"""Functions in which threads write what other threads read."""


def use_threads(relink: Relinker) -> None:
    """Let copies of compiled functions have threads for lanes."""
    relink.replace_all(
        {
            lanes.load: _load,
            lanes.store: _store,
            lanes.spread: _spread,
            lanes.add_product: _add_product,
            lanes.total: _total,
            lanes.lane: _lane,
            normal.generated: _normals,
        }
    )
    relink.replace(least_squares.move, Kernel(_move, inline=True))
    relink.replace(normal.TABLE, normal.TABLE_BY_TERMS)
    relink.replace(streams.fill_normals, Kernel(relink.function(_fill_normals), inline=True))
    for kernel in SYNCED:
        function: Any = kernel
        relink.replace(kernel, Kernel(_waiting(relink.function(function.py_func)), inline=True))


def _waiting(function: Any) -> Any:
    """The same function; all threads of the trial wait for each other before it and after."""
    inner = Kernel(function, inline=True)
    count = function.__code__.co_argcount
    # Numba compiles no functions of any number of arguments to the same code as these.
    arguments = ", ".join(function.__code__.co_varnames[:count])
    space = {"inner": inner, "wait": wait}
    lines = (f"def synced({arguments}):", "wait()", f"result = inner({arguments})", "wait()", "return result")
    exec("\n    ".join(lines), space)
    synced = space["synced"]
    synced.__module__, synced.__qualname__ = function.__module__, function.__qualname__  # of the copies
    return synced
