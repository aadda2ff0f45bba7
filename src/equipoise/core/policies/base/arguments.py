"""Arguments of policies as text: whatever is written can be read again, to an equal value.

=============  =============================================================================
numbers        ``0.5``, ``3``, ``1e-300``
words          ``theory``; what would read as something else, or as nothing, is quoted: ``'12'``
switches       ``true``, ``false``
nothing        ``none``
tuples         ``1.0,2.0``; with one item ``3,``, with none ``,``; inside a tuple ``(1,2),(3,4)``
=============  =============================================================================

Characters that separate things, white space and the like are written as in web addresses: ``%3A``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, unquote

from equipoise.core.plain import frozen, suggest
from equipoise.errors import InvalidPolicy

_WORDS = {"true": True, "false": False, "none": None}
_UNSAFE = re.compile(r"[^\w.+/*@-]")
_SEPARATORS = re.compile(r"[\s,;/|+]+")
_DEEPEST = 20  # tuples within tuples


def format_argument(value: Any) -> str:
    """An argument as it is written in a policy's text form."""
    value = frozen(value)
    if isinstance(value, tuple):
        items = [_format_item(item, 1) for item in value]
        return "".join(f"{item}," for item in items) if len(items) == 1 else ",".join(items) or ","
    return _format_item(value, 1)


def parse_argument(text: str) -> Any:
    """The argument that a text stands for."""
    items = _split(text)
    if len(items) == 1:
        return _parse_item(items[0], 1)
    return _parse_items(items, 1)


def meant_policy(name: str, known: Mapping[str, type]) -> str:
    """What somebody who typed the name of no policy may have meant: another separator, a class, a typo."""
    first, *rest = _SEPARATORS.split(name)
    if first in known and rest:
        if all("=" in part for part in rest):
            return f"did you mean {':'.join([first, *rest])!r}?"
        if all(part in known for part in rest):
            return f"one at a time: {' '.join(f'--policy {part}' for part in (first, *rest))}"
    for own, kind in known.items():
        if name.lower() in (kind.__name__.lower(), own.replace("-", "")):
            return f"did you mean {own!r}?"
    hint = suggest(name, known)
    joint = " One" if hint.endswith("?") else "; one"
    return f"{hint}{joint} of your own: --import FILE.py, or eq.import_policies"


def _format_item(value: Any, depth: int) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "none"
    # The value itself, not how a subclass prints it.
    if isinstance(value, str):
        return _format_word(str.__str__(value))
    if isinstance(value, float):
        return float.__repr__(value)
    if isinstance(value, int):
        try:
            return int.__repr__(value)
        except ValueError:  # thousands of digits
            raise InvalidPolicy("a number is too long to be written") from None
    if isinstance(value, tuple) and depth < _DEEPEST:
        items = [_format_item(item, depth + 1) for item in value]
        return f"({','.join(items)}{',' * (len(items) == 1)})"
    raise InvalidPolicy(
        f"{value!r} cannot be written in a policy's text form",
        hint="arguments are numbers, words, true, false, none, and tuples of these",
    )


def _format_word(word: str) -> str:
    text = _UNSAFE.sub(lambda sign: quote(sign[0], safe="", errors="surrogatepass"), word)
    try:
        plain = bool(text) and _parse_item(text, 1)
    except InvalidPolicy:
        plain = None
    return text if isinstance(plain, str) and plain == word else f"'{text}'"


def _parse_items(items: list[str], depth: int) -> tuple[Any, ...]:
    if not items[-1]:  # a comma after the last item
        items = items[:-1]
    return () if items == [""] else tuple(_parse_item(item, depth) for item in items)


def _parse_item(text: str, depth: int) -> Any:
    if not text:
        raise InvalidPolicy("there is nothing between two commas", hint="write '' for an empty word")
    if len(text) > 1 and text[0] == text[-1] == "'":
        return _unquoted(text[1:-1])
    if text[0] == "(" and text[-1] == ")":
        if depth >= _DEEPEST:
            raise InvalidPolicy(f"more than {_DEEPEST} brackets within each other")
        inner = text[1:-1]
        return _parse_items(_split(inner), depth + 1) if inner else ()
    if text in _WORDS:
        return _WORDS[text]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return _unquoted(text)


def _unquoted(text: str) -> str:
    """A word without its %xx escapes."""
    try:
        return unquote(text, errors="surrogatepass")
    except UnicodeDecodeError:
        raise InvalidPolicy(
            f"the escapes of {text!r} are no text", hint="%25 stands for a percent sign"
        ) from None


def _split(text: str) -> list[str]:
    """Parts between commas that are in no brackets."""
    parts, depth, begin = [], 0, 0
    for place, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        if sign == "," and depth == 0:
            parts.append(text[begin:place])
            begin = place + 1
    return [*parts, text[begin:]]
