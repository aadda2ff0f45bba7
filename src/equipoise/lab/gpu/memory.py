"""How compiled functions find the arrays of a trial, wherever its program's layout has put them.

The code is generated for a layout when a program is finished (core/jit/deferred.py). What functions are
compiled with before are the types of arrays alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from equipoise.core.jit.addresses import array_at
from equipoise.core.jit.deferred import call_later, deferred
from equipoise.core.jit.handles import Handle
from equipoise.core.jit.nvptx import CONSTANT, TABLE
from equipoise.lab.gpu.layout import ADDRESS, COLUMNS, SHAPE, STRIDE, Layout, Places
from equipoise.lab.gpu.teams.lanes import register

_WORD, _BYTE = ir.IntType(64), ir.IntType(8)
_WORDS = ir.PointerType(_WORD)
_GLOBAL, _SHARED = 1, 3
_MEMORY = "equipoise_shared"
_ENTRY = 8  # bytes


class Assembler:
    """Makes functions of compiled code that find the arrays of one group.

    They take the place of a trial in its block, and that of its team in its block of threads. Of the arrays'
    places it only looks at those that no layout changes: which are a trial's own, one and the same, held, or
    fixed.
    """

    def __init__(self, group: str, arrays: Any, places: Places) -> None:
        self._group, self._places = group, places
        self._fields = type(arrays)._fields
        self._dtypes = dict(zip(self._fields, (array.dtype for array in arrays), strict=True))
        self._handle = _handle_of(arrays, places)

    def handle(self, *, held: bool = False) -> Any:
        """One that gives a trial's handle of the arrays.

        If single records are ``held`` in registers, :meth:`keeper` writes them back.
        """
        handle = self._handle
        records = [name for name in self._fields if held and name in self._places.held]

        @intrinsic
        def assemble(typing_context, trial, local):
            def generate(context, builder, signature, arguments):
                with builder.goto_entry_block():
                    room = builder.alloca(context.get_value_type(handle.arrays))
                    rooms = [builder.alloca(_record_room(self._dtypes[name])) for name in records]
                places = [*arguments, room, *rooms]
                call_later(context, builder, types.void(), places, fill_in)
                return room

            return handle(types.int64, types.int64), generate

        def fill_in(layout, context, builder, signature, arguments):
            trial, local, room, *rooms = arguments
            found = dict(zip(records, rooms, strict=True))
            for place, name in enumerate(self._fields):
                start, array = self._start(layout, builder, name, trial, local), self._array(layout, name)
                if name in found:
                    known = layout.known.get(self._group, {}).get(name, {})
                    start = _held(builder, start, found[name], array.dtype, known)
                shape = [
                    _read(builder, layout.row(self._group, name), SHAPE + axis)
                    if length is None
                    else _WORD(length)
                    for axis, length in enumerate(layout.places[self._group].constants(name, array.shape))
                ]
                one_row = name in self._places.same
                descriptor = array_at(context, builder, handle.arrays[place], start, shape, one_row=one_row)
                builder.store(descriptor, cgutils.gep_inbounds(builder, room, 0, place))

        return assemble

    def keeper(self) -> Any:
        """One that writes back what a handle holds in registers, of the trial's own."""
        handle, places = self._handle, self._places

        @deferred
        def keep(typing_context, held, trial, local):
            def generate(layout, context, builder, signature, arguments):
                for place, name in enumerate(self._fields):
                    if name not in places.held & places.own:
                        continue
                    target = self._start(layout, builder, name, *arguments[1:])
                    descriptor = builder.load(cgutils.gep_inbounds(builder, arguments[0], 0, place))
                    source = context.make_array(handle.arrays[place])(context, builder, descriptor).data
                    dtype = self._dtypes[name]
                    fixed = {dtype.fields[field][1] // _ENTRY for field in places.fixed.get(name, ())}
                    for number, address in _words(builder, source, dtype):
                        if number not in fixed:
                            goal = builder.gep(builder.bitcast(target, _WORDS), [_WORD(number)])
                            builder.store(builder.load(address), goal)

            return types.void(handle, types.int64, types.int64), generate

        return keep

    def copier(self, *, out: bool) -> Any:
        """One that brings what a trial begins with beside the processors; or what is kept back ``out``."""

        @deferred
        def copy(typing_context, trial, local):
            def generate(layout, context, builder, signature, arguments):
                places = layout.places[self._group]
                for name in self._fields:
                    if name not in (places.kept if out else places.near) & places.near:
                        continue
                    near = self._start(layout, builder, name, *arguments)
                    row = layout.row(self._group, name)
                    far = _far(builder, row, arguments[0] if name in places.kept else None)
                    source, target = (near, far) if out else (far, near)
                    words = -(-self._array(layout, name).nbytes // _ENTRY)
                    _copy(layout, builder, source, target, words)

            return types.void(types.int64, types.int64), generate

        return copy

    def _array(self, layout: Layout, name: str) -> Any:
        return getattr(layout.groups[self._group], name)

    def _start(self, layout: Layout, builder: Any, name: str, trial: Any, local: Any) -> Any:
        """The address of a trial's array."""
        places = layout.places[self._group]
        name = places.same.get(name, name)
        if name in places.near:
            offset = _WORD(layout.share.offsets[self._group, name])
            offset = builder.add(builder.mul(local, _WORD(layout.share.size)), offset)
            start = builder.gep(near_memory(builder), [_WORD(0), offset], inbounds=True)
            return builder.addrspacecast(start, ir.PointerType(_BYTE))
        if name in places.constant:
            start = builder.gep(_table(builder), [_WORD(0), _WORD(layout.table_words)], inbounds=True)
            return builder.addrspacecast(start, ir.PointerType(_BYTE))
        own = name in places.own or name in places.drawn
        return _far(builder, layout.row(self._group, name), trial if own else None)


def _copy(layout: Layout, builder: Any, source: Any, target: Any, words: int) -> None:
    """Copy words, shared out among the threads."""
    source, target = builder.bitcast(source, _WORDS), builder.bitcast(target, _WORDS)
    member = builder.zext(layout.team.member(builder), _WORD)
    with cgutils.for_range_slice(builder, member, _WORD(words), _WORD(layout.team.size)) as (index, _):
        builder.store(builder.load(builder.gep(source, [index])), builder.gep(target, [index]))


def _record_room(dtype: Any) -> Any:
    return ir.ArrayType(_WORD, dtype.itemsize // _ENTRY)


def _held(builder: Any, start: Any, room: Any, dtype: Any, known: Mapping[str, Any]) -> Any:
    """A record in registers, which begins as it is in memory; known entries are numbers in the program."""
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
    word = builder.load(
        builder.gep(_table(builder), [_WORD(0), _WORD(row * COLUMNS + column)], inbounds=True)
    )
    word.set_metadata("invariant.load", builder.module.add_metadata([]))
    return word


def _table(builder: Any) -> Any:
    table = builder.module.globals.get(TABLE)
    if table is None:
        kind = ir.ArrayType(_WORD, 0)
        table = ir.GlobalVariable(builder.module, kind, TABLE, addrspace=CONSTANT)
        table.linkage = "external"
    return table


def _far(builder: Any, row: int, number: Any) -> Any:
    address = _read(builder, row, ADDRESS)
    if number is not None:
        address = builder.add(address, builder.mul(number, _read(builder, row, STRIDE)))
    start = builder.inttoptr(address, ir.PointerType(_BYTE, addrspace=_GLOBAL))
    return builder.addrspacecast(start, ir.PointerType(_BYTE))


def near_numbers(layout: Layout, builder: Any, group: str, name: str) -> Any:
    """The address of numbers that lie beside the processors, of the trial that a thread works on."""
    trial = builder.lshr(register(builder, "tid"), ir.IntType(32)(layout.team.size.bit_length() - 1))
    place = builder.mul(trial, ir.IntType(32)(layout.share.size))
    place = builder.add(place, ir.IntType(32)(layout.share.offsets[group, name]))
    near = builder.gep(near_memory(builder), [_WORD(0), builder.zext(place, _WORD)], inbounds=True)
    return builder.bitcast(near, ir.DoubleType().as_pointer(_SHARED))


def near_memory(builder: Any) -> Any:
    """The memory beside the processors, of which a program has so much as it is launched with."""
    memory = builder.module.globals.get(_MEMORY)
    if memory is None:
        memory = ir.GlobalVariable(builder.module, ir.ArrayType(_BYTE, 0), _MEMORY, addrspace=_SHARED)
        memory.linkage, memory.align = "external", 16
    return memory
