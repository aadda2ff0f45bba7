"""Contexts as they are typed: fields by name, or numbers one after the other; and cells of tables alike.

What a text stands for is decided by the field: ``1`` is a number of a measurement, and the level ``"1"`` or 1
of a category. What fits nowhere goes on as it is, and the field says what is wrong with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from equipoise.errors import InvalidContext

if TYPE_CHECKING:
    from equipoise.core.problem.features.contexts import Contexts

_WHOLE = re.compile(r"[+-]?\d{1,18}")
_DECIMAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")

_WITH_COMMA = re.compile(r"[+-]?\d*,\d+")


def typed_record(features: Contexts, words: Iterable[str]) -> dict[str, Any]:
    """The record that ``age=54 sex=f`` is."""
    cells: dict[str, str] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or not name:
            raise InvalidContext(f"{word!r} is not FIELD=VALUE", hint=f"e.g. {example(features)}")
        if name in cells:
            raise InvalidContext(f"{name!r} is typed twice", hint="leave one out")
        cells[name] = text
    return record_of(features, cells)


def typed_vector(text: str) -> list[float]:
    """The numbers of ``--context 1,0.5``."""
    entries = [entry.strip() for entry in text.split(",")]
    wrong = [entry for entry in entries if not _DECIMAL.fullmatch(entry)]
    if wrong:
        raise InvalidContext(
            f"{wrong[0]!r} in --context {text} is not a number",
            hint="type numbers separated by commas, e.g. --context 1,0.5",
        )
    return [float(entry) for entry in entries]


def record_of(features: Contexts, cells: Mapping[str, str]) -> dict[str, Any]:
    """Cells of text as a record; an empty one is missing."""
    fields = getattr(features, "fields", {})
    return {name: _value(name, fields.get(name), text.strip()) for name, text in cells.items()}


def has_names(features: Contexts) -> bool:
    """Whether contexts are records; else they are numbers one after the other."""
    return hasattr(features, "fields") or getattr(features, "given_names", None) is not None


def names_of(features: Contexts) -> tuple[str, ...]:
    """What a record may have."""
    return tuple(getattr(features, "fields", features.names))


def example(features: Contexts) -> str:
    """What to type for a context."""
    if not has_names(features):
        return f"--context {','.join(['1', '0.5', '2'][: features.dim])}{',…' * (features.dim > 3)}"
    fields: Mapping[str, Any] = getattr(features, "fields", {})
    words = [f"{name}={_typical(fields.get(name))}" for name in names_of(features)]
    return " ".join(f"'{word}'" if " " in word else word for word in words[:4]) + " …" * (len(words) > 4)


def _typical(field: Any) -> str:
    levels: Sequence[Any] = getattr(field, "levels", ())
    if levels:
        return str(levels[0])
    for name in ("center", "low", "high"):
        if getattr(field, name, None) is not None:
            return f"{getattr(field, name):.10g}"
    return "1"


def _value(name: str, field: Any, text: str) -> Any:
    if not text:
        return None
    levels: Sequence[Any] = getattr(field, "levels", ())
    if levels:
        alike = [level for level in levels if str(level) == text]
        words = [level for level in levels if isinstance(level, bool) and str(level).lower() == text.lower()]
        return next(iter([*alike, *words]), text)
    if field is not None and _WITH_COMMA.fullmatch(text):
        raise InvalidContext(
            f"{name!r} is {text!r}, with a comma", hint=f"decimals have a point: {text.replace(',', '.')}"
        )
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _DECIMAL.fullmatch(text) else text
