"""Code that only policies with sight need is left out of the kernels of all others.

Whether a policy looks is written in the type of its state: ``lots`` has one dimension if it does, and
two if it does not. Numba compiles a kernel anew for every type, so a decorated function is compiled
where it is needed, and vanishes elsewhere: kernels of blind policies start and compile as if looking
did not exist.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import types
from numba.extending import overload

F = TypeVar("F", bound=Callable[..., Any])


def if_it_looks(function: F) -> F:
    """A compiled ``function(state, argument)`` that blind kernels skip."""

    def skip(state: Any, argument: Any) -> None:
        raise NotImplementedError

    # Without annotations: Numba compares the signatures of the two below, annotations included.
    pick: Any = lambda state, argument: call if _looks(state) else nothing  # noqa: E731
    call: Any = lambda state, argument: function(state, argument)  # noqa: E731
    nothing: Any = lambda state, argument: None  # noqa: E731
    overload(skip, inline="always")(pick)
    return cast(F, skip)


def _looks(state: types.NamedTuple) -> bool:
    """Whether states of this type belong to policies that look."""
    return bool(state.types[state.fields.index("lots")].ndim == 1)
