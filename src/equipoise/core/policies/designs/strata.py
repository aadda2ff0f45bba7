"""Columns of the contexts as categories: a value's level is how many of some cuts it exceeds.

With the cut at 0, the default, columns of 0 and 1 and of −1 and 1 are the categories that they mean, and a
centred number is low or high. Whole numbers 0, 1, 2 are told apart by the cuts 0 and 1. So there are never
more levels than were asked for, whatever values come.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from equipoise.core.arms.widths import is_number
from equipoise.core.arrays import Vector
from equipoise.core.jit.decorators import compiled
from equipoise.core.problem.problem import Problem
from equipoise.errors import InvalidPolicy

MOST_STRATA = 10_000


def checked_columns(columns: Any) -> tuple[int, ...]:
    """Columns as they are given, each once; a single one may come without a list."""
    listed = columns if isinstance(columns, tuple) else (columns,)
    found = []
    for column in listed:
        try:
            found.append(operator.index(column))
        except TypeError:
            found.append(-1)
        if found[-1] < 0 or isinstance(column, bool):
            raise InvalidPolicy(
                f"columns={columns!r} are not columns of the contexts", hint="count them from 0, e.g. (0, 2)"
            )
    if len(set(found)) < len(found):
        raise InvalidPolicy(f"columns={columns!r} name a column twice", hint="name each once")
    return tuple(found)


def checked_cuts(cuts: Any, columns: tuple[int, ...] | None) -> tuple[Any, ...]:
    """Cuts of all columns, or one tuple of them for each column."""
    listed = cuts if isinstance(cuts, tuple) else (cuts,)
    if any(isinstance(cut, tuple) for cut in listed):
        if columns is None or len(listed) != len(columns):
            raise InvalidPolicy(
                f"cuts={cuts!r} are not one tuple for every column of columns={columns!r}",
                hint="name the columns, e.g. columns=(0, 2), cuts=((0.0,), (30.0, 50.0))",
            )
        return tuple(_ascending(cut, cuts) for cut in listed)
    return _ascending(listed, cuts)


def _ascending(values: Any, given: Any) -> tuple[float, ...]:
    listed = values if isinstance(values, tuple) else (values,)
    if not all(is_number(value) and math.isfinite(value) for value in listed) or any(
        low >= high for low, high in pairwise(listed)
    ):
        raise InvalidPolicy(f"cuts={given!r} are not numbers in ascending order", hint="e.g. (0.0, 1.0)")
    return tuple(float(value) + 0.0 for value in listed)  # no −0


def cuts_of(columns: tuple[int, ...], cuts: tuple[Any, ...]) -> list[tuple[float, ...]]:
    """Every column's own cuts."""
    return list(cuts) if any(isinstance(cut, tuple) for cut in cuts) else [cuts] * len(columns)


def recut(columns: tuple[int, ...], cuts: tuple[Any, ...], factors: Sequence[float]) -> tuple[Any, ...]:
    """The same cuts of columns that are multiplied by ``factors``."""
    own = cuts_of(columns, cuts)
    return tuple(tuple(c * factors[j] for c in cut) for j, cut in zip(columns, own, strict=True))


def columns_of(label: str, columns: tuple[int, ...] | None, problem: Problem) -> tuple[int, ...]:
    """The columns that are meant: None are all."""
    if columns is None:
        return tuple(range(problem.dim))
    if columns and max(columns) >= problem.dim:
        raise InvalidPolicy(
            f"{label} names column {max(columns)}, and there are {problem.dim}",
            hint=f"columns are counted from 0 to {problem.dim - 1}",
        )
    return columns


def check_strata(label: str, columns: tuple[int, ...], cuts: tuple[Any, ...]) -> int:
    """How many strata there are; too many are refused."""
    strata = math.prod(len(cut) + 1 for cut in cuts_of(columns, cuts))
    if strata > MOST_STRATA:
        raise InvalidPolicy(
            f"{label} would have {strata} strata, more than {MOST_STRATA}",
            hint="use fewer columns or cuts, or minimisation, which balances each column by itself",
        )
    return strata


def pack(columns: tuple[int, ...], cuts: tuple[Any, ...]) -> list[float]:
    """Settings that :func:`level` reads: how many columns; then for each its place, cuts, how many first."""
    packed = [float(len(columns))]
    for column, own in zip(columns, cuts_of(columns, cuts), strict=True):
        packed += [float(column), float(len(own)), *own]
    return packed


@compiled
def level(settings: Vector, place: int, context: Vector) -> int:
    """Level of the column whose settings begin at ``place``."""
    x, found = context[int(settings[place])], 0
    for c in range(int(settings[place + 1])):
        found += x > settings[place + 2 + c]
    return found


@compiled
def stratum(settings: Vector, place: int, context: Vector) -> int:
    """Number of the stratum; what :func:`pack` wrote begins at ``place``."""
    number, at = 0, place + 1
    for _ in range(int(settings[place])):
        number = number * (int(settings[at + 1]) + 1) + level(settings, at, context)
        at += 2 + int(settings[at + 1])
    return number
