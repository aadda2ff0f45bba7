"""Lines of normals that the threads of a warp draw together.

A line, the context of a unit or the truth of an arm, is cut into *pieces* of a few blocks of words. A thread
makes the words of a piece and leaves them beside the processor, where they stand as they will in memory. Then
the threads take these words in turns, the k-th thread the k-th, and make normals of them: all have something
to do however long a line is, and what they write at once lies side by side.

Memory takes 32 bytes at a time: threads that write eight bytes of a line each, a line apart from each other,
keep it busy four times as long.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from llvmlite import ir
from numba import types
from numba.core import cgutils

from equipoise.core.draws.normal import generate_one
from equipoise.core.draws.streams import BLOCK
from equipoise.core.jit.deferred import deferred
from equipoise.lab.gpu.layout import Layout
from equipoise.lab.gpu.memory import near_memory
from equipoise.lab.gpu.teams.lanes import WARP, register

MOST_BLOCKS = 5
"""That a piece has: words wait beside the processors, where more would leave room for fewer warps."""
_MOST_AT_ONCE = 5
"""Words that a thread makes normals of together: it waits for their coefficients at the same time."""
_BANKS = 16
"""Words that threads read at the same time without waiting, from the memory beside the processors."""
_WORD, _HALF = ir.IntType(64), ir.IntType(32)
_ENTRY, _LINE = 8, 32  # bytes


@dataclass(frozen=True)
class Cut:
    """How the lines of an array are cut into pieces; some begin with a one that is not drawn."""

    dim: int
    ones: int

    @property
    def _blocks(self) -> int:
        return max(1, -(-self.drawn // BLOCK))

    @property
    def drawn(self) -> int:
        """Numbers of a line that are drawn."""
        return self.dim - self.ones

    @property
    def blocks(self) -> int:
        """Blocks of a piece: of few pieces, of which the last one has few too many."""
        # To find its place costs a piece about as much as a block.
        return min(range(1, MOST_BLOCKS + 1), key=lambda each: (-(-self._blocks // each) * (each + 1), -each))

    @property
    def pieces(self) -> int:
        """Pieces of a line."""
        return -(-self._blocks // self.blocks)

    @property
    def last(self) -> int:
        """Numbers that are drawn for the last piece of a line."""
        return self.drawn - (self.pieces - 1) * self.blocks * BLOCK

    @property
    def are_pairs(self) -> bool:
        """Whether two words can be written at once: memory begins at multiples of 16 bytes."""
        return self.dim % 2 == 0 and not self.ones

    def place(self, pieces: int) -> int:
        """Where the piece after so many others begins, counted from the first entry of the first line."""
        line, piece = divmod(pieces, self.pieces)
        return line * self.dim + (self.ones + piece * self.blocks * BLOCK if piece else 0)

    @property
    def words(self) -> int:
        """Entries that the pieces of a warp fill, at most."""
        return max(self.place(first + WARP) - self.place(first) for first in range(self.pieces))

    @property
    def at_once(self) -> int:
        """Words that a thread takes at the same time; what is left over is taken one by one."""
        turns = self.words // WARP
        return min(range(1, _MOST_AT_ONCE + 1), key=lambda each: (sum(divmod(turns, each)), -each))

    @property
    def is_spread(self) -> bool:
        """Whether words need gaps between them, for threads not to leave theirs in the same banks."""
        apart = self.dim if self.pieces == 1 else self.blocks * BLOCK
        return apart % (_BANKS // 2) == 0

    @property
    def bytes(self) -> int:
        """Memory that a warp needs beside the processor."""
        words = self.words + (self.words // _BANKS * 2 if self.is_spread else 0)
        return -(-words * _ENTRY // _LINE) * _LINE


class Drawing(NamedTuple):
    """What compiled code calls, for the lines of an array."""

    pieces: Any
    """How many a line has."""
    find: Any
    """The line of a piece of a trial, and which of the line's it is."""
    has_block: Any
    """Whether a piece has that many blocks and one more."""
    blocks: Any
    """How many it has."""
    leave: Any
    """Leave a block of words beside the processor."""
    write: Any
    """Write the normals of all words that a warp has left there."""


