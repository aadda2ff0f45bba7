"""What is refused when a policy is registered: a score that cannot work, with the line to change.

The score is looked at and rehearsed in Python, which takes no compiler and no time. What only the compiler
can tell is told before the first unit.
"""

from __future__ import annotations

import dis
import inspect
import math
import numbers
from collections.abc import Callable
from types import CodeType
from typing import TYPE_CHECKING, Any

import numpy as np

from equipoise.core.arrays import Vector
from equipoise.core.choice.score_errors import field_hint, refused
from equipoise.core.choice.scoring import check_score
from equipoise.core.jit.sources import is_stamped
from equipoise.core.policies.base.rehearsal import (
    AnySettings,
    KnownSettings,
    NoSuchField,
    OutOfBounds,
    Scene,
    rehearse,
)
from equipoise.core.problem.problem import Problem
from equipoise.errors import InvalidPolicy

if TYPE_CHECKING:
    from equipoise.core.policies.base.policy import Policy

_ARMS, _DIM, _BUDGET = 3, 2, 60
_SETTINGS_HINT = (
    "settings are the policy's fields in order, from 0, or what its settings(problem) returns; "
    "a function has none: write a class with fields"
)


def check_definition(kind: type[Policy]) -> None:
    """Refuse a class whose score takes other arguments, reads what is not there, or returns no number."""
    function: Any = kind.score
    # The package's own scores are looked at by its tests.
    if kind.staged or kind.weighs or is_stamped(function):
        if function is _policy().score and not (kind.staged or kind.weighs):
            raise InvalidPolicy(
                f"{kind.__name__} has no score", hint="give it a static score(arm, trial, settings)"
            )
        return
    check_score(function)
    _check_arguments(function)
    _check_end(function)
    settings = _default_settings(kind)
    rehearse_score(
        function,
        settings,
        arms=_ARMS,
        dim=_DIM,
        units=_BUDGET,
        from_start=not kind.forced_start,
    )


def rehearse_score(
    function: Callable[..., Any],
    settings: Vector | None,
    *,
    arms: int,
    dim: int,
    units: int,
    from_start: bool = False,
) -> None:
    """Refuse a score that reads what there is not, or gives no number in an everyday experiment.

    ``settings`` are None where nobody knows them; then a score may give not a number. ``from_start`` says
    that it is asked before the first unit, too.
    """
    given = AnySettings() if settings is None else KnownSettings(settings)
    # A place with not a number belongs to a field that is none, and is filled when the policy is built.
    strict = settings is not None and not np.isnan(settings).any()
    try:
        twice = (rehearse(function, given, arms=arms, dim=dim, units=units) for _ in range(2))
        for (scene, value), (_, again) in zip(*twice, strict=False):
            if not _are_same(value, again):
                raise refused(
                    function,
                    "gives another number each time",
                    hint="whoever verifies a decision must come to the same; for lots there is chance=",
                )
            if scene.words or from_start:
                _check_value(function, scene, value, strict)
    except OutOfBounds as error:
        assert settings is not None
        count = len(settings)
        there = f"there {'is' if count == 1 else 'are'} {count or 'no'} setting{'s' * (count != 1)}"
        raise refused(
            function,
            f"reads settings[{error.place}], and {there}",
            hint=_SETTINGS_HINT,
            line=_failing_line(function, error),
        ) from None
    except NoSuchField as error:
        hint = "settings are read by place: settings[0]"
        if error.record != "settings":
            hint = field_hint(error.name)
        raise refused(
            function,
            f"reads {error.record}.{error.name}, which there is not",
            hint=hint,
            line=_failing_line(function, error),
        ) from None


def _check_arguments(function: Callable[..., Any]) -> None:
    signature = inspect.signature(function)
    try:
        signature.bind(None, None, None)
    except TypeError:
        given = ", ".join(signature.parameters) or "nothing"
        hint = f"write def {function.__name__}(arm, trial, settings):"
        if next(iter(signature.parameters), "") == "self":
            hint = f"put @staticmethod above it, and {hint}"
        raise refused(
            function, f"takes {given} instead of arm, trial and settings", hint=hint, line=_def_line(function)
        ) from None


def _check_end(function: Any) -> None:
    """Refuse a score that can end without a value."""
    line, constant = None, object()
    for step in dis.get_instructions(function):
        line = step.positions.lineno if step.positions and step.positions.lineno else line
        ends = step.opname == "RETURN_CONST" and step.argval is None
        if ends or (step.opname == "RETURN_VALUE" and constant is None):
            raise refused(function, "can end without a number", hint="end it with return …", line=line)
        constant = step.argval if step.opname == "LOAD_CONST" else object()


def _check_value(function: Any, scene: Scene, value: Any, strict: bool) -> None:
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if not isinstance(value, numbers.Real | np.bool_):
        kind = type(value).__name__
        hint = "return one number; the arm with the highest gets the unit"
        raise refused(function, f"returns a {kind}, not a number", hint=hint, line=_return_line(function))
    if strict and math.isnan(value):
        place = scene.words or "before the first unit"
        hint = "infinity is fine, not a number is not: look for 0/0, inf − inf and roots of negative numbers"
        raise refused(function, f"gives not a number {place}", hint=hint, line=_return_line(function))


def _are_same(value: Any, again: Any) -> bool:
    """Whether a score says the same twice; what is no number is refused elsewhere."""
    if not (isinstance(value, numbers.Real) and isinstance(again, numbers.Real)):
        return True
    return value == again or (math.isnan(value) and math.isnan(again))


def _default_settings(kind: type[Policy]) -> Vector | None:
    """Settings of the policy at its defaults; None if it has none, or they depend on more than that."""
    try:
        settings = np.array(kind().settings(Problem(_ARMS, _DIM, budget=_BUDGET)), dtype=float)
    except Exception:  # whatever it is, building and using the policy will tell
        return None
    return settings if settings.ndim == 1 else None


def _def_line(function: Any) -> int | None:
    """The line of ``def``, below decorators."""
    code: CodeType = function.__code__
    lines = [line for *_, line in code.co_lines() if line is not None]
    return lines[0] if lines else None


def _return_line(function: Any) -> int | None:
    """The line that returns, if there is only one."""
    lines = {
        step.positions.lineno
        for step in dis.get_instructions(function)
        if step.opname.startswith("RETURN_") and step.positions and step.positions.lineno
    }
    return lines.pop() if len(lines) == 1 else _def_line(function)


def _failing_line(function: Any, error: BaseException) -> int | None:
    """The line of the score in which a rehearsal broke off."""
    trace, line = error.__traceback__, None
    while trace is not None:
        if trace.tb_frame.f_code is function.__code__:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def _policy() -> type[Policy]:
    from equipoise.core.policies.base.policy import Policy

    return Policy
