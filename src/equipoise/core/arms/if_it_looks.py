"""Code that only policies which look at the context need is left out of the kernels of all others.

Whether a policy looks is written in the type of its state: ``lots`` has one dimension if it does, and
two if it does not. Numba compiles a kernel anew for every type, so a decorated function is compiled
where it is needed, and vanishes elsewhere: kernels of blind policies start and compile as if looking
did not exist.
"""

from __future__ import annotations

from equipoise.core.jit.decorators import only_where
from equipoise.core.jit.handles import Handle


def _looks(state: Handle) -> bool:
    """Whether states of this type belong to policies that look."""
    return bool(state.field("lots").ndim == 1)


if_it_looks = only_where(_looks)
"""For a compiled ``function(state, argument)`` that blind kernels skip."""
