"""Where the arrays of trials lie on a GPU, and how functions find them.

Every trial of a block has arrays of its own in the GPU's memory. Small ones that every decision reads and
writes lie in the memory beside the processors (*shared* memory) while the trial runs: every team of threads
has a *share* of it. What a whole block of trials has in common is there once.

A program has a table among its constants, with a row for every array: its address, the bytes from one trial's
to the next one's, and its shape. Numbers of arms and features are written into the program itself, so that
loops over them are short and known; those of units and trials are not, so that a program serves every budget.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from equipoise.core.arrays import Counts
from equipoise.core.jit.addresses import array_at
from equipoise.core.jit.handles import Handle
from equipoise.core.jit.nvptx import CONSTANT, TABLE
from equipoise.lab.gpu.lanes import WARP, Team

_WORD, _BYTE = ir.IntType(64), ir.IntType(8)
_WORDS = ir.PointerType(_WORD)
_GLOBAL, _SHARED = 1, 3
_MEMORY = "equipoise_shared"
_LINE = 32
"""Bytes that a GPU reads at once."""
_BANKS = 128
_ENTRY = 8  # bytes
"""Bytes that threads read at the same time without waiting, from the memory beside the processors."""

ADDRESS, STRIDE, SHAPE, COLUMNS = 0, 1, 2, 8
"""What stands where in a row of the table."""

Groups = Mapping[str, Any]
"""Named tuples of arrays, by what functions call them: those of one trial, or of all."""


@dataclass(frozen=True)
class Places:
    """Where the arrays of a group lie."""

    own: frozenset[str] = frozenset()
    """Those that every trial has for itself."""
    near: frozenset[str] = frozenset()
    """Of these, those that lie beside the processors while the trial runs."""
    kept: frozenset[str] = frozenset()
    """Of these, those that somebody reads when the trial is over."""
    same: Mapping[str, str] = field(default_factory=dict)
    """Those of which every row is one and the same other array."""
    held: frozenset[str] = frozenset()
    """Single records that the loop over the units keeps in registers."""
    fixed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Fields of these that the loop does not change."""
    drawn: frozenset[str] = frozenset()
    """Those that were drawn for every trial of a block."""
    long: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Axes along which some have units or trials; other lengths are numbers in the program."""

    @property
    def lasting(self) -> frozenset[str]:
        """Those that every trial has in the GPU's memory."""
        return (self.own - self.near - self.same.keys()) | self.kept

    def without(self, names: Iterable[str]) -> Places:
        """The same with some of them no longer beside the processors."""
        return replace(self, near=self.near.difference(names))

    def constants(self, name: str, shape: tuple[int, ...]) -> tuple[int | None, ...]:
        """The lengths of an array that are written into programs; None for the others."""
        long = () if 0 in shape else self.long.get(name, ())
        return tuple(None if axis in long else length for axis, length in enumerate(shape))


def all_arrays(groups: Groups) -> Iterator[tuple[str, str, Any]]:
    """Group, name and array, in the order of the table."""
    for group, arrays in groups.items():
        for name, array in zip(arrays._fields, arrays, strict=True):
            yield group, name, array


@dataclass(frozen=True)
class Share:
    """Where arrays lie in a team's share of the memory beside the processors, and how long that is."""

    offsets: Mapping[tuple[str, str], int]
    size: int


def share_of(groups: Groups, places: Mapping[str, Places], team: Team) -> Share:
    """Put arrays into a share one after the other."""
    offsets, size = {}, 0
    for group, name, array in all_arrays(groups):
        if name in places[group].near:
            offsets[group, name] = size
            size += trial_bytes(array)
    # The same number of the trials of a warp, which it reads at once, is in different places of the banks.
    step = _BANKS * team.size // WARP
    while size % _BANKS != step % _BANKS:
        size += 8
    return Share(offsets, size)


