"""What Numba finds out about a call is remembered, instead of found out anew at every call.

To type ``a + b`` Numba tries every implementation of addition, for strings, sets and dates too, until
one takes the arguments; twice while types settle, once more when code is written, and again for the
next ``a + b``. Here the same function with the same types is looked up once.

Kernels and parts are compiled with the same options, so an answer holds for all of them.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.core.typing.context import BaseContext
from numba.extending import models, register_model


def remembering(context: BaseContext) -> BaseContext:
    """A typing context with the tables of another one, which remembers what it is asked."""
    if id(context) not in _CONTEXTS:
        kind = type(f"Remembering{type(context).__name__}", (_Remembering, type(context)), {})
        twin = kind.__new__(kind)
        # The same tables, not copies: what is registered later is seen by both.
        twin.__dict__ = context.__dict__
        _CONTEXTS[id(context)] = twin
    return _CONTEXTS[id(context)]


_CONTEXTS: dict[int, BaseContext] = {}
_FUNCTIONS: dict[types.Function, _Function] = {}


class _Remembering:
    def _lookup_global(self, value: Any) -> Any:
        found = super()._lookup_global(value)  # type: ignore[misc]
        if type(found) is not types.Function:
            return found
        if found not in _FUNCTIONS:
            _FUNCTIONS[found] = _Function(found.templates)
        return _FUNCTIONS[found]


class _Function(types.Function):  # type: ignore[misc]
    """A function of Numba's that remembers the signatures of its calls."""

    def __init__(self, templates: Any) -> None:
        super().__init__(templates)
        self._signatures: dict[Any, Any] = {}

    def get_call_type(self, context: Any, arguments: Any, keywords: Any) -> Any:
        key = tuple(arguments), tuple(dict(keywords).items())
        if key not in self._signatures:
            self._signatures[key] = super().get_call_type(context, arguments, keywords)
        return self._signatures[key]


register_model(_Function)(models.OpaqueModel)