def cuts_of(layout: Layout) -> dict[str, Cut]:
    """How the arrays of a world are cut that are drawn."""
    world = layout.groups["world"]
    ones = int(layout.known["world"]["setting"]["intercept"])
    dim = world.contexts.shape[2]
    return {"contexts": Cut(dim, ones), "coefs": Cut(dim, 0)}


def drawing_of(name: str) -> Drawing:
    """What draws the lines of an array."""

    def constant(of: Any) -> Any:
        @deferred
        def number(typing_context):
            def generate(layout, context, builder, signature, arguments):
                return _WORD(of(cuts_of(layout)[name]))

            return types.int64(), generate

        return number

    @deferred
    def find(typing_context, piece):
        def generate(layout, context, builder, signature, arguments):
            pieces = _WORD(cuts_of(layout)[name].pieces)
            parts = [builder.udiv(arguments[0], pieces), builder.urem(arguments[0], pieces)]
            return context.make_tuple(builder, signature.return_type, parts)

        return types.UniTuple(types.int64, 2)(types.int64), generate

    @deferred
    def has_block(typing_context, number):
        def generate(layout, context, builder, signature, arguments):
            return builder.icmp_unsigned("<", arguments[0], _WORD(cuts_of(layout)[name].blocks))

        return types.boolean(types.int64), generate

    @deferred
    def leave(typing_context, first, number, words):
        def generate(layout, context, builder, signature, arguments):
            first, number, words = arguments
            _Warp(layout, builder, cuts_of(layout)[name], first).leave(
                number, cgutils.unpack_tuple(builder, words)
            )
            return None

        return types.void(types.int64, types.int64, types.UniTuple(types.uint64, BLOCK)), generate

    @deferred
    def write(typing_context, array, first, line, rest, table):
        def generate(layout, context, builder, signature, arguments):
            array, first, line, rest, table = arguments
            data, coefficients = (
                context.make_array(kind)(context, builder, each).data
                for kind, each in ((signature.args[0], array), (signature.args[4], table))
            )
            _Warp(layout, builder, cuts_of(layout)[name], first).write(data, line, rest, coefficients)
            return None

        return types.void(array, types.int64, types.int64, types.int64, table), generate

    return Drawing(
        constant(lambda cut: cut.pieces), find, has_block, constant(lambda cut: cut.blocks), leave, write
    )


