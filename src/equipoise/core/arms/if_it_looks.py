"""Code that only policies with sight need is left out of the kernels of all others.

Whether a policy looks is written in the type of its state: ``lots`` has one dimension if it does, and
two if it does not. Numba compiles a kernel anew for every type, so a decorated function is compiled
where it is needed, and vanishes elsewhere: kernels of blind policies start and compile as if looking
did not exist.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from equipoise.core.jit.handles import Handle
from equipoise.core.jit.kernel import Kernel

F = TypeVar("F", bound=Callable[..., Any])


def if_it_looks(function: F) -> F:
    """A compiled ``function(state, argument)`` that blind kernels skip."""
    kernel: Any = function
    assert isinstance(kernel, Kernel)
    return cast(F, kernel.under(_looks))


def _looks(state: Handle) -> bool:
    """Whether states of this type belong to policies that look."""
    return bool(state.field("lots").ndim == 1)
