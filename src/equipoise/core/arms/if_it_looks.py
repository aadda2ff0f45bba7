"""Code that only some policies need is left out of the kernels of all others.

What a policy needs is written in the type of its state. ``lots`` has one dimension if the policy looks at
the context or draws arms by weights, and two if it does neither; ``memory`` has two if it draws by weights,
and one if it does not. Numba compiles a kernel anew for every type, so a decorated function is compiled
where it is needed, and vanishes elsewhere: kernels of blind policies start and compile as if looking and
drawing did not exist.
"""

from __future__ import annotations

from equipoise.core.jit.decorators import only_where
from equipoise.core.jit.handles import Handle


def _looks(state: Handle) -> bool:
    """Whether states of this type belong to policies that look or weigh."""
    return bool(state.field("lots").ndim == 1)


def weighs(state: Handle) -> bool:
    """Whether states of this type belong to policies that draw arms by weights."""
    return bool(state.field("memory").ndim == 2)


if_it_looks = only_where(_looks)
"""For a compiled ``function(state, argument)`` that blind kernels skip."""

if_it_weighs = only_where(weighs)
"""For one that only policies which draw arms by weights need."""
