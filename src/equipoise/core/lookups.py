"""What Numba finds out about a call is remembered, instead of found out anew at every call.

To type ``a + b`` Numba tries every implementation of addition, for strings, sets and dates too, until
one takes the arguments; twice while types settle, once more when code is written, and again for the
next ``a + b``. Here the same function with the same types is looked up once.

Kernels and parts are compiled with the same options, so an answer holds for all of them.
"""

from __future__ import annotations

import functools
from types import BuiltinFunctionType
from typing import Any

from numba import types
from numba.core.cpu import CPUContext
from numba.core.typing.context import Context
from numba.extending import models, register_model


@functools.cache
def remembering(context: Context) -> Context:
    """A typing context with the tables of another one, which remembers the signatures of calls."""
    return _RememberingContext(context)


def stop_retrying(context: CPUContext) -> None:
    """Let a target context take it that operations it does not find do not exist.

    Numba asks for special ways to read an array at every access; as there are none, it would see whether
    any have been registered in the meantime, and ask again.
    """
    context.__class__ = _DecidedContext


class _RememberingContext(Context):
    def __init__(self, context: Context) -> None:
        # The same tables, not copies: what is registered later is seen by both.
        self.__dict__ = context.__dict__

    def _lookup_global(self, value: Any) -> Any:
        found = super()._lookup_global(value)  # type: ignore[no-untyped-call]
        return _remembering_function(found) if type(found) is types.Function else found

    def resolve_value_type(self, value: Any) -> Any:
        # Numba would ask first whether an operator is a number, an array, …
        found = self._lookup_global(value) if isinstance(value, BuiltinFunctionType) else None
        return super().resolve_value_type(value) if found is None else found  # type: ignore[no-untyped-call]


class _DecidedContext(CPUContext):
    def get_function(self, function: Any, signature: Any, _firstcall: bool = True) -> Any:
        # Functions have types; what goes by a name is one of Numba's own operations.
        retry = _firstcall and not isinstance(function, str)
        return super().get_function(function, signature, _firstcall=retry)  # type: ignore[no-untyped-call]


class _Function(types.Function):
    def __init__(self, templates: Any) -> None:
        super().__init__(templates)
        self._signatures: dict[Any, Any] = {}

    def get_call_type(self, context: Any, arguments: Any, keywords: Any) -> Any:
        key = tuple(arguments), tuple(dict(keywords).items())
        if key not in self._signatures:
            self._signatures[key] = super().get_call_type(context, arguments, keywords)
        return self._signatures[key]


register_model(_Function)(models.OpaqueModel)


@functools.cache
def _remembering_function(function: types.Function) -> _Function:
    return _Function(function.templates)
