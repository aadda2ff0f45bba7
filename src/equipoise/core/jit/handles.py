"""Named tuples of arrays that compiled functions pass on by their address.

Numba passes a named tuple by value: fifteen arrays are more than a hundred words, which every function
that only hands them on takes, copies and names one by one. A *handle* is one word instead, the address
of the arrays' descriptors, which are put together where Python calls a kernel. Functions read fields as
before (``state.arms``), and load only those that they use.

Descriptors do not change during a call, and compiled code is told so: it reads each once and keeps it.

To look at twenty arrays takes longer than most kernels do. Who calls kernels with the same arrays again and
again has their descriptors put together once, by :func:`gathered`.
"""

from __future__ import annotations

from typing import Any, TypeVar, cast

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    intrinsic,
    lower_getattr_generic,
    models,
    register_model,
    typeof_impl,
    unbox,
)

from equipoise.core.jit.decorators import compiled

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


def gathered(arrays: T) -> T:
    """What kernels may be called with in the place of a named tuple of arrays, many times."""
    return cast(T, _Gathered(arrays))


class _Gathered:
    """The descriptors of arrays, and the arrays."""

    __slots__ = ("_arrays", "_numba_type_", "_words", "address")

    def __init__(self, arrays: Any) -> None:
        # To ask Numba for the types of many arrays takes a millisecond.
        outline = type(arrays), *((one.dtype, one.ndim, one.flags.num) for one in arrays)
        if outline not in _kinds:
            kind: Any = numba.typeof(arrays)
            _kinds[outline] = _GatheredHandle(kind.arrays)
        self._numba_type_ = _kinds[outline]
        self._arrays = arrays  # which must not go before this does
        self._words = np.empty(_WORDS * len(arrays), np.int64)
        if _write(arrays, self._words) > self._words.nbytes:
            raise TypeError(f"the descriptors of a {type(arrays).__name__} take more room than was thought")
        self.address: int = self._words.ctypes.data


_kinds: dict[tuple[Any, ...], _GatheredHandle] = {}
_WORDS = 16
"""Room for a descriptor; in Numba it has five words and two a dimension."""


class _GatheredHandle(Handle):
    """The type of a handle to what was gathered; inside of kernels it is one like any other."""

    def __init__(self, arrays: Any) -> None:
        super().__init__(arrays)
        self.name = f"Gathered{self.name}"


register_model(_GatheredHandle)(_HandleModel)


@unbox(_GatheredHandle)
def _address(kind, instance, c):
    number = c.pyapi.object_getattr_string(instance, "address")
    address = c.pyapi.long_as_longlong(number)
    c.pyapi.decref(number)
    return NativeValue(c.builder.inttoptr(address, c.context.get_value_type(kind)))


@intrinsic
def _copy(typing_context, handle, words):
    def generate(context, builder, signature, arguments):
        descriptors = builder.load(arguments[0])
        size = ir.Constant(ir.IntType(64), context.get_abi_sizeof(descriptors.type))
        target = context.make_array(words)(context, builder, arguments[1])
        room = builder.mul(target.nitems, target.itemsize)
        with builder.if_then(builder.icmp_signed("<=", size, room)):
            builder.store(descriptors, builder.bitcast(target.data, descriptors.type.as_pointer()))
        return size

    return types.int64(handle, words), generate


_copy_descriptors: Any = _copy


@compiled
def _write(arrays: Any, words: Any) -> int:
    """Copy the descriptors if there is room for them; how many bytes they have."""
    size: int = _copy_descriptors(arrays, words)
    return size
