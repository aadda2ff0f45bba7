"""What a policy is, how it is registered, and how it is written on a command line."""

from __future__ import annotations

import dataclasses
import difflib
import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any, ClassVar, TypeVar, overload

import numpy as np

from equipoise.core.compiled import compile_score
from equipoise.core.layout import Vector
from equipoise.core.problem import Problem
from equipoise.errors import InvalidPolicy, UnknownPolicy

_REGISTRY: dict[str, type[Policy]] = {}
_WORDS = {"true": True, "false": False}

PolicyType = TypeVar("PolicyType", bound="type[Policy]")


class Policy:
    """A rule that says which arm gets the next unit: the one with the highest score.

    A policy is a frozen dataclass with keyword-only fields, a static ``score`` and, if it has
    numbers to pass to it, ``settings``. ``score(arm, trial, settings)`` is plain Python on numbers;
    it is compiled, so it may call ``math`` and NumPy scalar functions but no other Python objects.
    The fields of ``arm`` and ``trial`` are listed in :mod:`equipoise.core.layout`.

    >>> from dataclasses import dataclass
    >>> @register("doctest-least-pulled")
    ... @dataclass(frozen=True, kw_only=True)
    ... class LeastPulled(Policy):
    ...     '''Pull the arm with the fewest units per weight.'''
    ...
    ...     @staticmethod
    ...     def score(arm, trial, settings):
    ...         return -arm.count / arm.weight
    >>> parse_policy("doctest-least-pulled")
    LeastPulled()
    """

    name: ClassVar[str]
    """Registry name, set by :func:`register`."""

    forced_start: ClassVar[bool] = True
    """Whether arms whose S is not invertible yet go first."""

    looks: ClassVar[bool] = False
    """Whether the score reads ``arm.gain``, what the context at hand is worth to the arm."""

    pools: ClassVar[bool] = False
    """Whether the score reads ``trial.pooled_variance`` and ``trial.pooled_dof``."""

    staged: ClassVar[bool] = False
    """Whether it is a :class:`~equipoise.core.staged.StagedPolicy`, which chooses features first."""

    contrasts: ClassVar[Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any]]]] = {}
    """For every field, two sets of arguments that must allocate differently; read by the checks."""

    def settings(self, problem: Problem) -> Vector:
        """Numbers the score reads, for one problem."""
        return np.zeros(1)

    @staticmethod
    def score(arm: Any, trial: Any, settings: Vector) -> float:
        """How urgently the arm needs the next unit."""
        raise NotImplementedError

    def lots(self) -> float:
        """Share of units whose arm is drawn by lot; above 0 only for policies that look."""
        return 0.0

    def reordered(self, order: Sequence[int]) -> Policy:
        """The same policy for a problem whose arms are listed in another order."""
        return self

    def informed(self, noise: Sequence[float]) -> Policy:
        """The same policy told the true noise variances; only policies that know them care."""
        return self

    def rescaled(self, factor: float) -> Policy:
        """The same policy for outcomes multiplied by ``factor``; unit-free policies are their own."""
        return self

    @property
    def spec(self) -> str:
        """The policy as it is written on a command line.

        >>> parse_policy("trace-ucb:width=0.5").spec
        'trace-ucb:width=0.5'
        """
        parts = [self.name]
        for field in _fields(type(self)):
            value = getattr(self, field.name)
            if value != field.default:
                parts.append(f"{field.name}={format_argument(value)}")
        return ":".join(parts)


