"""Events and headers as text: one text for one value, read back to equal values, to the last bit.

Names are in alphabetical order, nothing is between the signs, and everything beyond ASCII is written as
``\\uXXXX``, so that no database or file system can make another text of it. Floats are the shortest digits
that read back to the same bits; what is not finite is a word, as in :mod:`equipoise.core.plain`.
"""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

import orjson

from equipoise.errors import InvalidArgument


def encode(value: Any) -> bytes:
    """A value as canonical JSON.

    >>> encode({"outcome": 0.1, "kind": "told", "id": 3})
    b'{"id":3,"kind":"told","outcome":0.1}'
    """
    try:
        return _encode(value).encode("ascii")
    except (TypeError, ValueError) as error:
        raise InvalidArgument(
            f"this cannot be stored: {error}",
            hint="give numbers, text, true, false, lists and tables of these",
        ) from None


def decode(text: bytes) -> Any:
    """The value that a text stands for."""
    if _LONG.search(text) is None:
        try:
            return orjson.loads(text)
        except ValueError:
            pass  # such as half of a pair of code units, which Python's own reader takes
    return _decode(text.decode("ascii"))


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number of JSON")


# Whole numbers that may be too long for the quick reader. Floats have at most 17 digits.
_LONG = re.compile(rb"[0-9]{19}")
_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False).encode
_decode = json.JSONDecoder(parse_constant=_refuse).decode
