"""Named tuples of arrays that compiled functions pass on by their address.

Numba passes a named tuple by value: fifteen arrays are more than a hundred words, which every function
that only hands them on takes, copies and names one by one; most of the time of compiling went there.
A *handle* is one word instead, the address of the arrays' descriptors, which are put together where
Python calls a kernel. Functions read fields as before (``state.arms``), and load only those they use.

Descriptors never change during a call, and compiled code is told so: it reads each once and keeps it.
"""

from __future__ import annotations

from typing import Any, TypeVar

from numba import types
from numba.core import cgutils
from numba.core.imputils import impl_ret_borrowed
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_getattr_generic,
    models,
    register_model,
    typeof_impl,
    unbox,
)

T = TypeVar("T", bound=tuple[Any, ...])


def handled(named_tuple: type[T]) -> type[T]:
    """Let compiled functions take instances of a named tuple of arrays as handles."""

    def type_of(value: T, context: Any) -> Handle:
        return Handle(types.NamedTuple([typeof_impl(array, context) for array in value], named_tuple))

    typeof_impl.register(named_tuple)(type_of)
    return named_tuple


class Handle(types.Type):  # type: ignore[misc]
    """The address of a named tuple's arrays."""

    def __init__(self, arrays: types.NamedTuple) -> None:
        self.arrays = arrays
        super().__init__(f"Handle({arrays.name})")

    def field(self, name: str) -> types.Type:
        """Type of the array of that name."""
        return self.arrays[self.place(name)]

    def place(self, name: str) -> int:
        """Place of the array of that name."""
        return self.arrays.fields.index(name)


@register_model(Handle)
class _HandleModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Handle) -> None:
        super().__init__(manager, kind, manager[kind.arrays].get_value_type().as_pointer())


@unbox(Handle)
def _unbox(kind, instance, c):
    arrays = c.unbox(kind.arrays, instance)
    place = cgutils.alloca_once_value(c.builder, arrays.value)
    return NativeValue(place, is_error=arrays.is_error, cleanup=arrays.cleanup)


@infer_getattr
class _Fields(AttributeTemplate):
    key = Handle

    def generic_resolve(self, kind: Handle, name: str) -> types.Type | None:
        return kind.field(name) if name in kind.arrays.fields else None


@lower_getattr_generic(Handle)
def _read(context, builder, kind, handle, name):
    descriptor = builder.load(cgutils.gep_inbounds(builder, handle, 0, kind.place(name)))
    descriptor.set_metadata("invariant.load", builder.module.add_metadata([]))
    return impl_ret_borrowed(context, builder, kind.field(name), descriptor)
