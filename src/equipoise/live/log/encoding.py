"""Events and headers as text: one text for one value, read back to equal values, to the last bit.

Names are in alphabetical order, nothing is between the signs, and everything beyond ASCII is written as
``\\uXXXX``, so that no database or file system can make another text of it. Floats are the shortest digits
that read back to the same bits; what is not finite is a word, as in :mod:`equipoise.core.plain`.
"""

from __future__ import annotations

import json
from typing import Any, NoReturn

import orjson

from equipoise.errors import InvalidArgument


def encode(value: Any) -> bytes:
    """A value as canonical JSON.

    >>> encode({"outcome": 0.1, "kind": "told", "id": 3})
    b'{"id":3,"kind":"told","outcome":0.1}'
    """
    try:
        text = orjson.dumps(value, option=_OPTIONS)
        if text.isascii() and not _is_written_otherwise(text):
            return text
    except TypeError:
        pass  # such as whole numbers of more than 64 bits
    try:
        return _encode(value).encode("ascii")
    except (TypeError, ValueError) as error:
        raise InvalidArgument(
            f"this cannot be stored: {error}",
            hint="give numbers, text, true, false, lists and tables of these",
        ) from None


def decode(text: bytes) -> Any:
    """The value that a text stands for."""
    shape = text.translate(_SHAPE)
    if b":" + _DIGITS not in shape and not shape.startswith(_DIGITS):
        try:
            return orjson.loads(text)
        except ValueError:
            pass  # such as half of a pair of code units, which Python's own reader takes
    return _decode(text.decode("ascii"))


def _is_written_otherwise(text: bytes) -> bool:
    """Whether Python's own writer may write it otherwise: floats with exponents or below 1e-4, one sign.

    What is "null" may have been no number.
    """
    return b"null" in text or b"0.0000" in text or b"\x7f" in text or b"0e" in text.translate(_SHAPE)


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number of JSON")


# Looked for in the shape of a text, with 0 for every digit and : for all that may stand before a number.
_SHAPE = bytes.maketrans(b"0123456789[,-", b"0000000000:::")
_DIGITS = b"0" * 19
"""A whole number that may be too long for the quick reader."""
_OPTIONS = (
    orjson.OPT_SORT_KEYS
    | orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
    | orjson.OPT_PASSTHROUGH_SUBCLASS
)
_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False).encode
_decode = json.JSONDecoder(parse_constant=_refuse).decode
