"""Where the arrays of trials lie on a GPU, and how functions find them.

Every group of threads has a *slot*: arrays of its own for the trial at hand, one after the other. Small ones
that every decision reads and writes lie in the memory beside the processors (*shared* memory), all others in
the GPU's own. What a whole block of trials has in common there is once.

A kernel gets the address of a table, with a row for every array: its address, the bytes from one slot to
the next, the place in a slot's share of the memory beside the processors, and its shape. Numbers of arms
and features are written into the kernel itself, so that loops over them are short and known; those of units
and trials are not, so that a kernel serves every budget.
"""

from __future__ import annotations

import math
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
from equipoise.lab.gpu.lanes import THREADS, TRIALS_A_WARP, lane_number

_WORD, _BYTE = ir.IntType(64), ir.IntType(8)
_WORDS = ir.PointerType(_WORD)
_GLOBAL, _SHARED = 1, 3
_MEMORY = "equipoise_shared"
_LINE = 32
"""Bytes that a GPU reads at once."""
_BANKS = 128
_ENTRY = 8  # bytes
"""Bytes that threads read at the same time without waiting, from the memory beside the processors."""

ADDRESS, STRIDE, OFFSET, SHAPE, COLUMNS = 0, 1, 2, 3, 8
"""What stands where in a row of the table."""

Groups = Mapping[str, Any]
"""Named tuples of arrays, by what functions call them: those of one slot, or of all."""


@dataclass(frozen=True)
class Places:
    """Where the arrays of a group lie."""

    own: frozenset[str] = frozenset()
    """Those that every slot has for itself."""
    near: frozenset[str] = frozenset()
    """Of these, those that lie beside the processors."""
    apart: frozenset[str] = frozenset()
    """Those that every thread has for itself; entries of neighbours lie side by side and are read at once."""
    held: frozenset[str] = frozenset()
    """Single records that the loop over the units keeps in registers."""
    drawn: frozenset[str] = frozenset()
    """Those of which every trial of a block has one, and a slot that of the trial at hand."""
    long: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Axes along which some have units or trials; other lengths are numbers in the program."""

    def without(self, names: Iterable[str]) -> Places:
        """The same with some of them no longer beside the processors."""
        return replace(self, near=self.near.difference(names))

    def constants(self, name: str, shape: tuple[int, ...]) -> tuple[int | None, ...]:
        """The lengths of an array that are written into programs; None for the others."""
        long = self.long.get(name, ()) if math.prod(shape) else ()
        return tuple(None if axis in long else length for axis, length in enumerate(shape))


def all_arrays(groups: Groups) -> Iterator[tuple[str, str, Any]]:
    """Group, name and array, in the order of the table."""
    for group, arrays in groups.items():
        for name, array in zip(arrays._fields, arrays, strict=True):
            yield group, name, array


def near_offsets(groups: Groups, places: Mapping[str, Places]) -> tuple[dict[tuple[str, str], int], int]:
    """Where arrays lie in a slot's share of the memory beside the processors, and the size of a share."""
    offsets, size = {}, 0
    for group, name, array in all_arrays(groups):
        if name in places[group].near:
            offsets[group, name] = size
            size += slot_bytes(array)
    # The same number of eight trials, which a warp reads at once, is in eight places of the banks.
    while size % _BANKS != _BANKS // TRIALS_A_WARP:
        size += _BANKS // TRIALS_A_WARP
    return offsets, size


