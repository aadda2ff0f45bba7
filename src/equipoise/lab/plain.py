"""Scenarios as plain values, and back: dictionaries and TOML."""

from __future__ import annotations

import dataclasses
import difflib
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from equipoise.core.plain import changed_fields, check_table, from_plain, to_plain
from equipoise.errors import EquipoiseError, InvalidScenario
from equipoise.lab.fields import usual_arms
from equipoise.lab.pieces import KINDS, Closure

if TYPE_CHECKING:
    from equipoise.lab.scenario import Scenario

_Scenario = TypeVar("_Scenario", bound="Scenario")


def scenario_to_dict(scenario: Scenario) -> dict[str, Any]:
    """Lists and numbers only; fields at their defaults are left out."""
    unnamed = scenario.arms == usual_arms(len(scenario.noise))
    return {
        name: _field_to_plain(name, value)
        for name, value in changed_fields(scenario)
        if not (name == "arms" and unnamed)
    }


def _field_to_plain(name: str, value: Any) -> Any:
    if name == "closures":
        return [_table_of(closure) for closure in value]
    return _piece_to_dict(name, value) if name in KINDS else to_plain(value)


def scenario_from_dict(kind: type[_Scenario], values: Mapping[str, Any]) -> _Scenario:
    """Build a scenario, refusing fields that do not exist."""
    known = [field.name for field in dataclasses.fields(kind)]
    named = isinstance(values, Mapping) and "features" in values
    needed = ("noise", "budget") if named else ("noise", "dim", "budget")
    given = check_table(values, what="a scenario", known=known, needed=needed, error=InvalidScenario)
    try:
        arguments = {name: _field_from_plain(name, value) for name, value in given.items()}
        return kind(**arguments)
    except EquipoiseError:
        raise
    except (TypeError, ValueError, ArithmeticError, AttributeError, RecursionError) as error:
        # A value of another kind than its field, such as text where a number belongs.
        raise InvalidScenario(
            f"a value is of the wrong kind: {error}",
            hint="scenario.to_toml(), or --save-scenario FILE.toml, shows how one is written",
        ) from None


def _field_from_plain(name: str, value: Any) -> Any:
    if name == "closures" and isinstance(value, list | tuple):
        return tuple(_closure_from_dict(closure) for closure in value)
    return piece_from_dict(name, value) if name in KINDS else from_plain(value)


def _closure_from_dict(values: Any) -> Closure:
    given = _checked(values, Closure, "a closure")
    return Closure(**{part: from_plain(value) for part, value in given.items()})


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
        raise InvalidScenario(f"this is not a TOML document: {error}", hint=_toml_hint(text, error)) from None


def _toml_hint(text: str, error: ValueError) -> str:
    """The line that cannot be read, and what one looks like."""
    found = re.search(r"\(at line (\d+)", str(error))
    lines = text.splitlines()
    shown = lines[int(found[1]) - 1].strip() if found and int(found[1]) <= len(lines) else ""
    usual = 'write dim = 3, noise = [0.5, 1.0], objective = "max"'
    return f"{shown!r} cannot be read; {usual}" if shown else usual


def _piece_to_dict(name: str, piece: Any) -> dict[str, Any]:
    if KINDS[name].get(piece.kind) is not type(piece):
        raise InvalidScenario(
            f"{name}={piece!r} cannot be written: no {type(piece).__name__} would be read",
            hint=f"use one of {', '.join(kind.__name__ for kind in KINDS[name].values())}",
        )
    return {"kind": piece.kind} | _table_of(piece)


def _table_of(piece: Any) -> dict[str, Any]:
    return {part: to_plain(value) for part, value in changed_fields(piece)}


def _checked(values: Any, kind: type[Any], what: str, *more: str) -> dict[str, Any]:
    """The values, if they are a table of the fields of a piece."""
    fields = dataclasses.fields(kind)
    return check_table(
        values,
        what=what,
        known=[*more, *(field.name for field in fields)],
        needed=[field.name for field in fields if field.default is dataclasses.MISSING],
        error=InvalidScenario,
    )


def piece_from_dict(name: str, values: Any) -> Any:
    """The piece for a field that plain values describe."""
    if values is None or values == "none":
        return None
    kinds = KINDS[name]
    hint = f"kinds: {', '.join(kinds)}"
    # Where there is one kind only, it need not be said.
    only = next(iter(kinds)) if len(kinds) == 1 else None
    chosen = values.get("kind", only) if isinstance(values, Mapping) else None
    if chosen is None:
        raise InvalidScenario(f"{name} must be a table with a kind", hint=hint)
    kind = kinds.get(chosen) if isinstance(chosen, str) else None
    if kind is None:
        near = difflib.get_close_matches(str(chosen), kinds, n=1)
        meant = f"did you mean {near[0]!r}? " if near else ""
        raise InvalidScenario(f"no {name} of kind {chosen!r}", hint=meant + hint)
    given = _checked(values, kind, f"{name} of kind {chosen!r}", "kind")
    return kind(**{part: from_plain(value) for part, value in given.items() if part != "kind"})
