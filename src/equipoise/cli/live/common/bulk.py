"""Many units at once: a CSV file with a heading, or JSON lines, from a file or from standard input.

Cells are text, and what they stand for is decided by the field; values of JSON are what they are. Every line
keeps its number, so that errors can name it.
"""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from equipoise.cli import completion
from equipoise.cli.live.common.contexts import example, has_names, record_of
from equipoise.errors import EquipoiseError, InvalidArgument, InvalidTable

if TYPE_CHECKING:
    from equipoise.core.problem.problem import Problem

_SEPARATORS = (",", ";", "\t")
_HINT = "a CSV file with a heading, or one JSON object a line; - is standard input"

file_option = click.option(
    "--file", "source", metavar="FILE|-", shell_complete=completion.files,
    help="Many units, all or none: CSV with a heading, or JSON lines; - is standard input.",
)  # fmt: skip


@dataclass(frozen=True)
class Line:
    """One unit of a file."""

    number: int
    values: dict[str, Any]
    is_text: bool
    """Whether the values are cells of text, whose fields know what they stand for."""

    def key(self, column: str) -> str:
        """The key of the unit."""
        value = self.values.get(column)
        if isinstance(value, int) and not isinstance(value, bool):
            value = str(value)
        if value is None or (isinstance(value, str) and not value.strip()):
            raise InvalidTable(f"line {self.number}: no unit", hint=f"every line needs its {column!r}")
        if not isinstance(value, str):
            raise InvalidTable(f"line {self.number}: the unit {value!r} is no text", hint="keys go in quotes")
        return value.strip()

    def arm(self, column: str, problem: Problem, hint: str) -> str:
        """The arm that a person names, which must be one of the problem's."""
        arm = self.values.get(column)
        if not isinstance(arm, str) or not arm.strip():
            raise InvalidTable("no arm", hint=hint)
        problem.index(arm.strip())
        return arm.strip()

    def context(self, features: Any, leave_out: Sequence[str]) -> Any:
        """The context: fields by name, or numbers one after the other."""
        values = {name: value for name, value in self.values.items() if name not in leave_out}
        if "context" in values and not self.is_text:
            return values["context"]
        record = record_of(features, values) if self.is_text else values
        return record if has_names(features) else list(record.values())


def read_lines(source: str, *, needed: Sequence[str]) -> list[Line]:
    """The lines of a file, each with the columns that are needed."""
    text = _text(source)
    if not text.strip():
        raise InvalidTable(f"{_called(source)} is empty", hint=_HINT)
    is_json = text.lstrip().startswith("{")
    lines = list(_json_lines(text) if is_json else _csv_lines(text))
    if not lines:
        raise InvalidTable(f"{_called(source)} has a heading and no lines", hint=_HINT)
    for line in lines:
        missing = [name for name in needed if name not in line.values]
        if missing:
            there = ", ".join(map(repr, line.values))
            raise InvalidTable(
                f"line {line.number} of {_called(source)} has no {missing[0]!r}",
                hint=f"it has {there}; an option names another column",
            )
    return lines


def keyed(lines: Sequence[Line], column: str) -> dict[str, Line]:
    """The lines by the key of their unit, which no two may share."""
    from equipoise.core.experiment.units.keys import checked_key

    found: dict[str, Line] = {}
    for line in lines:
        try:
            key = checked_key(line.key(column)) or ""
        except InvalidArgument as error:
            raise at_line(line, error) from None
        if key in found:
            raise InvalidTable(
                f"line {line.number}: unit {key!r} is on line {found[key].number} already",
                hint="leave one out",
            )
        found[key] = line
    return found


def at_line(line: Line, error: EquipoiseError) -> EquipoiseError:
    """The same error, saying where in the file."""
    error.message = f"line {line.number}: {error.message}"
    return error


def column_hint(features: Any) -> str:
    """What lines of a file have."""
    return f"columns: unit and what 'equipoise ask' would take: {example(features)}"


def _called(source: str) -> str:
    return "standard input" if source == "-" else source


def _text(source: str) -> str:
    try:
        content = sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes()
    except OSError as error:
        raise InvalidTable(f"cannot read {source}: {error.strerror or error}", hint=_HINT) from None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidTable(
            f"{_called(source)} is not UTF-8 text", hint="save it as UTF-8; spreadsheets call it CSV UTF-8"
        ) from None


def _json_lines(text: str) -> Iterator[Line]:
    for number, line in enumerate(text.split("\n"), 1):  # other separators may stand in a text
        if not line.strip():
            continue
        try:
            values = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InvalidTable(f"line {number} is not JSON: {error}", hint="one object a line") from None
        if not isinstance(values, dict):
            raise InvalidTable(f"line {number} is not a JSON object", hint='e.g. {"unit": "P-1", "age": 54}')
        yield Line(number, values, is_text=False)


def _csv_lines(text: str) -> Iterator[Line]:
    heading = text.lstrip("\r\n").splitlines()[0]
    separator = max(_SEPARATORS, key=heading.count)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    names: list[str] | None = None
    try:
        for row in rows:
            if not any(cell.strip() for cell in row):
                continue
            if names is None:
                names = _names(row)
                continue
            if len(row) != len(names):
                raise InvalidTable(
                    f"line {rows.line_num} has {len(row)} cells under {len(names)} headings",
                    hint="text with a separator in it goes in quotes",
                )
            yield Line(rows.line_num, dict(zip(names, row, strict=True)), is_text=True)
    except csv.Error as error:
        raise InvalidTable(f"line {rows.line_num} is not CSV: {error}", hint=_HINT) from None


def _names(row: Sequence[str]) -> list[str]:
    names = [cell.strip() for cell in row]
    for place, name in enumerate(names):
        if not name:
            raise InvalidTable(f"column {place + 1} has no heading", hint="the first line names the columns")
        if name in names[:place]:
            raise InvalidTable(f"two columns are called {name!r}", hint="rename or drop one")
    return names
