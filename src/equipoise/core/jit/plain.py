"""Compilation through Numba's public interface alone: it works with any Numba, and takes its time.

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
        if folder is None:
            return _njit(no_cfunc_wrapper=True, **OPTIONS)(function)
        with _numba_folder(folder):
            return _njit(cache=True, no_cfunc_wrapper=True, **OPTIONS)(function)

    def callback(self, function: Callable[..., Any], signature: Any, *, name: str | None) -> Any:
        """A function that goes by its address; short, and compiled anew in every process."""
        return numba.cfunc(signature, **OPTIONS)(function)


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
