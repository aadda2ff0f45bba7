"""Plain data: what JSON and TOML both hold, read back to equal values, to the last bit.

================  ================================================================================
numbers           as they are; what is not finite is a word: ``"inf"``, ``"-inf"``, ``"nan"``
switches          ``true``, ``false``
words             as they are; text that would read as something else is quoted: ``"'none'"``
nothing           the word ``"none"``, as TOML has no null
tuples, arrays    lists
================  ================================================================================

What a field has by default is left out, so that files stay short and old ones can be read.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any
from urllib.parse import quote, unquote

import numpy as np

from equipoise.errors import EquipoiseError

_WORDS = {"none": None, "inf": math.inf, "-inf": -math.inf, "nan": math.nan}
# No file holds half of a pair of code units; within quotes a percent sign marks them.
_HALVES = re.compile("[\ud800-\udfff]")
_UNSAFE = re.compile("[%\ud800-\udfff]")
_DEEPEST = 20  # lists within lists


class NotPlain(ValueError):
    """A value that neither JSON nor TOML can hold."""


def frozen(value: Any) -> Any:
    """The same value without NumPy's numbers and without lists, which can be changed."""
    if isinstance(value, np.ndarray):
        return frozen(value.tolist())
    if isinstance(value, list | tuple):
        return tuple(frozen(item) for item in value)
    if isinstance(value, np.floating):
        return float(value)
    return value.item() if isinstance(value, np.generic) else value


def says_the_same(value: Any, default: Any) -> bool:
    """Whether a value says the same as the default, so that it need not be written."""
    numbers = [isinstance(one, int | float) and not isinstance(one, bool) for one in (value, default)]
    if all(numbers):
        return bool(value == default) and math.copysign(1.0, value) == math.copysign(1.0, default)
    return type(value) is type(default) and bool(value == default)


def to_plain(value: Any) -> Any:
    """A value as plain data.

    >>> to_plain((1.5, None, "none", np.int64(3), math.inf))
    [1.5, 'none', "'none'", 3, 'inf']
    """
    return _write(frozen(value), 0)


def from_plain(value: Any) -> Any:
    """The value that plain data stand for; lists become tuples.

    >>> from_plain([1.5, "none", "'none'", 3, "inf"])
    (1.5, None, 'none', 3, inf)
    """
    return _read(value, 0)


def changed_fields(record: Any) -> Iterator[tuple[str, Any]]:
    """Fields of a dataclass that are not at their defaults, with their values."""
    for field in dataclasses.fields(record):
        value = getattr(record, field.name)
        usual = field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
        if not says_the_same(value, usual):
            yield field.name, value


def check_table(
    values: Any,
    *,
    what: str,
    known: Collection[str],
    needed: Collection[str] = (),
    error: type[EquipoiseError],
) -> dict[str, Any]:
    """The values, if they are a table that has what is needed and nothing that is unknown."""
    if not isinstance(values, Mapping):
        raise error(f"{what} is a table of values by name, not {values!r}", hint=f"it takes {_listed(known)}")
    for name in values:
        if name not in known:
            close = difflib.get_close_matches(str(name), known, n=1)
            meant = f"did you mean {close[0]!r}? " if close else ""
            raise error(f"{what} has no {name!r}", hint=f"{meant}it takes {_listed(known)}")
    missing = [name for name in needed if name not in values]
    if missing:
        raise error(f"{what} does not say {_listed(missing)}")
    return dict(values)


def suggest(name: str, known: Collection[str]) -> str:
    """What somebody who typed ``name`` may have meant."""
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"known: {_listed(sorted(known))}" if known else "it takes none"


def _listed(names: Collection[str]) -> str:
    return ", ".join(names) or "none"


def _write(value: Any, depth: int) -> Any:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return value
    # The value itself, not what a subclass makes of it.
    if isinstance(value, str):
        return _word(str.__str__(value))
    if isinstance(value, float):
        number = float.__float__(value)
        return number if math.isfinite(number) else float.__repr__(number)
    if isinstance(value, int):
        try:
            int.__repr__(value)
        except ValueError:  # thousands of digits
            raise NotPlain("a number is too long to be written") from None
        return int.__int__(value)
    if isinstance(value, tuple) and depth < _DEEPEST:
        return [_write(item, depth + 1) for item in value]
    raise NotPlain(f"{value!r} is none of these: numbers, words, true, false, none, and lists of these")


def _read(value: Any, depth: int) -> Any:
    if isinstance(value, list | tuple):
        if depth >= _DEEPEST:
            raise NotPlain(f"more than {_DEEPEST} lists within each other")
        return tuple(_read(item, depth + 1) for item in value)
    if not isinstance(value, str):
        return value
    if len(value) > 1 and value[0] == value[-1] == "'":
        return unquote(value[1:-1], errors="surrogatepass")
    return _WORDS.get(value, value)


def _word(word: str) -> str:
    if from_plain(word) == word and _HALVES.search(word) is None:
        return word
    text = _UNSAFE.sub(lambda sign: quote(sign[0], safe="", errors="surrogatepass"), word)
    return f"'{text}'"
