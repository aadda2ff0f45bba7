"""Asking and telling as plain data, so that another process can do it instead.

A call is what a request does in its turn. One whose parts are plain can be written down, and is the same call
where it is read: floats are written with all their digits. Whatever else people give, such as a row of a data
frame, stays in the process that got it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from equipoise.core.experiment.assignment import Assignment
from equipoise.live.experiment.requests import asking
from equipoise.live.experiment.requests.turn import Turn

Call = list[Any]
"""A call that is written down: its kind, then its parts."""


@dataclass(slots=True)
class Ask:
    """Assign a unit to an arm."""

    x: Any
    unit: Any
    arm: Any
    arms: Any

    def __call__(self, turn: Turn) -> list[Assignment]:
        """Do it."""
        unit = turn.experiment.ask(self.x, self.unit, arm=self.arm, arms=self.arms)
        return asking.noted(turn, [unit])

    def plain(self) -> Call | None:
        """The call written down, if it can be."""
        x, unit, arms = self.x, self.unit, self.arms
        if isinstance(x, np.ndarray):
            x = x.tolist() if x.dtype == np.float64 and x.ndim == 1 else None
        if type(x) is dict:
            numbers: Sequence[Any] = [value for value in x.values() if type(value) is not str]
            is_plain = all(type(name) is str for name in x)
        else:
            numbers, is_plain = x, type(x) is list
        if not is_plain or not all(map(_is_number, numbers)) or self.arm is not None:
            return None
        if not (unit is None or type(unit) is str) or not (arms is None or _are_names(arms)):
            return None
        return ["ask", x, unit, arms]


@dataclass(slots=True)
class Tell:
    """Record the outcome of a unit."""

    unit: Any
    outcome: Any

    def __call__(self, turn: Turn) -> None:
        """Do it."""
        turn.experiment.tell(self.unit, self.outcome)

    def plain(self) -> Call | None:
        """The call written down, if it can be."""
        is_plain = type(self.unit) in (str, int) and _is_number(self.outcome)
        return ["tell", self.unit, self.outcome] if is_plain else None


def called(call: Call) -> Ask | Tell:
    """The call that was written down."""
    kind, *parts = call
    if kind == "ask":
        x, unit, arms = parts
        return Ask(x, unit, None, arms)
    return Tell(*parts)


def _is_number(value: Any) -> bool:
    return type(value) is int or (type(value) is float and math.isfinite(value))


def _are_names(arms: Any) -> bool:
    return type(arms) is list and all(type(arm) is str for arm in arms)