def trial_bytes(array: Any) -> int:
    """Bytes from one trial's array to the next one's."""
    return -(-int(array.nbytes) // _LINE) * _LINE


def table_row(shape: tuple[int, ...], address: int, stride: int = 0) -> Counts:
    """What functions need to know of an array."""
    row = np.zeros(COLUMNS, np.int64)
    row[ADDRESS], row[STRIDE] = address, stride
    row[SHAPE : SHAPE + len(shape)] = shape
    return row


Known = Mapping[str, Mapping[str, Any]]
"""What is known of single records when a program is compiled: entries by the names of arrays and fields."""


class Assembler:
    """Makes functions of compiled code that find the arrays of one group.

    They take the place of a trial in its block, and that of its team in its block of threads. The arrays'
    rows of the table begin at ``first``.
    """

    def __init__(
        self, arrays: Any, first: int, places: Places, offsets: Mapping[str, int], share: int, team: Team
    ) -> None:
        self._arrays, self._first, self._places = arrays, first, places
        self._offsets, self._share, self._team = offsets, share, team
        self._handle = _handle_of(arrays, places)

    def handle(self, known: Known | None = None) -> Any:
        """One that gives a trial's handle of the arrays.

        With ``known`` it holds single records in registers, from which :meth:`keeper` writes them back.
        """
        handle, fields = self._handle, type(self._arrays)._fields

        @intrinsic
        def assemble(typing_context, trial, local):
            def generate(context, builder, signature, arguments):
                with builder.goto_entry_block():
                    room = builder.alloca(context.get_value_type(handle.arrays))
                for place, name in enumerate(fields):
                    start, array = self._start(builder, place, *arguments), self._arrays[place]
                    if known is not None and name in self._places.held:
                        start = _held(builder, start, array.dtype, known.get(name, {}))
                    shape = [
                        _read(builder, self._first + place, SHAPE + axis) if length is None else _WORD(length)
                        for axis, length in enumerate(self._places.constants(name, array.shape))
                    ]
                    found = array_at(
                        context,
                        builder,
                        handle.arrays[place],
                        start,
                        shape,
                        one_row=name in self._places.same,
                    )
                    builder.store(found, cgutils.gep_inbounds(builder, room, 0, place))
                return room

            return handle(types.int64, types.int64), generate

        return assemble

    def keeper(self) -> Any:
        """One that writes back what a handle holds in registers, of the trial's own."""
        handle, places = self._handle, self._places

        @intrinsic
        def keep(typing_context, held, trial, local):
            def generate(context, builder, signature, arguments):
                for place, name in enumerate(type(self._arrays)._fields):
                    if name not in places.held & places.own:
                        continue
                    target = self._start(builder, place, *arguments[1:])
                    descriptor = builder.load(cgutils.gep_inbounds(builder, arguments[0], 0, place))
                    source = context.make_array(handle.arrays[place])(context, builder, descriptor).data
                    dtype = self._arrays[place].dtype
                    fixed = {dtype.fields[field][1] // _ENTRY for field in places.fixed.get(name, ())}
                    for number, address in _words(builder, source, dtype):
                        if number not in fixed:
                            goal = builder.gep(builder.bitcast(target, _WORDS), [_WORD(number)])
                            builder.store(builder.load(address), goal)
                return context.get_dummy_value()

            return types.void(handle, types.int64, types.int64), generate

        return keep

    def copier(self, *, out: bool) -> Any:
        """One that brings what a trial begins with beside the processors; or what is kept back ``out``."""
        places = self._places

        @intrinsic
        def copy(typing_context, trial, local):
            def generate(context, builder, signature, arguments):
                for place, name in enumerate(type(self._arrays)._fields):
                    if name not in (places.kept if out else places.near) & places.near:
                        continue
                    near = self._start(builder, place, *arguments)
                    row = self._first + place
                    far = _far(builder, row, arguments[0] if name in places.kept else None)
                    source, target = (near, far) if out else (far, near)
                    self._copy(builder, source, target, trial_bytes(self._arrays[place]) // _ENTRY)
                return context.get_dummy_value()

            return types.void(types.int64, types.int64), generate

        return copy

    def _copy(self, builder: Any, source: Any, target: Any, words: int) -> None:
        """Copy words, shared out among the threads."""
        source, target = builder.bitcast(source, _WORDS), builder.bitcast(target, _WORDS)
        member = builder.zext(self._team.member(builder), _WORD)
        with cgutils.for_range_slice(builder, member, _WORD(words), _WORD(self._team.size)) as (index, _):
            builder.store(builder.load(builder.gep(source, [index])), builder.gep(target, [index]))

    def _start(self, builder: Any, place: int, trial: Any, local: Any) -> Any:
        """The address of a trial's array."""
        fields = type(self._arrays)._fields
        name = fields[place]
        if name in self._places.same:
            name = self._places.same[name]
            place = fields.index(name)
        if name in self._places.near:
            offset = builder.add(builder.mul(local, _WORD(self._share)), _WORD(self._offsets[name]))
            start = builder.gep(_shared(builder), [_WORD(0), offset], inbounds=True)
            return builder.addrspacecast(start, ir.PointerType(_BYTE))
        own = name in self._places.own or name in self._places.drawn
        return _far(builder, self._first + place, trial if own else None)


def _held(builder: Any, start: Any, dtype: Any, known: Mapping[str, Any]) -> Any:
    """A record in registers, which begins as it is in memory; known entries are numbers in the program."""
    with builder.goto_entry_block():
        room = builder.alloca(ir.ArrayType(_WORD, dtype.itemsize // _ENTRY))
    bits = np.zeros(1, dtype)
    for name, value in known.items():
        bits[name] = value
    numbers, names = bits.view(np.int64), {offset: name for name, (_, offset) in dtype.fields.items()}
    for number, address in _words(builder, room, dtype):
        if names.get(number * _ENTRY) in known:
            word = _WORD(int(numbers[number]))
        else:
            word = builder.load(builder.gep(builder.bitcast(start, _WORDS), [_WORD(number)]))
        builder.store(word, address)
    return builder.bitcast(room, ir.PointerType(_BYTE))


def _words(builder: Any, record: Any, dtype: Any) -> Iterator[tuple[int, Any]]:
    """The words of a record, and their addresses."""
    first = builder.bitcast(record, _WORDS)
    for number in range(dtype.itemsize // _ENTRY):
        yield number, builder.gep(first, [_WORD(number)])


def _handle_of(arrays: Any, places: Places) -> Any:
    """The type of the handle; arrays whose rows are all the same are of another type."""
    handle = numba.typeof(arrays)
    kinds = [
        types.Array(kind.dtype, kind.ndim, "A") if name in places.same else kind
        for name, kind in zip(handle.arrays.fields, handle.arrays, strict=True)
    ]
    return Handle(types.NamedTuple(kinds, type(arrays)))


@intrinsic
def _fetch(typing_context, array, place):
    def generate(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        address = builder.ptrtoint(builder.gep(data, [arguments[1]]), _WORD)
        builder.asm(ir.FunctionType(ir.VoidType(), [_WORD]), "prefetch.global.L2 [$0];", "l", [address], True)
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


# Typed as the function it is inside compiled code, not as the code generator above.
fetch: Any = _fetch
"""Ask for an entry of an array that is far away, which will be needed soon."""


def _read(builder: Any, row: int, column: int) -> Any:
    """A number of the table."""
    table = builder.module.globals.get(TABLE)
    if table is None:
        kind = ir.ArrayType(_WORD, 0)
        table = ir.GlobalVariable(builder.module, kind, TABLE, addrspace=CONSTANT)
        table.linkage = "external"
    word = builder.load(builder.gep(table, [_WORD(0), _WORD(row * COLUMNS + column)], inbounds=True))
    word.set_metadata("invariant.load", builder.module.add_metadata([]))
    return word


def _far(builder: Any, row: int, number: Any) -> Any:
    address = _read(builder, row, ADDRESS)
    if number is not None:
        address = builder.add(address, builder.mul(number, _read(builder, row, STRIDE)))
    start = builder.inttoptr(address, ir.PointerType(_BYTE, addrspace=_GLOBAL))
    return builder.addrspacecast(start, ir.PointerType(_BYTE))


def _shared(builder: Any) -> Any:
    memory = builder.module.globals.get(_MEMORY)
    if memory is None:
        memory = ir.GlobalVariable(builder.module, ir.ArrayType(_BYTE, 0), _MEMORY, addrspace=_SHARED)
        memory.linkage, memory.align = "external", 16
    return memory
