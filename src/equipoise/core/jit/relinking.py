"""Copies of compiled functions that call other functions in some places.

A function finds what it calls among the names of its module. A copy with other names there is the same
source, linked otherwise: on a GPU four threads take the place of four lanes, and a score that a processor
calls by its address becomes a part of the kernel. Functions that reach nothing that is replaced are copied,
too: machine code of a kernel is made of one family.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

from equipoise.core.jit.kernel import Kernel

_PACKAGE, _COPIES = "equipoise.", "equipoise.copies"


class Relinker:
    """Makes one family of copies, in which some objects stand for others."""

    def __init__(self) -> None:
        self._copies: dict[int, tuple[Any, Any]] = {}  # originals stay, so that their ids do

    def replace(self, original: Any, substitute: Any) -> None:
        """Let copies that are made from now on use ``substitute`` wherever functions use ``original``."""
        self._copies[id(original)] = original, substitute

    def replace_all(self, substitutes: Mapping[Any, Any]) -> None:
        """The same for several objects."""
        for original, substitute in substitutes.items():
            self.replace(original, substitute)

    def __call__(self, original: Any) -> Any:
        """The copy of a kernel or a module; what is neither is used as it is."""
        if id(original) in self._copies:
            return self._copies[id(original)][1]
        if isinstance(original, Kernel):
            # Known before its functions are looked at: one of them may call it.
            copy: Any = Kernel.__new__(Kernel)
            self.replace(original, copy)
            copy.__init__(self.function(original.py_func), **original.link(self))
            return copy
        if isinstance(original, ModuleType) and original.__name__.startswith(_PACKAGE):
            copy = ModuleType(original.__name__)
            self.replace(original, copy)
            for name, value in vars(original).items():
                if not name.startswith("__"):
                    setattr(copy, name, self(value))
            return copy
        return original

    def function(self, original: Any) -> Any:
        """The copy of a plain function."""
        space = dict(original.__globals__)
        for name in set(_names(original.__code__)) & set(space):
            space[name] = self(space[name])
        cells = original.__closure__ and tuple(
            CellType(self(cell.cell_contents)) for cell in original.__closure__
        )
        copy = FunctionType(original.__code__, space, original.__name__, original.__defaults__, cells)
        # Machine code on disk goes by the names of functions: a copy must not be taken for the original.
        copy.__module__, copy.__qualname__ = _COPIES, f"{original.__module__}.{original.__qualname__}"
        return copy


def _names(code: CodeType) -> Iterator[str]:
    """Global names that a function uses, those of functions within it included."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
