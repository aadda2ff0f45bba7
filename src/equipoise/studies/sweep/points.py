"""The points of a sweep: a scenario and policies each, checked before anything runs."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from equipoise.core.policies.base.policy import Policy
from equipoise.errors import EquipoiseError, InvalidArgument
from equipoise.lab.scenario import Scenario
from equipoise.studies.sweep.axes import Axis, Draft, ScenarioField, label, new_axis

_MOST_AXES = 2
# What a value of the wrong kind can raise, such as text where a number belongs.
_WRONG = (TypeError, ValueError, ArithmeticError, AttributeError)


@dataclass(frozen=True)
class SweepPoint:
    """Where a point lies on the axes, and what is run there."""

    at: Mapping[str, Any]
    """Values by axis: numbers and words."""
    scenario: Scenario
    policies: Mapping[str, Policy]
    """By the names they were given; their fields may be the axis's."""

    @property
    def title(self) -> str:
        """The place in words."""
        return place_words(self.at)


def new_axes(
    axes: Mapping[str, Iterable[Any]], scenario: Scenario, policies: Mapping[str, Policy], *, joined: bool
) -> tuple[Axis, ...]:
    """The axes of a sweep: one or two of a grid, any number of joined ones that are equally long."""
    found = tuple(new_axis(name, values, scenario, policies) for name, values in axes.items())
    if not found:
        raise InvalidArgument("nothing is swept", hint="name a field and its values, e.g. dim=[5, 10, 20]")
    lengths = {axis.name: len(axis.values) for axis in found}
    if joined and len(set(lengths.values())) > 1:
        counts = ", ".join(f"{count} of {name}" for name, count in lengths.items())
        raise InvalidArgument(f"joined axes need equally many values, not {counts}")
    if not joined and len(found) > _MOST_AXES:
        raise InvalidArgument(
            f"a grid has at most {_MOST_AXES} axes, not {len(found)}",
            hint="join axes that go together (joined=True, --joined), or make several sweeps",
        )
    return found


def sweep_points(
    scenario: Scenario, policies: Mapping[str, Policy], axes: Sequence[Axis], *, joined: bool
) -> list[SweepPoint]:
    """All points, the last axis varying fastest; an error that names the point if one cannot be run."""
    values = (axis.values for axis in axes)
    places = list(zip(*values, strict=True) if joined else itertools.product(*values))
    points, failed = [], []
    for place in places:
        try:
            points.append(_point(scenario, policies, axes, place))
        except EquipoiseError as error:
            failed.append((_labels(axes, place), error))
        except _WRONG as error:
            failed.append((_labels(axes, place), InvalidArgument(f"a value is of the wrong kind: {error}")))
    if failed:
        raise _refusal(failed, len(places))
    return points


def swept_scenarios(scenario: Scenario, axes: Mapping[str, Iterable[Any]]) -> list[Scenario]:
    """The scenarios of a grid over fields of a scenario."""
    found = new_axes(axes, scenario, {}, joined=False)
    return [point.scenario for point in sweep_points(scenario, {}, found, joined=False)]


def place_words(at: Mapping[str, Any]) -> str:
    """A place on the axes in words.

    >>> place_words({"dim": 5, "budget": 350})
    'dim = 5, budget = 350'
    """
    return ", ".join(f"{name} = {_short(value)}" for name, value in at.items())


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _labels(axes: Sequence[Axis], place: Sequence[Any]) -> dict[str, Any]:
    return {axis.name: label(value) for axis, value in zip(axes, place, strict=True)}


def _point(
    scenario: Scenario, policies: Mapping[str, Policy], axes: Sequence[Axis], place: Sequence[Any]
) -> SweepPoint:
    draft = Draft(scenario, dict(policies))
    # Whole fields before parts of them.
    pairs = sorted(
        zip(axes, place, strict=True), key=lambda pair: not isinstance(pair[0].target, ScenarioField)
    )
    for axis, value in pairs:
        axis.target.put(draft, value)
    world = scenario.replace(**draft.changes)
    problem = world.problem()
    for policy in draft.policies.values():
        policy.informed(world.noise).check(problem)
    return SweepPoint(_labels(axes, place), world, draft.policies)


def _refusal(failed: Sequence[tuple[Mapping[str, Any], EquipoiseError]], count: int) -> EquipoiseError:
    """The first error, with its place and with the other places that have one."""
    at, error = failed[0]
    if len(failed) == 1:
        return type(error)(f"at {place_words(at)}: {error.message}", hint=error.hint)
    others = "; ".join(place_words(other) for other, _ in failed[1:4])
    more = "; …" if len(failed) > 4 else ""
    return type(error)(
        f"{len(failed)} of {count} points cannot be run. At {place_words(at)}: {error.message}. "
        f"Nor can {others}{more}",
        hint=error.hint,
    )
