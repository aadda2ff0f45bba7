"""``--over NAME=V,V,…``: axes of a sweep as they are typed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from equipoise.cli.options import MOST_UNITS
from equipoise.cli.world.options import MOST_FEATURES
from equipoise.errors import InvalidArgument, InvalidPolicy

_DOTS = ("...", "…")
_EXAMPLE = "e.g. --over dim=5,10,20 or --over dim=5,10,...,40"
_MOST_VALUES = 10_000
_MOST = {"dim": MOST_FEATURES, "budget": MOST_UNITS}
# Fields that a scenario cannot do without.
_NEEDED = ("noise", "dim", "budget")


def parse_axes(typed: Sequence[str]) -> dict[str, list[Any]]:
    """Values by axis, in the order in which they were typed."""
    axes: dict[str, list[Any]] = {}
    for text in typed:
        name, equals, values = (part.strip() for part in text.partition("="))
        if not equals or not name or not values:
            raise InvalidArgument(f"--over {text} is not NAME=V,V,…", hint=_EXAMPLE)
        if name in axes:
            raise InvalidArgument(f"--over {name} is given twice", hint="give all its values at once")
        axes[name] = _build(name, parse_values(name, values))
    if not axes:
        raise InvalidArgument("nothing is swept", hint=_EXAMPLE)
    return axes


def parse_values(name: str, text: str) -> list[Any]:
    """Values separated by commas; ``...`` goes on in equal steps, lists stand in brackets.

    >>> parse_values("dim", "5,10,...,25"), parse_values("noise", "(0.1,1),(1,1)")
    ([5, 10, 15, 20, 25], [(0.1, 1), (1, 1)])
    """
    from equipoise.core.policies.base.arguments import parse_argument

    plain = re.sub(r"\s*,\s*", ",", text).rstrip(",")
    try:
        # With a comma at the end one value is a list of one, too.
        entries = list(parse_argument(f"{plain},"))
    except InvalidPolicy as error:
        raise InvalidArgument(f"--over {name}={text}: {error.message}", hint=_EXAMPLE) from None
    values: list[Any] = []
    for place, entry in enumerate(entries):
        if entry not in _DOTS and isinstance(entry, str) and re.fullmatch(r"-?[\d.]*\.\.[\d.]*", entry):
            raise InvalidArgument(
                f"--over {name}={text}: three dots stand between commas, not {entry}", hint=_EXAMPLE
            )
        values += _between(name, text, entries, place) if entry in _DOTS else [entry]
    for value in values:
        if name in _MOST and isinstance(value, int | float) and value > _MOST[name]:
            raise InvalidArgument(f"--over {name}={text}: {value} is more than {_MOST[name]}", hint=_EXAMPLE)
    return values


def with_first_values(fields: Mapping[str, Any], axes: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """What was typed of a scenario; what it cannot do without and is swept has the first value."""
    filled = dict(fields)
    for name in _NEEDED:
        if filled.get(name) is None and name in axes:
            first = axes[name][0]
            filled[name] = str(first) if name == "budget" else first
    return filled


def _between(name: str, text: str, entries: Sequence[Any], place: int) -> list[Any]:
    """The values that dots stand for: from the one before to the one after them, which are not among them."""
    before, after = entries[max(0, place - 2) : place], entries[place + 1 : place + 2]
    known = [
        value for value in (*before, *after) if isinstance(value, int | float) and not isinstance(value, bool)
    ]
    if not before or not after or len(known) < len(before) + 1:
        raise InvalidArgument(f"--over {name}={text}: dots stand between numbers", hint=_EXAMPLE)
    start, end = before[-1], after[0]
    step = before[-1] - before[-2] if len(before) > 1 else 1
    count = (end - start) / step if step else 0.0
    if count < 1.0 or abs(count - round(count)) > 1e-9 or count > _MOST_VALUES:
        raise InvalidArgument(
            f"--over {name}={text}: steps of {step:.6g} from {start:.6g} do not lead to {end:.6g}",
            hint=_EXAMPLE,
        )
    values = [start + k * step for k in range(1, round(count))]
    # 0.1 + 2·0.1 is 0.3 to people.
    return [value if isinstance(value, int) else float(f"{value:.12g}") for value in values]


def _build(name: str, values: list[Any]) -> list[Any]:
    """Pieces of scenarios and covariances are words on the command line."""
    from equipoise.cli.world.scenario import typed_covariance, typed_piece
    from equipoise.lab.pieces import KINDS

    if name in ("covariance", "contexts.covariance"):
        return [typed_covariance(str(value)) for value in values]
    if name not in KINDS:
        return values
    if any(isinstance(value, int | float) for value in values):
        raise InvalidArgument(
            f"--over {name}: {values[0]} is no kind of {name}",
            hint=f"kinds: {', '.join(KINDS[name])}; a number is a field's, e.g. --over delay.mean=0,10,20",
        )
    return [typed_piece(name, str(value)) if value is not None else None for value in values]
