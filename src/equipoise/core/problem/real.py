"""Real numbers, told apart from what NumPy turns into numbers without a word: masks, text, dates."""

from __future__ import annotations

import datetime
import sys
from decimal import Decimal
from numbers import Number, Real
from typing import Any

import numpy as np
import numpy.typing as npt

_HINTS = {
    "masked entries": "fill them with numbers, or leave them out",
    "text": "turn it into numbers first",
    "dates or times": "count days or seconds from a date of your choice",
    "complex numbers": "give real and imaginary parts as two numbers",
    "missing values": "fill them with numbers, or leave them out",
    "true and false": "write 1 and 0, e.g. with .astype(float)",
    "records": "give plain numbers",
}
_KINDS = {
    "c": "complex numbers",
    "M": "dates or times",
    "m": "dates or times",
    "S": "text",
    "U": "text",
    "T": "text",
    "V": "records",
}
_TIMES = (
    datetime.date,
    datetime.time,
    datetime.timedelta,
    np.datetime64,
    np.timedelta64,
)


_PLAIN = frozenset({float, int, np.float64})


class NotReal(ValueError):
    """``what`` is where real numbers were expected."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what}, not real numbers")
        self.what = what
        self.hint = _HINTS.get(what, "give numbers")


def real_array(values: Any) -> npt.NDArray[np.float64]:
    """Numbers of any kind as an array; NotReal names what else is there.

    A masked array without masked entries is its data. Ragged lists raise ValueError, whole numbers
    beyond all floating-point numbers OverflowError.

    >>> real_array([1, 2.5])
    array([1. , 2.5])
    >>> real_array(["1.5"])
    Traceback (most recent call last):
    ...
    equipoise.core.problem.real.NotReal: text, not real numbers
    """
    _refuse_masks(values)
    array = np.asarray(values)
    if array.dtype.kind == "O":
        for cell in array.flat:
            what = foreign_kind(cell)
            if what is not None:
                raise NotReal(what)
    elif array.dtype.kind in _KINDS:
        raise NotReal(_KINDS[array.dtype.kind])
    return array.astype(np.float64, copy=False)


def are_plain(values: Any) -> bool:
    """Whether it is a list of Python's own numbers, which NumPy takes for what they are."""
    return type(values) is list and _PLAIN.issuperset(map(type, values))


def real_number(value: Any) -> float:
    """One number of any kind; ValueError otherwise."""
    if isinstance(value, float):
        return float(value)
    number = real_array(value)
    if number.ndim != 0:
        raise ValueError("not one number")
    return float(number)


def foreign_kind(value: Any) -> str | None:
    """What a value is that is no real number; None for a real number."""
    # An interval of NumPy's calls itself a whole number.
    if isinstance(value, _TIMES):
        return "dates or times"
    if isinstance(value, bool | np.bool_):
        return "true and false"
    if isinstance(value, Real | Decimal):
        return None
    if isinstance(value, Number):
        return "complex numbers"
    if isinstance(value, str | bytes):
        return "text"
    # pandas writes NA and NaT.
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return "missing values"
    return f"objects of type {type(value).__name__}"


def _refuse_masks(values: Any, levels: int = 2) -> None:
    """Masks are lost where NumPy makes one array of rows or of numbers."""
    # Who has one has imported numpy.ma; for others that would take as long as all their work.
    if "numpy.ma" in sys.modules and isinstance(values, np.ma.MaskedArray):
        if np.ma.is_masked(values):
            raise NotReal("masked entries")
    elif levels and isinstance(values, (list, tuple)) and not _PLAIN.issuperset(map(type, values)):
        for part in values:
            _refuse_masks(part, levels - 1)
