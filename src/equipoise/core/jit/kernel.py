"""Kernels and parts: what Python calls, and what compiled code calls.

A function is compiled as a *kernel* when Python calls it: with a wrapper that takes Python's arguments,
and kept on disk. Where other compiled functions call it, it is compiled as a *part* of them, which needs
neither. Both are made when they are first needed, in the way that :mod:`~equipoise.core.jit.ways` says.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from numba import types
from numba.extending import models, register_model, typeof_impl

from equipoise.core.jit import ways
from equipoise.core.jit.sources import is_stamped

Condition = Callable[[Any], bool]


class Kernel:
    """A function that Python and compiled code can call.

    With a ``condition`` on the type of the first argument, compiled code for which it does not hold skips
    the call, or calls what is to be called ``otherwise``.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        inline: bool = False,
        condition: Condition | None = None,
        otherwise: Kernel | None = None,
    ) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        self._name = function.__qualname__
        self._inline = inline
        self._condition = condition
        self._otherwise = otherwise
        self._dispatcher: Any = None

    def __call__(self, *arguments: Any) -> Any:
        """Run the machine code, which the first call with arguments of some types compiles."""
        if self._dispatcher is None:
            self._dispatcher = ways.chosen().kernel(self.py_func, stored=is_stamped(self.py_func))
        # Nothing may be tried again here: a signal handler can raise after the kernel has done its work.
        return self._dispatcher(*arguments)

    @property
    def is_compiled(self) -> bool:
        """Whether Python has called it."""
        return self._dispatcher is not None

    def under(self, condition: Condition, otherwise: Any = None) -> Kernel:
        """The same function, skipped or replaced in compiled code for which the condition does not hold."""
        return Kernel(self.py_func, inline=self._inline, condition=condition, otherwise=otherwise)

    def link(self, relink: Callable[[Any], Any]) -> dict[str, Any]:
        """How a copy of its function becomes such a kernel, in a family of copies."""
        otherwise = None if self._otherwise is None else relink(self._otherwise)
        return {"inline": self._inline, "condition": self._condition, "otherwise": otherwise}

    def __reduce__(self) -> str:
        # Found by its name, like any function.
        return self._name

    @functools.cached_property
    def part(self) -> Any:
        """What compiled code calls."""
        return ways.chosen().part(self.py_func, inline=self._inline)

    def part_for(self, kinds: Sequence[Any]) -> Any:
        """What compiled code calls with arguments of some types."""
        skips = self._condition is not None and not self._condition(kinds[0])
        if not skips:
            return self.part
        return _nothing.part if self._otherwise is None else self._otherwise.part_for(kinds)


class _KernelType(types.Dispatcher):
    """The type of a kernel in compiled code."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        super().__init__(kernel.part)

    def get_call_type(self, context: Any, arguments: Any, keywords: Any) -> Any:
        # A constant is a number like any other; Numba would compile the function anew for each.
        kinds = tuple(types.unliteral(kind) for kind in arguments)
        return types.Dispatcher(self._kernel.part_for(kinds)).get_call_type(context, kinds, keywords)

    def get_overload(self, signature: Any) -> Any:
        return self._kernel.part_for(signature.args).get_overload(signature.args)


register_model(_KernelType)(models.OpaqueModel)


@typeof_impl.register(Kernel)
def _type_of_kernel(kernel: Kernel, purpose: Any) -> _KernelType:
    return _KernelType(kernel)


def _do_nothing(state: Any, argument: Any) -> None:
    pass


_nothing = Kernel(_do_nothing, inline=True)
