"""Axes: what a sweep varies, by name.

=====================  ===========================================================================
``dim``                a field of the scenario
``noise[high]``        one arm's entry of a field that has one value an arm, by its name or counted from 0
``contexts.dof``       a field of a piece; a piece that has no such field gives way to the kind that has
``covariance``         short for ``contexts.covariance``
``width``              a field of policies: of all those that have it, others stay as they are
``trace-ucb.width``    a field of one policy
=====================  ===========================================================================
"""

from __future__ import annotations

import dataclasses
import difflib
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from equipoise.core.plain import changed_fields, frozen, says_the_same
from equipoise.core.policies.base.arguments import format_argument
from equipoise.core.policies.base.policy import Policy, policy_fields
from equipoise.errors import InvalidArgument, InvalidPolicy
from equipoise.lab.pieces import KINDS
from equipoise.lab.scenario import Scenario

_SHORT = {"covariance": "contexts.covariance"}
# Fields with one value an arm, and what None in them stands for.
_BY_ARM: dict[str, Any] = {
    **{"noise": None, "lost": 0.0, "weights": 1.0, "costs": 1.0},
    **{"floors": 0, "caps": None},
}


@dataclass
class Draft:
    """A point in the making."""

    scenario: Scenario
    policies: dict[str, Policy]
    changes: dict[str, Any] = field(default_factory=dict)

    def field(self, name: str) -> Any:
        """A field of the scenario as it will be."""
        return self.changes.get(name, getattr(self.scenario, name))


class Target(Protocol):
    """Where the values of an axis go."""

    def put(self, draft: Draft, value: Any) -> None:
        """Change the draft."""


@dataclass(frozen=True)
class ScenarioField:
    """A field of the scenario."""

    name: str

    def put(self, draft: Draft, value: Any) -> None:
        """Change it."""
        draft.changes[self.name] = value


@dataclass(frozen=True)
class ArmEntry:
    """One arm's entry in a field of the scenario."""

    name: str
    arm: str

    def put(self, draft: Draft, value: Any) -> None:
        """Change it and leave the other arms."""
        known, count = draft.field(self.name), len(draft.field("noise"))
        names = list(draft.scenario.arms)
        place = (
            names.index(self.arm) if self.arm in names else int(self.arm) if self.arm.isdecimal() else count
        )
        if place >= count:
            raise InvalidArgument(
                f"{self.name}[{self.arm}] is not one of {count} arms",
                hint=f"arms: {', '.join(names)}, or their numbers from 0 on",
            )
        # One value may stand for all arms.
        usual = _BY_ARM[self.name] if known is None else known
        entries = list(known) if isinstance(known, tuple) else [usual] * count
        entries[place] = value
        draft.changes[self.name] = tuple(entries)


@dataclass(frozen=True)
class PieceField:
    """A field of a piece of the scenario."""

    piece: str
    name: str

    def put(self, draft: Draft, value: Any) -> None:
        """Change it; the kind of the piece as well, if its own has no such field."""
        known = draft.field(self.piece)
        if self.piece == "delay" and self.name == "mean" and value == 0:
            draft.changes[self.piece] = None  # outcomes at once
        elif known is not None and self.name in _field_names(type(known)):
            draft.changes[self.piece] = dataclasses.replace(known, **{self.name: value})
        else:
            draft.changes[self.piece] = kinds_with(self.piece, self.name)[0](**{self.name: value})


@dataclass(frozen=True)
class PolicyField:
    """A field of some policies."""

    policies: tuple[str, ...]
    name: str

    def put(self, draft: Draft, value: Any) -> None:
        """Change it in every one of them."""
        for policy in self.policies:
            draft.policies[policy] = dataclasses.replace(
                draft.policies[policy],  # type: ignore[type-var]  # policies are dataclasses once registered
                **{self.name: value},
            )


@dataclass(frozen=True)
class Axis:
    """A name and its values."""

    name: str
    values: tuple[Any, ...]
    target: Target

    @property
    def labels(self) -> tuple[Any, ...]:
        """The values as tables and JSON hold them: numbers and words."""
        return tuple(label(value) for value in self.values)