@overload
def register(name: str) -> Callable[[Any], Any]: ...
@overload
def register(name: str, definition: Any) -> Any: ...
def register(name: str, definition: Any = None) -> Any:
    """Make a policy known by name, everywhere: in ``Experiment``, in the lab and on the command line.

    Decorates a :class:`Policy` subclass, or a bare score function for a policy without arguments.
    """
    if definition is None:
        return lambda later: register(name, later)
    if not name or any(sign in name for sign in ":=, \t\n"):
        raise InvalidPolicy(
            f"{name!r} cannot be a policy name", hint="use letters, digits and hyphens, e.g. 'my-policy'"
        )
    policy = definition if inspect.isclass(definition) else _from_function(definition)
    if not issubclass(policy, Policy):
        raise InvalidPolicy(
            f"{policy.__name__} is not a policy",
            hint="derive it from equipoise.Policy, or decorate a function",
        )
    if not dataclasses.is_dataclass(policy):
        policy = dataclasses.dataclass(frozen=True, kw_only=True)(policy)
    known = _registry().get(name)
    # The same definition executed again (a notebook cell) replaces itself.
    if known is not None and (known.__module__, known.__qualname__) != (
        policy.__module__,
        policy.__qualname__,
    ):
        raise InvalidPolicy(
            f"the name {name!r} is taken by {known.__module__}.{known.__qualname__}", hint="choose another"
        )
    assert issubclass(policy, Policy)
    policy.name = name
    _REGISTRY[name] = policy
    return policy


def registered_policies() -> dict[str, type[Policy]]:
    """All policies by name, in alphabetical order."""
    return dict(sorted(_registry().items()))


def _registry() -> dict[str, type[Policy]]:
    # The package's own policies register themselves when they are imported, wherever this is asked first.
    import_module("equipoise.core.policies")
    return _REGISTRY


def parse_policy(text: str | Policy) -> Policy:
    """Build a policy from ``NAME[:key=value[:key=value…]]``; a policy comes back as it is.

    >>> parse_policy("trace-ucb:width=theory:bound=3:delta=0.05")
    TraceUCB(width='theory', bound=3, delta=0.05)
    """
    if isinstance(text, Policy):
        return text
    if not isinstance(text, str):
        raise InvalidPolicy(
            f"{text!r} is not a policy", hint="pass e.g. eq.TraceUCB() or the text 'trace-ucb'"
        )
    name, *pairs = text.split(":")
    try:
        kind = _registry()[name]
    except KeyError:
        raise UnknownPolicy(f"no policy {name!r}", hint=_suggest(name, list(_REGISTRY))) from None
    arguments: dict[str, Any] = {}
    names = [field.name for field in _fields(kind)]
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not value:
            raise InvalidPolicy(f"{pair!r} in {text!r} is not key=value", hint="e.g. trace-ucb:width=0.5")
        if key not in names:
            raise InvalidPolicy(f"policy {name!r} has no argument {key!r}", hint=_suggest(key, names))
        if key in arguments:
            raise InvalidPolicy(f"{key!r} is given twice in {text!r}")
        arguments[key] = _parse(value)
    return kind(**arguments)


@cache
def _compiled_score(function: Callable[..., float]) -> tuple[int, Any]:
    compiled = compile_score(function)
    return int(compiled.address), compiled  # code whose owner is gone would be gone, too


def score_address(policy: Policy) -> int:
    """Address of the policy's compiled score in this process."""
    return _compiled_score(type(policy).score)[0]


def _from_function(function: Callable[..., float]) -> type[Policy]:
    # Named after the function that it replaces, so that pickle finds it there.
    return type(
        function.__name__,
        (Policy,),
        {
            "__doc__": function.__doc__,
            "__module__": function.__module__,
            "__qualname__": function.__qualname__,
            "score": staticmethod(function),
        },
    )


def _fields(policy: type[Policy]) -> tuple[dataclasses.Field[Any], ...]:
    return dataclasses.fields(policy) if dataclasses.is_dataclass(policy) else ()


def _suggest(name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"known: {', '.join(sorted(known))}" if known else "it takes none"


def _parse(text: str) -> Any:
    if "," in text:
        return tuple(_parse(part) for part in text.split(","))
    if text in _WORDS:
        return _WORDS[text]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def format_argument(value: Any) -> str:
    """An argument as it is written in a policy's text form."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return ",".join(map(format_argument, value)) if isinstance(value, tuple) else str(value)
