"""Tables of any library as records: pandas, Polars, lists of records, columns by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from equipoise.errors import InvalidContext


def as_record(value: Any) -> Mapping[str, Any]:
    """One record: a mapping, or a row of a data frame."""
    if isinstance(value, Mapping):
        return value
    if hasattr(value, "to_dict") and hasattr(value, "index"):  # a row of pandas
        record: Mapping[str, Any] = value.to_dict()
        return record
    raise InvalidContext(
        f"{_shown(value)} is not a record", hint="give the fields by name, e.g. {'age': 54, 'sex': 'f'}"
    )


def as_records(table: Any) -> Iterable[Any]:
    """The rows of a table as records."""
    if hasattr(table, "to_dicts"):  # Polars
        rows: Iterable[Any] = table.to_dicts()
        return rows
    if hasattr(table, "columns") and hasattr(table, "to_dict"):  # pandas
        twice = [str(name) for place, name in enumerate(table.columns) if name in table.columns[:place]]
        if twice:
            raise InvalidContext(f"two columns are called {twice[0]!r}", hint="rename or drop one")
        return columns_as_records({name: table[name].tolist() for name in table.columns})
    if hasattr(table, "to_pylist"):  # Arrow
        rows = table.to_pylist()
        return rows
    if isinstance(table, Mapping):
        if all(isinstance(column, list | tuple) or hasattr(column, "__array__") for column in table.values()):
            return columns_as_records({name: list(column) for name, column in table.items()})
        raise InvalidContext("this is one record", hint="give a list of records: [{…}, {…}]")
    if isinstance(table, str) or not isinstance(table, Iterable):
        raise InvalidContext(f"{_shown(table)} is not a table", hint="give a data frame or a list of records")
    return table


def columns_as_records(columns: Mapping[str, list[Any]]) -> list[dict[str, Any]]:
    """Rows of columns that are equally long."""
    if len({len(column) for column in columns.values()}) > 1:
        raise InvalidContext("the columns are not equally long")
    names = list(columns)
    return [dict(zip(names, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