def slot_bytes(array: Any) -> int:
    """Bytes from one slot's array to the next one's."""
    return -(-int(array.nbytes) // _LINE) * _LINE


def table_row(shape: tuple[int, ...], address: int, stride: int = 0, offset: int = 0) -> Counts:
    """What functions need to know of an array."""
    row = np.zeros(COLUMNS, np.int64)
    row[ADDRESS], row[STRIDE], row[OFFSET] = address, stride, offset
    row[SHAPE : SHAPE + len(shape)] = shape
    return row


Known = Mapping[str, Mapping[str, Any]]
"""What is known of single records when a program is compiled: entries by the names of arrays and fields."""


def assembler(arrays: Any, first: int, places: Places, known: Known | None = None) -> Any:
    """A function of compiled code that gives a slot's handle of such arrays.

    It takes the table, in which their rows begin at ``first``, the number of the slot, that of the slot in
    its block of threads, the size of a share of the memory beside the processors, and the trial's place.

    With ``known`` it holds single records in registers, from which :func:`keeper` writes them back.
    """
    handle = _handle_of(arrays, places)

    @intrinsic
    def assemble(typing_context, table, slot, local, share, trial):
        def generate(context, builder, signature, arguments):
            table, slot, local, share, trial = arguments
            with builder.goto_entry_block():
                room = builder.alloca(context.get_value_type(handle.arrays))
            for place, name in enumerate(type(arrays)._fields):
                row = _Row(builder, table, first + place)
                step = None
                if name in places.near:
                    start = _near(builder, row, local, share)
                elif name in places.apart:
                    step = row.read(STRIDE)
                    lane = builder.zext(lane_number(builder), _WORD)
                    thread = builder.add(builder.mul(slot, _WORD(THREADS)), lane)
                    start = _address(
                        builder, builder.add(row.read(ADDRESS), builder.mul(thread, _WORD(_ENTRY)))
                    )
                else:
                    number = trial if name in places.drawn else slot if name in places.own else None
                    start = _far(builder, row, number)
                if known is not None and name in places.held:
                    start = _held(builder, start, arrays[place].dtype, known.get(name, {}))
                shape = [
                    row.read(SHAPE + axis) if length is None else _WORD(length)
                    for axis, length in enumerate(places.constants(name, arrays[place].shape))
                ]
                array = array_at(context, builder, handle.arrays[place], start, shape, step)
                builder.store(array, cgutils.gep_inbounds(builder, room, 0, place))
            return room

        return handle(*(types.int64,) * 5), generate

    return assemble


def keeper(arrays: Any, first: int, places: Places) -> Any:
    """A function of compiled code that writes a slot's records back which a handle holds in registers."""
    handle = _handle_of(arrays, places)

    @intrinsic
    def keep(typing_context, held, table, slot, local, share):
        def generate(context, builder, signature, arguments):
            held, table, slot, local, share = arguments
            for place, name in enumerate(type(arrays)._fields):
                if name in places.held and name in places.own:
                    row = _Row(builder, table, first + place)
                    near = name in places.near
                    target = _near(builder, row, local, share) if near else _far(builder, row, slot)
                    kind = handle.arrays[place]
                    descriptor = builder.load(cgutils.gep_inbounds(builder, held, 0, place))
                    source = context.make_array(kind)(context, builder, descriptor).data
                    for number, address in _words(builder, source, arrays[place].dtype):
                        goal = builder.gep(builder.bitcast(target, _WORDS), [_WORD(number)])
                        builder.store(builder.load(address), goal)
            return context.get_dummy_value()

        return types.void(handle, *(types.int64,) * 4), generate

    return keep


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
    """The type of the handle; arrays whose entries lie apart are of another type."""
    handle = numba.typeof(arrays)
    kinds = [
        types.Array(kind.dtype, kind.ndim, "A") if name in places.apart else kind
        for name, kind in zip(handle.arrays.fields, handle.arrays, strict=True)
    ]
    return Handle(types.NamedTuple(kinds, type(arrays)))


def copier(groups: Groups, places: Mapping[str, Places]) -> Any:
    """A function of compiled code that brings what slots begin with into the memory beside the processors."""
    near = [place for place, (group, name, _) in enumerate(all_arrays(groups)) if name in places[group].near]

    @intrinsic
    def copy_in(typing_context, table, local, share):
        def generate(context, builder, signature, arguments):
            for place in near:
                row = _Row(builder, arguments[0], place)
                words = builder.lshr(row.read(STRIDE), _WORD(3))
                source = builder.inttoptr(row.read(ADDRESS), ir.PointerType(_WORD, addrspace=_GLOBAL))
                target = builder.bitcast(
                    _near_start(builder, row, *arguments[1:]), ir.PointerType(_WORD, addrspace=_SHARED)
                )
                with cgutils.for_range(builder, words) as loop:
                    word = builder.load(builder.gep(source, [loop.index]))
                    builder.store(word, builder.gep(target, [loop.index]))
            return context.get_dummy_value()

        return types.void(*(types.int64,) * 3), generate

    return copy_in


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


class _Row:
    """A row of the table, in compiled code."""

    def __init__(self, builder: Any, table: Any, number: int) -> None:
        self._builder, self._number = builder, number
        self._table = builder.inttoptr(table, ir.PointerType(_WORD, addrspace=_GLOBAL))

    def read(self, column: int) -> Any:
        """One of its numbers."""
        builder = self._builder
        word = builder.load(builder.gep(self._table, [_WORD(self._number * COLUMNS + column)]))
        word.set_metadata("invariant.load", builder.module.add_metadata([]))
        return word


def _far(builder: Any, row: _Row, number: Any) -> Any:
    address = row.read(ADDRESS)
    if number is not None:
        address = builder.add(address, builder.mul(number, row.read(STRIDE)))
    return _address(builder, address)


def _address(builder: Any, address: Any) -> Any:
    start = builder.inttoptr(address, ir.PointerType(_BYTE, addrspace=_GLOBAL))
    return builder.addrspacecast(start, ir.PointerType(_BYTE))


def _near(builder: Any, row: _Row, local: Any, share: Any) -> Any:
    return builder.addrspacecast(_near_start(builder, row, local, share), ir.PointerType(_BYTE))


def _near_start(builder: Any, row: _Row, local: Any, share: Any) -> Any:
    memory = builder.module.globals.get(_MEMORY)
    if memory is None:
        memory = ir.GlobalVariable(builder.module, ir.ArrayType(_BYTE, 0), _MEMORY, addrspace=_SHARED)
        memory.linkage, memory.align = "external", 16
    place = builder.add(builder.mul(local, share), row.read(OFFSET))
    return builder.gep(memory, [_WORD(0), place], inbounds=True)
