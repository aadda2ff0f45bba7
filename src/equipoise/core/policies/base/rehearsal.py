"""A score as plain Python, run once on made-up records to see which settings it reads.

Compiled functions that it calls are run as the Python that they were written in. A rehearsal is no judge
of anything else: Python raises where compiled code gives infinity or not a number.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from itertools import product
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from equipoise.core.arms.state import ARM, TRIAL
from equipoise.core.arrays import Vector
from equipoise.core.jit.fingerprint import is_foreign

# Beyond it a score that loops over units would take long.
_MOST_UNITS = 100_000


class OutOfBounds(Exception):
    """A setting that does not exist was read."""

    def __init__(self, place: int) -> None:
        super().__init__(place)
        self.place = place


def rehearse(score: Callable[..., float], settings: Vector, *, arms: int, dim: int, units: int) -> None:
    """Run a score on records of the first and of the last unit; raise :class:`OutOfBounds` if it is."""
    plain = _Rehearsal().plain(score)
    last = min(units, _MOST_UNITS) - 1
    for place, step in product({0, arms - 1}, {0, last}):
        arm, trial = _records(place, step, arms, dim, units)
        try:
            with np.errstate(all="ignore"):
                plain(arm, trial, _Settings(settings))
        except OutOfBounds:
            raise
        except Exception:  # what else is wrong with it, the compiler or the trial will tell
            continue


class _Settings:
    """Numbers in a row that know where they end, in both directions."""

    def __init__(self, values: Vector) -> None:
        self._values = values

    def __getitem__(self, place: Any) -> Any:
        if not 0 <= place < len(self._values):
            raise OutOfBounds(int(place))
        return self._values[place]


class _Record:
    """Fields by name, as compiled records have them."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.__dict__.update(values)

    def __getitem__(self, name: str) -> Any:
        return self.__dict__[name]


def _records(place: int, step: int, arms: int, dim: int, units: int) -> tuple[_Record, _Record]:
    """An arm and a trial as they are before the first unit, or late, when this arm has had them all."""
    arm = {name: np.float64(1.0) if ARM[name].kind == "f" else np.int64(0) for name in ARM.names or ()}
    trial = {name: np.float64(1.0) if TRIAL[name].kind == "f" else np.int64(0) for name in TRIAL.names or ()}
    counts = ("count", "observed", "assigned", "design_tried")
    arm.update(dict.fromkeys(counts, np.int64(step)), position=np.int64(place), order=np.int64(place))
    arm.update(dof=np.int64(max(step - dim, 0)), open=np.int64(1))
    arm.update(dict.fromkeys(("design_ready", "data_ready"), np.int64(step > dim)))
    trial.update(arms=np.int64(arms), dim=np.int64(dim), budget=np.int64(units), step=np.int64(step))
    return _Record(arm), _Record(trial)


class _Rehearsal:
    """Functions with everything compiled that they use replaced by its Python."""

    def __init__(self) -> None:
        self._plain: dict[int, Any] = {}

    def plain(self, value: Any) -> Any:
        function = getattr(value, "py_func", value)
        if isinstance(function, ModuleType) and not is_foreign(function.__name__):
            return _Module(function, self)
        if not isinstance(function, FunctionType) or is_foreign(function.__module__):
            return value
        if id(function) not in self._plain:
            names: dict[str, Any] = {}
            cells = tuple(CellType() for _ in function.__closure__ or ())
            copied = FunctionType(
                function.__code__, names, function.__name__, function.__defaults__, cells or None
            )
            copied.__kwdefaults__ = function.__kwdefaults__
            self._plain[id(function)] = copied  # before its names: it may call itself
            known = function.__globals__
            names.update({name: self.plain(known[name]) for name in _names(function.__code__) & known.keys()})
            for cell, own in zip(cells, function.__closure__ or (), strict=True):
                with suppress(ValueError):  # never filled
                    cell.cell_contents = self.plain(own.cell_contents)
        return self._plain[id(function)]


class _Module:
    """A module whose functions are plain Python."""

    def __init__(self, module: ModuleType, rehearsal: _Rehearsal) -> None:
        self._module, self._rehearsal = module, rehearsal

    def __getattr__(self, name: str) -> Any:
        return self._rehearsal.plain(getattr(self._module, name))


def _names(code: CodeType) -> set[str]:
    """Names that a function and those inside it look up."""
    inside = [_names(constant) for constant in code.co_consts if isinstance(constant, CodeType)]
    return set(code.co_names).union(*inside)
