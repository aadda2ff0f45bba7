"""Scenarios as plain values, and back: dictionaries and TOML."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from equipoise.errors import InvalidScenario
from equipoise.lab.pieces import KINDS

if TYPE_CHECKING:
    from equipoise.lab.scenario import Scenario


def scenario_to_dict(scenario: Scenario) -> dict[str, Any]:
    """Lists and numbers only; fields at their defaults are left out."""
    values: dict[str, Any] = {}
    for field in dataclasses.fields(scenario):
        value = getattr(scenario, field.name)
        if _is_default(field, value):
            continue
        values[field.name] = _piece_to_dict(value) if field.name in KINDS else _lists(value)
    return values


def scenario_from_dict(values: Mapping[str, Any]) -> Scenario:
    """Build a scenario, refusing fields that do not exist."""
    from equipoise.lab.scenario import Scenario

    if not isinstance(values, Mapping):
        raise InvalidScenario(f"a scenario is a table of fields, not {values!r}")
    known = {field.name for field in dataclasses.fields(Scenario)}
    unknown = sorted(set(values) - known, key=str)
    if unknown:
        raise InvalidScenario(
            f"a scenario has no {unknown[0]!r}", hint=f"its fields are {', '.join(sorted(known))}"
        )
    missing = sorted({"noise", "dim", "budget"} - set(values))
    if missing:
        raise InvalidScenario(f"the scenario does not say {', '.join(missing)}")
    arguments = {
        name: _piece_from_dict(name, value) if name in KINDS and value is not None else value
        for name, value in values.items()
    }
    return Scenario(**arguments)


def dump_toml(values: Mapping[str, Any]) -> str:
    """A TOML document."""
    import tomli_w

    return tomli_w.dumps(dict(values))


def load_toml(text: str) -> dict[str, Any]:
    """The values of a TOML document."""
    import tomllib

    try:
        return tomllib.loads(text)
    except RecursionError:
        raise InvalidScenario("this TOML document is nested too deeply") from None
    except ValueError as error:  # numbers that are too long among others
        raise InvalidScenario(f"this is not a TOML document: {error}") from None


def _is_default(field: dataclasses.Field[Any], value: Any) -> bool:
    if field.default_factory is not dataclasses.MISSING:
        return bool(field.default_factory() == value)
    return field.default is not dataclasses.MISSING and field.default == value


def _piece_to_dict(piece: Any) -> dict[str, Any]:
    values = {"kind": piece.kind}
    for field in dataclasses.fields(piece):
        value = getattr(piece, field.name)
        if not _is_default(field, value):
            values[field.name] = _lists(value)
    return values


def _piece_from_dict(name: str, values: Any) -> Any:
    kinds = KINDS[name]
    hint = f"kinds: {', '.join(kinds)}"
    # Where there is one kind only, it need not be said.
    only = next(iter(kinds)) if len(kinds) == 1 else None
    chosen = values.get("kind", only) if isinstance(values, Mapping) else None
    if chosen is None:
        raise InvalidScenario(f"{name} must be a table with a kind", hint=hint)
    kind = kinds.get(chosen) if isinstance(chosen, str) else None
    if kind is None:
        raise InvalidScenario(f"no {name} of kind {chosen!r}", hint=hint)
    arguments = {key: value for key, value in values.items() if key != "kind"}
    fields = {field.name for field in dataclasses.fields(kind)}
    unknown = sorted(set(arguments) - fields, key=str)
    if unknown:
        raise InvalidScenario(
            f"{name} of kind {chosen!r} has no {unknown[0]!r}",
            hint=f"it takes {', '.join(sorted(fields)) or 'nothing'}",
        )
    return kind(**arguments)


def _lists(value: Any) -> Any:
    if isinstance(value, tuple):
        # TOML has no null.
        return ["none" if part is None else _lists(part) for part in value]
    return value
