"""Compilation through Numba's public interface alone, for every Numba from 0.61 on: it takes its time.

Public are the decorators with their options, `extending` and `types`; besides, `core.typing.templates` has
the class that `extending.infer_getattr` decorates (see handles.py).

Numba's own files on disk know changes of a function's own source only, so they are kept in the folder
that storage.py names after all sources. Two processes that compile a kernel for different types at once
could mix up Numba's files, so only one at a time uses them; others compile in memory.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import numba

from equipoise.core.jit.storage import writable_folder
from equipoise.core.jit.ways import OPTIONS, PART

_njit: Any = numba.njit
_settings: Any = numba.config


class Plain:
    """Numba's public interface."""

    def part(self, function: Callable[..., Any], *, inline: bool) -> Any:
        """A function that compiled code calls."""
        return _njit(forceinline=inline, **OPTIONS, **PART)(function)

    def kernel(self, function: Callable[..., Any], *, stored: bool) -> Any:
        """A function that Python calls."""
        folder = _own_folder() if stored else None
        return _in_memory(function) if folder is None else _OnDisk(function, folder)

    def callback(self, function: Callable[..., Any], signature: Any, *, name: str | None) -> Any:
        """A function that goes by its address; short, and compiled anew in every process."""
        return numba.cfunc(signature, **OPTIONS)(function)


def _in_memory(function: Callable[..., Any]) -> Any:
    return _njit(no_cfunc_wrapper=True, **OPTIONS)(function)


class _OnDisk:
    """A kernel in Numba's files, and one in memory where these cannot be read or written."""

    def __init__(self, function: Callable[..., Any], folder: Path) -> None:
        self._function = function
        self._seen: set[tuple[Any, ...]] = set()
        with _numba_folder(folder):
            self._dispatcher = _njit(cache=True, no_cfunc_wrapper=True, **OPTIONS)(function)

    def __call__(self, *arguments: Any) -> Any:
        outlines = tuple(map(_outline, arguments))
        if outlines not in self._seen:
            kinds = tuple(map(numba.typeof, arguments))
            try:
                self._dispatcher.compile(kinds)
            except Exception:
                if kinds not in self._dispatcher.overloads:
                    self._dispatcher = _in_memory(self._function)
            self._seen.add(outlines)
        return self._dispatcher(*arguments)


def _outline(argument: Any) -> tuple[Any, ...]:
    """What tells types of arguments apart in a kernel, without asking Numba at every call."""
    if isinstance(argument, tuple):
        return (type(argument), *(array.ndim for array in argument))
    known = getattr(argument, "_numba_type_", None)  # of what was gathered, see handles.py
    return type(argument), known or getattr(argument, "dtype", None), getattr(argument, "ndim", None)


@contextmanager
def _numba_folder(folder: Path) -> Iterator[None]:
    """Let functions that are decorated here keep their machine code in a folder."""
    before = _settings.CACHE_DIR
    _settings.CACHE_DIR = str(folder)
    try:
        yield
    finally:
        _settings.CACHE_DIR = before


@cache
def _own_folder() -> Path | None:
    """The folder of Numba's files if no other process uses it; it is ours until this process ends."""
    folder = writable_folder()
    if folder is None:
        return None
    try:
        import fcntl
    except ImportError:  # Windows
        return None
    with suppress(OSError):
        _held.append(os.open(folder / "plain.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
        fcntl.flock(_held[-1], fcntl.LOCK_EX | fcntl.LOCK_NB)
        return folder
    return None


_held: list[int] = []