def new_axis(name: str, values: Iterable[Any], scenario: Scenario, policies: Mapping[str, Policy]) -> Axis:
    """The axis of a name, checked as far as single values can be."""
    target = _target(_SHORT.get(name, name), scenario, policies)
    # Text would fall into its letters.
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise InvalidArgument(f"{name}={values!r} is not a list of values", hint=f"e.g. {name}=[…, …]")
    listed = tuple(frozen(value) for value in values)
    if not listed:
        raise InvalidArgument(f"{name} has no values to sweep", hint=f"e.g. {name}=[…, …]")
    labels = [label(value) for value in listed]
    for place, value in enumerate(labels):
        if value in labels[:place]:
            raise InvalidArgument(f"{name} has the value {value!r} twice", hint="leave one out")
    return Axis(name, listed, target)


def label(value: Any) -> Any:
    """A value as tables hold it: a number or a word.

    >>> from equipoise.lab.pieces import StudentContexts
    >>> label(5), label((0.5, 2.0)), label(StudentContexts(dof=7)), label(None)
    (5, '0.5,2', 'student:dof=7', 'none')
    """
    value = frozen(value)
    if dataclasses.is_dataclass(value) and hasattr(value, "kind"):
        return ":".join([value.kind, *(f"{name}={_words(own)}" for name, own in changed_fields(value))])
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)  # JSON has no such numbers
    return value if isinstance(value, bool | int | float | str) else _words(value)


def _words(value: Any) -> str:
    """As policies' arguments are written, but whole numbers without their ``.0``."""
    try:
        return re.sub(r"(?<=\d)\.0(?!\d)", "", format_argument(value))
    except InvalidPolicy:
        return str(value)


def known_names(scenario: Scenario, policies: Mapping[str, Policy]) -> list[str]:
    """What can be swept; entries of single arms besides."""
    pieces = [
        f"{piece}.{name}"
        for piece in KINDS
        if getattr(scenario, piece) is not None
        for name in _field_names(type(getattr(scenario, piece)))
    ]
    own = [own.name for policy in policies.values() for own in policy_fields(type(policy))]
    return list(dict.fromkeys([*_field_names(Scenario), *_SHORT, *pieces, *own]))


def kinds_with(piece: str, name: str) -> list[type[Any]]:
    """Kinds of a piece that have a field of that name."""
    return [kind for kind in KINDS[piece].values() if name in _field_names(kind)]


def _target(name: str, scenario: Scenario, policies: Mapping[str, Policy]) -> Target:
    if name in _field_names(Scenario):
        return ScenarioField(name)
    entry = re.fullmatch(r"(\w+)\[(.{1,200})\]", name)
    if entry and entry[1] in _BY_ARM:
        return ArmEntry(entry[1], entry[2])
    owner, dot, last = name.rpartition(".")
    if dot and owner in KINDS:
        own = getattr(scenario, owner)
        if (own is not None and last in _field_names(type(own))) or len(kinds_with(owner, last)) == 1:
            return PieceField(owner, last)
    having = tuple(
        given
        for given, policy in policies.items()
        if last in _field_names(type(policy)) and (not dot or owner in (given, type(policy).name))
    )
    if not having:
        raise _unknown(name, scenario, policies)
    for given in having:
        _check_free(given, policies[given], last)
    return PolicyField(having, last)


def _check_free(given: str, policy: Policy, name: str) -> None:
    """Refuse to sweep what a policy was given."""
    default = next(own.default for own in policy_fields(type(policy)) if own.name == name)
    value = getattr(policy, name)
    if default is not dataclasses.MISSING and not says_the_same(value, default):
        raise InvalidArgument(
            f"{given} says {name}={label(value)} itself, and {name} is swept",
            hint=f"leave {name} out of the policy, or name the axis after one policy, e.g. "
            f"{type(policy).name}.{name}",
        )


def _unknown(name: str, scenario: Scenario, policies: Mapping[str, Policy]) -> InvalidArgument:
    known = known_names(scenario, policies)
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    meant = f"did you mean {close[0]!r}? " if close else ""
    return InvalidArgument(
        f"neither the scenario nor a policy has a field {name!r}",
        hint=f"{meant}fields: {', '.join(known)}; a single arm's: noise[0]; a piece's: delay.mean",
    )


def _field_names(kind: type[Any]) -> list[str]:
    return [own.name for own in dataclasses.fields(kind)]
