"""The stamp of everything that machine code is made from: sources, versions, settings of the compiler.

A kernel takes in functions of many files, so a change in any of them makes it another kernel. Contents
count, not dates: an upgrade may keep dates. The sources are read twice, when the package is imported and
before anything is written to disk. If someone has changed them in between, it is not known which of the
two was imported, and nothing is written.
"""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

_PACKAGE = Path(__file__).parents[2]
# Layers that hold compiled functions.
_LAYERS = ("core", "lab")
_PREFIXES = tuple(f"equipoise.{layer}." for layer in _LAYERS)


def read_sources() -> str | None:
    """Digest of all sources that can hold a compiled function; None where there are none to be read."""
    digest = hashlib.blake2b(digest_size=16)
    files = sorted(
        Path(folder, name)
        for layer in _LAYERS
        for folder, _, names in os.walk(_PACKAGE / layer)
        for name in names
        if name.endswith((".py", ".npy"))  # tables go into machine code, too
    )
    try:
        for file in files:
            content = file.read_bytes()
            place = str(file)[len(str(_PACKAGE)) :]
            digest.update(f"{place}\0{len(content)}\0".encode() + content)
    except OSError:
        return None
    return digest.hexdigest() if files else None


IMPORTED = read_sources()
"""What the sources were when this package was imported."""


def is_stamped(function: Callable[..., Any]) -> bool:
    """Whether the source of a function is among those that the stamp covers."""
    # Decorators may write another's module into what they return: a function's names tell where it stands.
    written = getattr(function, "py_func", function)  # a dispatcher's
    names = getattr(written, "__globals__", {}).get("__name__", function.__module__)
    return all((module or "").startswith(_PREFIXES) for module in (function.__module__, names))


@cache
def stamp() -> str | None:
    """Differs wherever machine code may differ, but for the function and the types of its arguments."""
    if IMPORTED is None:
        return None
    import llvmlite
    import numba
    import numpy as np

    settings = sorted(
        f"{name}={value}"
        for name, value in os.environ.items()
        if name.startswith("NUMBA_") and name != "NUMBA_CACHE_DIR"
    )
    versions = (sys.implementation.cache_tag, sys.version, numba.__version__, llvmlite.__version__)
    facts = (IMPORTED, *versions, np.__version__, platform.machine(), sys.platform, *settings)
    return hashlib.blake2b("\0".join(map(str, facts)).encode(), digest_size=16).hexdigest()
