"""Plain numbers from what people give: they compare, hash and are written as they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from equipoise.core.problem.real import NotReal, real_array, real_number
from equipoise.errors import InvalidScenario

Rows = tuple[tuple[float, ...], ...]


# What can be gone through, but is no list of numbers.
_NO_LIST = (str, bytes, Mapping)


def as_number(name: str, value: Any) -> float:
    """A plain float, which compares, hashes and is written as it is."""
    try:
        if not isinstance(value, bool):
            return real_number(value) + 0.0  # never −0.0, which is equal to 0.0 but written otherwise
    except (TypeError, ValueError, OverflowError):
        pass
    raise InvalidScenario(f"{name}={value!r} is not a number")


def as_numbers(name: str, values: Any) -> tuple[float, ...]:
    """Plain floats in a tuple."""
    try:
        if not isinstance(values, _NO_LIST):
            return tuple(as_number(name, value) for value in values)
    except (TypeError, InvalidScenario):
        pass
    raise InvalidScenario(f"{name}={values!r} is not a list of numbers")


def as_count(name: str, value: Any, *, least: int) -> int:
    """A plain whole number."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InvalidScenario(f"{name}={value!r} is not a whole number of at least {least}")
    return int(value)


def as_counts(name: str, values: Any) -> tuple[int | None, ...]:
    """Plain whole numbers in a tuple; None where there is no limit."""
    if isinstance(values, _NO_LIST) or not isinstance(values, Iterable):
        raise InvalidScenario(f"{name}={values!r} is not a list of whole numbers")
    return tuple(None if value is None else as_count(name, value, least=0) for value in values)


def as_rows(name: str, matrix: npt.ArrayLike) -> Rows:
    """A matrix as tuples, which compare and hash."""
    try:
        values = real_array(matrix)
    except NotReal as error:
        raise InvalidScenario(f"{name} holds {error}", hint=error.hint) from None
    except (TypeError, ValueError, OverflowError):
        raise InvalidScenario(f"{name}={matrix!r} is not a matrix of numbers") from None
    if values.ndim != 2:
        raise InvalidScenario(f"{name} has shape {values.shape}: expected rows of numbers")
    if not np.all(np.isfinite(values)):
        raise InvalidScenario(f"{name} has entries that are not finite numbers")
    return tuple(tuple(row) for row in (values + 0.0).tolist())
