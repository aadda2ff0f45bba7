"""Drafts and programs that are kept under all that they depend on: in memory and on disk."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import numba

from equipoise.core.jit import storage
from equipoise.core.jit.deferred import packed, unpacked
from equipoise.core.jit.nvptx import check_way, new_draft
from equipoise.lab.gpu.driver import CodeRefused, Device, Program
from equipoise.lab.gpu.layout import Groups, Places, all_arrays
from equipoise.lab.gpu.programs.trials import WORDS

PROGRAMS: dict[tuple[str, ...], Program] = {}
"""Ready to run, by GPU and key."""
DRAFTS: dict[tuple[str, ...], str] = {}
_TYPES: dict[tuple[Any, ...], str] = {}


def kept_draft(key: tuple[str, ...], make: Callable[[], Callable[..., None]], *, stored: bool = True) -> str:
    """What programs of several layouts are finished from, compiled once a process, and kept on disk."""
    if key not in DRAFTS:
        check_way()  # whatever is on disk
        name = f"draft {key}"
        draft = _draft_from_disk(name) if stored else None
        if draft is None:
            draft = new_draft(make(), WORDS)
            if stored:
                with suppress(Exception):  # what cannot be packed is made again
                    storage.write(name, packed(draft))
        DRAFTS[key] = draft
    return DRAFTS[key]


def _draft_from_disk(name: str) -> str | None:
    """None if it is not there, or cannot be used."""
    content = storage.read(name)
    try:
        return None if content is None else unpacked(content)
    except Exception:  # it is made anew
        return None


def kept_program(
    device: Device, key: tuple[str, ...], make: Callable[[], str], *, stored: bool = True
) -> Program:
    """A program for a GPU, compiled once a process, and kept on disk as machine code."""
    whole = (device.description, *key)
    if whole not in PROGRAMS:
        name = f"GPU {whole}"
        program = _from_disk(device, name) if stored else None
        if program is None:
            code = device.assemble(make())
            if stored:
                storage.write(name, code)
            program = device.load(code)
        PROGRAMS[whole] = program
    return PROGRAMS[whole]


def _from_disk(device: Device, name: str) -> Program | None:
    """None if it is not there, or is nothing that this driver takes."""
    code = storage.read(name)
    if code is None:
        return None
    try:
        return device.load(code)
    except CodeRefused:
        return None


def array_kinds(groups: Groups, places: Mapping[str, Places]) -> list[str]:
    """All of a program's arrays that it is compiled for, and where they lie."""
    kinds = [array_types(groups)]
    for group, name, array in all_arrays(groups):
        lies = "near" if name in places[group].near else "far"
        lies = "constant" if name in places[group].constant else lies
        kinds.append(f"{places[group].constants(name, array.shape)} {lies}")
    return kinds


def array_types(groups: Groups) -> str:
    """The types of a program's arrays."""
    # To ask Numba takes milliseconds, and every run of every policy asks.
    outline = tuple(
        (type(arrays), *((array.dtype, array.ndim, array.flags.num) for array in arrays))
        for arrays in groups.values()
    )
    if outline not in _TYPES:
        _TYPES[outline] = str([str(numba.typeof(arrays)) for arrays in groups.values()])
    return _TYPES[outline]
