"""Arrays that lie at an address, for functions that generate code themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numba.np import arrayobj


def array_at(
    context: Any, builder: Any, kind: Any, address: Any, shape: Sequence[Any], *, one_row: bool = False
) -> Any:
    """The array in C order of some type and shape that lies at an address; nobody counts who uses it.

    ``one_row``: only its first row is there, and stands for all.
    """
    array = context.make_array(kind)(context, builder)
    size = context.get_abi_sizeof(context.get_data_type(kind.dtype))
    item = array.itemsize.type(size)
    strides = [item]
    for length in reversed(shape[1:]):
        strides.insert(0, builder.mul(strides[0], length))
    if one_row:
        strides[0] = item.type(0)
    data = builder.bitcast(address, array.data.type)
    arrayobj.populate_array(array, data, list(shape), strides, item, None)
    return array._getvalue()
