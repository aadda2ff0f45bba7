"""Code that only policies with sight need is left out of the kernels of all others.

Whether a policy looks is written in the type of its state: ``lots`` has one dimension if it does, and
two if it does not. Numba compiles a kernel anew for every type, so a decorated function is compiled
where it is needed, and vanishes elsewhere: kernels of blind policies start and compile as if looking
did not exist.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from equipoise.core.compiled import inlined
from equipoise.core.handles import Handle

F = TypeVar("F", bound=Callable[..., Any])


def if_it_looks(function: F) -> F:
    """A compiled ``function(state, argument)`` that blind kernels skip."""
    dispatcher: Any = function
    call, overload = dispatcher.get_call_template, dispatcher.get_overload

    def call_or_skip(arguments: Any, keywords: Any) -> Any:
        return (call if _looks(arguments[0]) else _skip.get_call_template)(arguments, keywords)

    def overload_or_skip(arguments: Any) -> Any:
        return (overload if _looks(arguments[0]) else _skip.get_overload)(arguments)

    dispatcher.get_call_template, dispatcher.get_overload = call_or_skip, overload_or_skip
    return cast(F, dispatcher)


@inlined
def _nothing(state: Any, argument: Any) -> None:
    pass


_skip: Any = _nothing


def _looks(state: Handle) -> bool:
    """Whether states of this type belong to policies that look."""
    return bool(state.field("lots").ndim == 1)
