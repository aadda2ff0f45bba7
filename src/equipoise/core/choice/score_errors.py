"""What is wrong with a score, in words, and the line to change.

The compiler reports in terms of its own; here the few things that go wrong are told apart, and the first
place in the user's own file is named.
"""

from __future__ import annotations

import difflib
import dis
import linecache
import re
from collections.abc import Callable
from types import FunctionType
from typing import Any

from equipoise.errors import InvalidPolicy

# What scores may read; the records hold bookkeeping besides.
_FIELDS = {
    "arm": (
        *("noise_variance", "trace", "leverage", "count", "dof", "observed", "pending", "weight", "spread"),
        *("position", "order"),
    ),
    "trial": (
        *("mean_variance", "pooled_variance", "pooled_dof", "exponent", "arms", "dim", "budget", "step"),
    ),
}
_NUMBERS_ONLY = "use numbers, if, for, math and the fields of arm and trial; no lists, texts or objects"
_KINDS = (
    (re.compile(r"\bBounded\b"), "settings"),
    (re.compile(r"\bu?int\d+\b"), "whole number"),
    (re.compile(r"\bfloat\d+\b"), "number"),
    (re.compile(r"\bcomplex\d+\b"), "complex number"),
    (re.compile(r"\b(?:unicode_type\b|Literal\[str\]\([^)]*\))"), "text"),
    (re.compile(r"\b(?:reflected )?(?:list|ListType)\(?\[?.*"), "list"),
    (re.compile(r"\b(?:dict|DictType)\b.*"), "dictionary"),
    (re.compile(r"\barray\(.*"), "array"),
    (re.compile(r"\bRecord\(.*"), "record"),
    (re.compile(r"\bnone\b"), "nothing"),
)


def refused(
    function: Callable[..., Any], what: str, *, hint: str | None, line: int | None = None
) -> InvalidPolicy:
    """An error that names the line of a score which has to change; its first one unless another is given."""
    code = function.__code__
    line = code.co_firstlineno if line is None else line
    text = linecache.getline(code.co_filename, line).strip()
    shown = f"; the line is: {text}" if text else ""
    place = f"{code.co_filename}, line {line}"
    return InvalidPolicy(f"{place}: the score {function.__qualname__} {what}{shown}", hint=hint)


def field_hint(name: str) -> str:
    """The field that somebody who wrote ``arm.name`` or ``trial.name`` may have meant, or all of them."""
    places = {field: record for record, fields in _FIELDS.items() for field in fields}
    near = difflib.get_close_matches(name, places, n=1) or [field for field in places if name in field]
    if near:
        return f"did you mean {places[near[0]]}.{near[0]}?"
    listed = (f"{record}.{field}" for field, record in places.items())
    return f"there are {', '.join(listed)}"


def not_compiled(function: FunctionType, error: Exception) -> InvalidPolicy:
    """Why a score cannot be compiled."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error)).strip()
    what, hint, name = _reason(text, error)
    line = _line_of(function, name) or _reported_line(function, text)
    return refused(function, f"cannot be compiled: {what}", hint=hint, line=line)


def _reason(text: str, error: Exception) -> tuple[str, str, str | None]:
    """What is wrong, what to do, and the name in the code that it is about."""
    if isinstance(error, KeyError):  # a field that a record does not have
        name = str(error.args[0]) if error.args else ""
        return f"neither arm nor trial has a field {name!r}", field_hint(name), name
    for pattern, explain in _REASONS:
        match = re.search(pattern, text)
        if match:
            return explain(match)
    lines = [line for line in text.splitlines() if line and not line.startswith("Failed in")]
    return lines[0] if lines else type(error).__name__, _NUMBERS_ONLY, None


def _unknown_name(match: re.Match[str]) -> tuple[str, str, str | None]:
    name = match[1]
    return f"there is no {name!r}", "define it above, or import it at the top of the file", name


def _unknown_field(match: re.Match[str]) -> tuple[str, str, str | None]:
    name = match[1]
    return f"there is no field {name!r}", field_hint(name), name


def _global(match: re.Match[str]) -> tuple[str, str, str | None]:
    name, kind = match[1], match[2].rpartition(".")[2]
    if kind == "function":
        return f"it calls {name}, which is not compiled", f"put @numba.njit above def {name}", name
    return f"{name} is a {kind}", "outside the score there can be numbers, tuples and NumPy arrays", name


def _global_list(match: re.Match[str]) -> tuple[str, str, str | None]:
    name = match[1]
    return f"{name} can be changed while the score runs", "make it a tuple or a NumPy array", name


def _call(match: re.Match[str]) -> tuple[str, str, str | None]:
    function, given = match[1], ", ".join(map(_kind, match[2].split(", ")))
    if function == "getitem":
        return f"{given} cannot be read like that", "settings[0] is the first setting", None
    hint = "there are as many settings as the policy has fields" if "settings" in given else _NUMBERS_ONLY
    return f"{function}({given}) is not known to the compiler", hint, None


def _memory(match: re.Match[str]) -> tuple[str, str, str | None]:
    return "it makes a list, a text or an array", _NUMBERS_ONLY, None


def _two_kinds(match: re.Match[str]) -> tuple[str, str, str | None]:
    one, other, name = _kind(match[1]), _kind(match[2]), match[3]
    name = "what it returns" if name.startswith("$") else name
    return f"{name} is a {one} in one place and a {other} in another", "make it a number everywhere", None


def _wrong_result(match: re.Match[str]) -> tuple[str, str, str | None]:
    return f"it returns a {_kind(match[1])}".replace("a nothing", "nothing"), "return one number", None


def _unsupported(match: re.Match[str]) -> tuple[str, str, str | None]:
    if match[1].startswith("IMPORT"):
        return "it imports something", "import at the top of the file", None
    return f"it does what only Python can do ({match[1]})", _NUMBERS_ONLY, None


def _kind(text: str) -> str:
    """A type in words."""
    for pattern, word in _KINDS:
        text = pattern.sub(word, text)
    return text


_REASONS: tuple[tuple[str, Callable[[re.Match[str]], tuple[str, str, str | None]]], ...] = (
    (r"NameError: name '(\w+)' is not defined", _unknown_name),
    (r"Untyped global name '(\w+)':.*<class '([\w.]+)'>", _global),
    (r"assigned to variable '(\w+)' in globals", _global_list),
    (r"Unknown attribute '(\w+)' of type", _unknown_field),
    (r"No implementation of function Function\(<[^>]*?(\w+)'?(?: at 0x\w+)?>\) found for signature:"
     r"\s*>>> \w+\((.*)\)", _call),
    (r"NRT required but not enabled", _memory),
    (r"Cannot unify (.+) and (.+) for '([$\w]+?)(?:\.\d+)*'", _two_kinds),
    (r"Cannot cast (.+?) to float64", _wrong_result),
    (r"unsupported opcode \((\w+)\)", _unsupported),
)  # fmt: skip


def _line_of(function: FunctionType, name: str | None) -> int | None:
    """The first line of the score that uses a name."""
    line = None
    for step in dis.get_instructions(function):
        line = step.positions.lineno if step.positions and step.positions.lineno else line
        if name is not None and step.argval == name:
            return line
    return None


def _reported_line(function: FunctionType, text: str) -> int | None:
    """The first line of the score's file that the compiler names."""
    places = re.findall(r"(?:at|from) (\S[^\n]*?) \((\d+)\)", text)
    own = [int(line) for file, line in places if file == function.__code__.co_filename]
    return own[0] if own else None