class _Warp:
    """The threads of a warp, while code is generated; ``first`` is the first one's piece of its line."""

    def __init__(self, layout: Layout, builder: Any, cut: Cut, first: Any) -> None:
        self._builder, self._cut = builder, cut
        self._first = builder.trunc(first, _HALF)
        thread = register(builder, "tid")
        self._lane = builder.and_(thread, _HALF(WARP - 1))
        own = builder.mul(builder.udiv(thread, _HALF(WARP)), _HALF(layout.share.size))
        start = builder.gep(near_memory(builder), [_HALF(0), own], inbounds=True)
        self._room = builder.bitcast(start, ir.PointerType(_WORD, addrspace=start.type.addrspace))

    def leave(self, number: Any, words: list[Any]) -> None:
        """Leave a block of a thread's words, its first or a later one."""
        builder, cut = self._builder, self._cut
        piece = builder.add(self._first, self._lane)
        line, piece = (op(piece, _HALF(cut.pieces)) for op in (builder.udiv, builder.urem))
        column = builder.mul(builder.trunc(number, _HALF), _HALF(BLOCK))
        place = builder.sub(builder.mul(line, _HALF(cut.dim)), self._before())
        place = builder.add(place, builder.mul(piece, _HALF(cut.blocks * BLOCK)))
        place = builder.add(builder.add(place, column), _HALF(cut.ones))
        size = 2 if cut.are_pairs else 1
        is_whole = builder.icmp_unsigned("<", piece, _HALF(cut.pieces - 1))
        for k in range(0, BLOCK, size):
            is_drawn = builder.icmp_signed("<", builder.add(column, _HALF(k)), _HALF(cut.last))
            with builder.if_then(builder.or_(is_whole, is_drawn)):
                room = self._at(builder.add(place, _HALF(k)))
                if size == 1:
                    builder.store(words[k], room)
                    continue
                pair = ir.VectorType(_WORD, size)
                value = pair(ir.Undefined)
                for each in range(size):
                    value = builder.insert_element(value, words[k + each], _HALF(each))
                room = builder.bitcast(room, ir.PointerType(pair, addrspace=room.type.addrspace))
                builder.store(value, room, align=size * _ENTRY)

    def write(self, data: Any, line: Any, rest: Any, table: Any) -> None:
        """Write the normals of what the warp has left; ``rest`` lines are left from the first one on."""
        builder, cut = self._builder, self._cut
        before = self._before()
        start = builder.add(builder.mul(line, _WORD(cut.dim)), builder.zext(before, _WORD))
        goal = builder.gep(data, [start])
        end = builder.sub(builder.mul(rest, _WORD(cut.dim)), builder.zext(before, _WORD))
        count = builder.sub(self._begin(builder.add(self._first, _HALF(WARP))), before)
        is_short = builder.icmp_unsigned("<", end, builder.zext(count, _WORD))
        count = builder.select(is_short, builder.trunc(end, _HALF), count)
        # As much as possible is taken some words at a time, and nobody asks whether they are there.
        together = WARP * cut.at_once
        with builder.goto_entry_block():
            done = builder.alloca(_HALF)
        builder.store(self._lane, done)
        end = builder.sub(count, _HALF(together - WARP))
        with cgutils.for_range_slice(builder, self._lane, end, _HALF(together)) as (first, _):
            places = [builder.add(first, _HALF(WARP * k)) for k in range(cut.at_once)]
            self._turn(places, goal, before, table)
            builder.store(builder.add(first, _HALF(together)), done)
        first = builder.load(done)
        with cgutils.for_range_slice(builder, first, count, _HALF(WARP)) as (place, _):
            self._turn([place], goal, before, table)

    def _turn(self, places: list[Any], goal: Any, before: Any, table: Any) -> None:
        """Make normals of words, and write them."""
        builder, cut = self._builder, self._cut
        words = [builder.load(self._at(place)) for place in places]
        normals = [generate_one(builder, table, word) for word in words]
        for place, number in zip(places, normals, strict=True):
            if cut.ones:
                column = builder.urem(builder.add(place, before), _HALF(cut.dim))
                is_one = builder.icmp_unsigned("==", column, _HALF(0))
                number = builder.select(is_one, ir.DoubleType()(1.0), number)
            builder.store(number, builder.gep(goal, [builder.zext(place, _WORD)]))

    def _begin(self, pieces: Any) -> Any:
        """What :meth:`Cut.place` says."""
        builder, cut = self._builder, self._cut
        line, piece = (op(pieces, _HALF(cut.pieces)) for op in (builder.udiv, builder.urem))
        ones = builder.select(builder.icmp_unsigned("==", piece, _HALF(0)), _HALF(0), _HALF(cut.ones))
        column = builder.add(builder.mul(piece, _HALF(cut.blocks * BLOCK)), ones)
        return builder.add(builder.mul(line, _HALF(cut.dim)), column)

    def _before(self) -> Any:
        """Entries of the first piece's line that are others'."""
        return self._begin(self._first)

    def _at(self, place: Any) -> Any:
        """Where an entry stands beside the processor."""
        builder = self._builder
        if self._cut.is_spread:
            gaps = builder.mul(builder.udiv(place, _HALF(_BANKS)), _HALF(2))
            place = builder.add(place, gaps)
        return builder.gep(self._room, [place], inbounds=True)
