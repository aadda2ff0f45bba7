"""What people hand to an experiment, checked before anything changes: contexts, outcomes, seeds."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from equipoise.core.arrays import Matrix, Vector
from equipoise.core.jit.decorators import compiled
from equipoise.core.problem.real import NotReal, real_array, real_number
from equipoise.errors import InvalidArgument, InvalidContext, InvalidOutcome

_FLOAT = np.dtype(np.float64)

LARGEST = 1e140
"""Contexts and residuals are squared and summed; beyond this they would overflow."""


def checked_context(x: npt.ArrayLike, dim: int) -> Vector:
    """One context as an array, or InvalidContext."""
    try:
        # What most callers hand over needs no look at its entries.
        known = type(x) is np.ndarray and x.dtype is _FLOAT
        # A copy: what is checked must be what is used, whatever another thread does to the caller's array.
        context: Vector = np.array(x if known else real_array(x), order="C")
    except NotReal as error:
        raise InvalidContext(f"the context holds {error}", hint=error.hint) from None
    except (TypeError, ValueError, OverflowError):
        raise InvalidContext("the context is not a list of numbers") from None
    if context.shape != (dim,):
        raise InvalidContext(
            f"the context has shape {context.shape}, expected ({dim},)",
            hint="one number per feature, in the order of the problem",
        )
    if not _is_within(context, LARGEST):
        place = int(np.flatnonzero(~(np.abs(context) < LARGEST))[0])
        if np.isfinite(context[place]):
            raise InvalidContext(
                f"the context is too large to square at position {place}: {context[place]}",
                hint="give the feature another unit",
            )
        raise InvalidContext(
            f"the context has no finite number at position {place}: {context[place]}",
            hint="impute missing features before asking",
        )
    return context


def checked_batch(contexts: Any, dim: int) -> Matrix:
    """Contexts as the rows of a matrix, or InvalidContext that says which unit is wrong."""
    # A data frame would list its columns, an array of one number nothing.
    # A masked array keeps its mask.
    table = hasattr(contexts, "__array__") and not isinstance(contexts, np.ndarray)
    rows = np.asarray(contexts) if table else contexts
    if not isinstance(rows, Iterable) or (isinstance(rows, np.ndarray) and rows.ndim != 2):
        raise InvalidContext("the batch is not a list of contexts", hint="one row of numbers a unit")
    batch = []
    for j, row in enumerate(rows):
        try:
            batch.append(checked_context(row, dim))
        except InvalidContext as error:
            raise InvalidContext(f"unit {j} of the batch: {error.message}", hint=error.hint) from None
    return np.array(batch).reshape(len(batch), dim)


def checked_outcome(outcome: float) -> float:
    """An outcome as a finite number, or InvalidOutcome."""
    what, hint = "", "if it will never be known call lose(id)"
    try:
        value = float(outcome) if type(outcome) is int else real_number(outcome)
    except NotReal as error:
        value, what, hint = math.nan, f", but {error.what}", error.hint
    except (TypeError, ValueError, OverflowError):
        value = math.nan
    if math.isfinite(value) and not abs(value) < LARGEST:
        raise InvalidOutcome(f"outcome {outcome!r} is too large to square", hint="give it another unit")
    if not math.isfinite(value):
        raise InvalidOutcome(f"outcome {outcome!r} is not a finite number{what}", hint=hint)
    return value


def checked_seed(seed: int) -> int:
    """A seed, or InvalidArgument."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise InvalidArgument(f"seed={seed!r} is not a whole number of at least 0")
    return int(seed)


@compiled
def _is_within(x: Vector, limit: float) -> bool:
    """Whether every entry is a number smaller than ``limit`` in size."""
    for c in range(x.shape[0]):
        if not abs(x[c]) < limit:
            return False
    return True
