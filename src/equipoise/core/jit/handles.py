"""Named tuples of arrays that compiled functions pass on by their address.

Numba passes a named tuple by value: fifteen arrays are more than a hundred words, which every function
that only hands them on takes, copies and names one by one. A *handle* is one word instead, the address
of the arrays' descriptors, which are put together where Python calls a kernel. Functions read fields as
before (``state.arms``), and load only those that they use.

Descriptors do not change during a call, and compiled code is told so: it reads each once and keeps it.
"""

from __future__ import annotations

from typing import Any, TypeVar

from llvmlite import ir
from numba import types
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

    def type_of(value: T, purpose: Any) -> Handle:
        return Handle(_tuple([_typeof(array, purpose) for array in value], named_tuple))

    _typeof.register(named_tuple)(type_of)
    return named_tuple


_tuple: Any = types.NamedTuple
_typeof: Any = typeof_impl


class Handle(types.Type):
    """The address of a named tuple's arrays."""

    def __init__(self, arrays: Any) -> None:
        self.arrays = arrays
        super().__init__(f"Handle({arrays.name})")

    @property
    def mangling_args(self) -> Any:
        """What names in machine code say of the type: not every field of every record."""
        return self.arrays.instance_class.__name__, (self._code,)  # type: ignore[attr-defined]

    def field(self, name: str) -> Any:
        """Type of the array of that name."""
        return self.arrays[self.place(name)]

    def place(self, name: str) -> int:
        """Place of the array of that name."""
        return int(self.arrays.fields.index(name))


@register_model(Handle)
class _HandleModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Handle) -> None:
        address = manager[kind.arrays].get_value_type().as_pointer()
        super().__init__(manager, kind, address)  # type: ignore[no-untyped-call]


@unbox(Handle)
def _gather(kind, instance, c):
    arrays = c.unbox(kind.arrays, instance)
    # Numba forbids that kernels are inlined here, so none of their reads can be moved before this write.
    with c.builder.goto_entry_block():
        address = c.builder.alloca(arrays.value.type)
    c.builder.store(arrays.value, address)
    return NativeValue(address, is_error=arrays.is_error, cleanup=arrays.cleanup)


@infer_getattr
class _Fields(AttributeTemplate):
    key = Handle

    def generic_resolve(self, kind: Handle, name: str) -> Any:  # type: ignore[override]
        return kind.field(name) if name in kind.arrays.fields else None


@lower_getattr_generic(Handle)
def _read(context, builder, kind, address, name):
    place = [ir.Constant(ir.IntType(32), number) for number in (0, kind.place(name))]
    descriptor = builder.load(builder.gep(address, place, inbounds=True))
    descriptor.set_metadata("invariant.load", builder.module.add_metadata([]))
    return descriptor
