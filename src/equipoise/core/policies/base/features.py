"""Features as arguments of policies: numbers counted from 0, checked."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from equipoise.core.policies.base.staged import Columns
from equipoise.core.problem.problem import Problem
from equipoise.errors import InvalidPolicy


def checked_features(support: Any) -> tuple[int, ...]:
    """Features in ascending order, each once; a single one may come without a list."""
    listed = support if isinstance(support, tuple | list | np.ndarray) else (support,)
    columns = [checked_count("support", column, least=0) for column in listed]
    if len(set(columns)) < len(columns):
        raise InvalidPolicy("support= lists a feature twice", hint="list every feature once")
    return tuple(sorted(columns))


def checked_columns(support: tuple[int, ...], problem: Problem) -> Columns:
    """The features as columns of the problem's contexts."""
    if support and support[-1] >= problem.dim:
        raise InvalidPolicy(
            f"support= names feature {support[-1]}, and there are {problem.dim}",
            hint=f"features are counted from 0 to {problem.dim - 1}",
        )
    return np.array(support, np.int64)


def checked_count(name: str, value: Any, *, least: int) -> int:
    """A whole number that is not below ``least``."""
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if number < least or isinstance(value, bool):
        raise InvalidPolicy(
            f"{name}={value!r} is not a whole number of at least {least}", hint=f"e.g. {name}={max(least, 3)}"
        )
    return number
