"""Names and counts of arms and features, checked."""

from __future__ import annotations

import operator
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from equipoise.errors import DuplicateArm, InvalidProblem


def arm_names(arms: Sequence[str] | int) -> tuple[str, ...]:
    """Names of the arms as they were given, or ``arm-1``, ``arm-2``, …."""
    if isinstance(arms, str):
        raise InvalidProblem(f"arms={arms!r} is one string", hint=f"for one arm write [{arms!r}]")
    if not isinstance(arms, Sequence) and not isinstance(arms, np.ndarray):
        return tuple(f"arm-{i + 1}" for i in range(positive_integer("arms", arms)))
    names = tuple(arms)
    if not names:
        raise InvalidProblem("no arms", hint="name at least one, e.g. arms=['placebo', 'drug']")
    for name in names:
        if not isinstance(name, str) or not name:
            raise InvalidProblem(
                f"arm name {name!r} is not a non-empty string",
                hint="give names, or just the number of arms, e.g. arms=3",
            )
        if not is_text(name):
            raise InvalidProblem(f"arm name {name!r} holds half a character", hint="write the name anew")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DuplicateArm(
            f"arm name used twice: {', '.join(map(repr, twice))}", hint="every arm needs its own name"
        )
    return tuple(str(name) for name in names)


def is_text(name: str) -> bool:
    """Whether it can be written to a file: half of a pair of code units cannot."""
    return re.search("[\ud800-\udfff]", name) is None


def positive_integer(name: str, value: Any) -> int:
    """A whole number of at least 1, or InvalidProblem."""
    try:
        number = operator.index(value)
    except TypeError:
        number = 0
    if number < 1 or isinstance(value, bool):
        raise InvalidProblem(f"{name}={value!r} is not a positive whole number")
    return number
