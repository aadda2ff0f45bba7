"""The decorators by which functions become machine code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from equipoise.core.jit.kernel import Kernel

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """Compile when it is first called, to run without the GIL; machine code is kept on disk."""
    return cast(F, Kernel(function))


def inlined(function: F) -> F:
    """The same for the steps of every decision, which callers take in whole: most cost less than a call."""
    return cast(F, Kernel(function, inline=True))


def only_where(condition: Callable[[Any], bool], otherwise: Any = None) -> Callable[[F], F]:
    """Leave a compiled ``function(first, second)`` out of kernels whose ``first`` is of another kind.

    Numba compiles a kernel for every type, so what some do not need costs them nothing. ``otherwise`` is
    what those call instead; then functions may have any number of arguments.
    """

    def decorate(function: F) -> F:
        kernel: Any = function
        assert isinstance(kernel, Kernel)
        return cast(F, kernel.under(condition, otherwise))

    return decorate
