"""What people hand to support recovery and to the lasso, checked before anything is computed."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from equipoise.core.arrays import Matrix, Vector
from equipoise.core.problem.inputs import LARGEST
from equipoise.core.sparse.standardised import Integers
from equipoise.errors import InvalidArgument


def checked_rows(
    contexts: npt.ArrayLike, outcomes: npt.ArrayLike, arms: npt.ArrayLike, arm_count: int
) -> tuple[Matrix, Vector, Integers]:
    """Contexts [rows, d], outcomes [rows] and arms [rows], or InvalidArgument."""
    if isinstance(arm_count, bool) or not isinstance(arm_count, int | np.integer) or arm_count < 1:
        raise InvalidArgument(f"arm_count={arm_count!r} is not a whole number of at least 1")
    table, told = _numbers("contexts", contexts), _numbers("outcomes", outcomes)
    if table.ndim != 2 or table.shape[1] < 1:
        raise InvalidArgument(
            f"contexts have shape {table.shape}, expected (rows, features)", hint="one row a unit"
        )
    try:
        places = np.ascontiguousarray(arms)
    except (TypeError, ValueError):
        places = np.zeros(0)
    if not np.issubdtype(places.dtype, np.integer) and places.size > 0:
        raise InvalidArgument("arms are not whole numbers", hint="the place of each row's arm, from 0")
    for name, array in (("outcomes", told), ("arms", places)):
        if array.shape != (len(table),):
            raise InvalidArgument(
                f"{name} have shape {array.shape}, expected ({len(table)},)", hint="one a row of contexts"
            )
    if len(places) and not (0 <= places.min() and places.max() < arm_count):
        raise InvalidArgument(f"arms are not between 0 and {arm_count - 1}")
    return table, told, places.astype(np.int64)


def _numbers(name: str, values: Any) -> npt.NDArray[np.float64]:
    try:
        array = np.ascontiguousarray(values, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise InvalidArgument(f"{name} are not numbers") from None
    # One pass decides: a comparison with NaN is false.
    if array.size and not np.abs(array).max() < LARGEST:
        row = int(np.argwhere(~(np.abs(array) < LARGEST))[0][0])
        raise InvalidArgument(
            f"{name} have no finite number in row {row}, or one too large to square",
            hint="leave such rows out, or give the column another unit",
        )
    return array
