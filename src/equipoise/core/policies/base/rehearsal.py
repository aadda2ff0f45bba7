"""A score as plain Python, run on made-up records before it is compiled and trusted.

Compiled functions that it calls are run as the Python that they were written in. Where Python raises and
compiled code goes on, as at the logarithm of 0, the rehearsal goes on, too; other errors are for the compiler
to tell.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import product
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from equipoise.core.arms.state import ARM, TRIAL
from equipoise.core.arrays import Vector
from equipoise.core.jit.fingerprint import is_foreign

# Beyond it a score that loops over units would take long.
_MOST_UNITS = 100_000
# σ̂² of the arms, in units of their mean: quiet, usual, wild.
_NOISE = (0.1, 1.0, 4.0)


class OutOfBounds(Exception):
    """A setting that does not exist was read."""

    def __init__(self, place: int) -> None:
        super().__init__(place)
        self.place = place


class NoSuchField(Exception):
    """Something that ``arm``, ``trial`` or ``settings`` does not have was read."""

    def __init__(self, record: str, name: str) -> None:
        super().__init__(record, name)
        self.record, self.name = record, name


class Scene(NamedTuple):
    """A moment of an experiment as a score sees it, and what is special about it."""

    words: str
    arm: Any
    trial: Any


def rehearse(
    score: Callable[..., Any], settings: Any, *, arms: int, dim: int, units: int
) -> Iterator[tuple[Scene, Any]]:
    """What a score gives in scenes of an experiment; raises what is wrong with it for sure."""
    plain = _Rehearsal().plain(score)
    for scene in _scenes(arms, dim, units):
        try:
            with np.errstate(all="ignore"):
                value = plain(scene.arm, scene.trial, settings)
        except (OutOfBounds, NoSuchField):
            raise
        except Exception:  # what else is wrong with it, the compiler or the trial will tell
            continue
        yield scene, value


class KnownSettings:
    """Numbers in a row that know where they end, in both directions."""

    def __init__(self, values: Vector) -> None:
        self._values = values

    def __getitem__(self, place: Any) -> Any:
        if not 0 <= place < len(self._values):
            raise OutOfBounds(int(place))
        return self._values[place]

    def __getattr__(self, name: str) -> Any:
        raise NoSuchField("settings", name)


class AnySettings:
    """Stands for settings that only a built policy has."""

    def __getitem__(self, place: Any) -> Any:
        return np.float64(1.0)

    def __getattr__(self, name: str) -> Any:
        raise NoSuchField("settings", name)


class _Record:
    """Fields by name, as compiled records have them."""

    def __init__(self, kind: str, values: dict[str, Any]) -> None:
        self.__dict__.update(values)
        self.__dict__["_kind"] = kind

    def __getitem__(self, name: str) -> Any:
        return self.__dict__[name]

    def __getattr__(self, name: str) -> Any:
        raise NoSuchField(self._kind, name)


def _scenes(arms: int, dim: int, units: int) -> Iterator[Scene]:
    """The first and the last arm: before the first unit, after the start, later, and with all units.

    An experiment with no outcomes back yet is among them.
    """
    last = min(units, _MOST_UNITS) - 1
    start = arms * (dim + 1)
    for place, step in product(sorted({0, arms - 1}), sorted({0, last})):
        yield _scene("", place, step, step, max(step - dim, 0), 1.0, arms, dim, units)
    for place, noise in product(sorted({0, arms - 1}), _NOISE):
        for step in sorted({start, min(2 * start, last), last}):
            count = max(step // arms, dim + 1)
            words = f"with {count} units in an arm and all outcomes known"
            yield _scene(words, place, step, count, count - dim, noise, arms, dim, units)
    words = f"with {dim + 1} units in an arm and no outcome known yet"
    yield _scene(words, 0, start, dim + 1, 0, 1.0, arms, dim, units)


def _scene(
    words: str, place: int, step: int, count: int, dof: int, noise: float, arms: int, dim: int, units: int
) -> Scene:
    arm, trial = _ones(ARM), _ones(TRIAL)
    counts = ("count", "assigned", "design_tried")
    arm.update(dict.fromkeys(counts, np.int64(count)), position=np.int64(place), order=np.int64(place))
    waits = dof == 0 < count
    arm.update(observed=np.int64(0 if waits else count), pending=np.int64(count if waits else 0))
    arm.update(dof=np.int64(dof), inverse_root_dof=np.float64(1.0 / math.sqrt(max(dof, 1))), open=np.int64(1))
    arm.update(dict.fromkeys(("design_ready", "data_ready"), np.int64(count > dim)))
    # Tr(ΣS⁻¹) of a typical arm is about d/(k − d).
    trace = np.float64((dim or 1) / max(count - dim, 1))
    arm.update(noise_variance=np.float64(noise), rss=np.float64(noise * dof), trace=trace, leverage=trace)
    arm.update(cap=np.int64(units))
    trial.update(arms=np.int64(arms), dim=np.int64(dim), budget=np.int64(units), step=np.int64(step))
    return Scene(words, _Record("arm", arm), _Record("trial", trial))


def _ones(kind: npt.DTypeLike) -> dict[str, Any]:
    """Every field: numbers are 1, counts 0."""
    record = np.dtype(kind)
    return {name: np.float64(1.0) if record[name].kind == "f" else np.int64(0) for name in record.names or ()}


class _Rehearsal:
    """Functions with everything compiled that they use replaced by its Python."""

    def __init__(self) -> None:
        self._plain: dict[int, Any] = {}

    def plain(self, value: Any) -> Any:
        function = getattr(value, "py_func", value)
        if isinstance(function, ModuleType) and (function is math or not is_foreign(function.__name__)):
            return _Module(function, self)
        if isinstance(function, BuiltinFunctionType) and function.__module__ == "math":
            return _as_compiled(function)
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


def _as_compiled(function: BuiltinFunctionType) -> Callable[..., Any]:
    """A function of ``math`` that answers where Python's raises: infinity, or not a number."""

    def answer(*values: Any) -> Any:
        try:
            return function(*values)
        except (ValueError, OverflowError):
            return getattr(np, {"pow": "power"}.get(function.__name__, function.__name__))(*values)

    return answer


def _names(code: CodeType) -> set[str]:
    """Names that a function and those inside it look up."""
    inside = [_names(constant) for constant in code.co_consts if isinstance(constant, CodeType)]
    return set(code.co_names).union(*inside)
