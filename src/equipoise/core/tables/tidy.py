"""A tidy table with its metadata: prints itself, and becomes what others work with.

Data for programs (pandas, Polars, Arrow, Parquet, CSV, ``records``) are plain numbers under plain names.
What people read (the terminal, notebooks, Markdown, LaTeX) may have fewer columns, with the digits that
errors allow, words where there is no number, and notes.
"""

from __future__ import annotations

import copy
import csv
import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from textwrap import fill
from typing import Any, overload

from equipoise.core.tables.latex import latex_table
from equipoise.core.text_tables import html_table, markdown_table, text_table
from equipoise.errors import InvalidArgument
from equipoise.extras import library
from equipoise.files import write_whole


@dataclass(frozen=True)
class ForReaders:
    """What people see of a table."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: int = 1
    """Columns of words, set to the left."""
    notes: Sequence[str] = ()
    """Sentences below."""


class TidyTable(Sequence[dict[str, Any]]):
    """Rows of plain values under named columns.

    ``for_readers`` is what is shown of them; all of them unless given.

    >>> table = TidyTable(["policy", "value"], [("uniform", 0.5)], {"seed": 1})
    >>> table.records()
    [{'policy': 'uniform', 'value': 0.5}]
    """

    def __init__(
        self,
        columns: Sequence[str],
        rows: Sequence[Sequence[Any]],
        metadata: Mapping[str, Any],
        for_readers: ForReaders | None = None,
    ) -> None:
        self.columns = tuple(columns)
        self.metadata = dict(metadata)
        self._rows = [tuple(row) for row in rows]
        self._for_readers = for_readers

    @overload
    def __getitem__(self, key: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, key: slice) -> list[dict[str, Any]]: ...
    def __getitem__(self, key: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        if isinstance(key, slice):
            return self.records()[key]
        return dict(zip(self.columns, self._rows[key], strict=True))

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.records())

    def records(self) -> list[dict[str, Any]]:
        """One dictionary a row."""
        return [dict(zip(self.columns, row, strict=True)) for row in self._rows]

    def column(self, name: str) -> list[Any]:
        """The values of one column."""
        if name not in self.columns:
            raise InvalidArgument(f"no column {name!r}", hint=f"columns: {', '.join(self.columns)}")
        place = self.columns.index(name)
        return [row[place] for row in self._rows]

    def to_pandas(self) -> Any:
        """A pandas data frame; the metadata are its ``attrs``."""
        pandas = library("pandas")
        frame = pandas.DataFrame.from_records(self._rows, columns=list(self.columns))
        frame.attrs = copy.deepcopy(self.metadata)
        return frame

    def to_polars(self) -> Any:
        """A Polars data frame."""
        # Every row counts for a column's type: the first whole number does not make it whole.
        return library("polars").DataFrame({name: self.column(name) for name in self.columns}, strict=False)

    def to_arrow(self) -> Any:
        """An Arrow table; the metadata are in its schema under ``equipoise``."""
        pyarrow = library("pyarrow")
        table = pyarrow.table({name: self.column(name) for name in self.columns})
        return table.replace_schema_metadata({"equipoise": json.dumps(self.metadata)})

    def write_parquet(self, path: str | Path) -> None:
        """A Parquet file with the metadata inside."""
        parquet, table = library("pyarrow.parquet"), self.to_arrow()
        write_whole(path, lambda file: parquet.write_table(table, file), hint="choose another file")

    def to_csv(self, path: str | Path | None = None) -> str:
        """Comma-separated values, also written to ``path`` if given; not a number is an empty cell."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows([["" if _is_none(value) else value for value in row] for row in self._rows])
        return _written(text.getvalue(), path)

    def to_markdown(self, path: str | Path | None = None) -> str:
        """What people read, as a Markdown table with its notes; also written to ``path`` if given."""
        shown = self.for_readers
        rows = [[cell.replace("|", "\\|") for cell in row] for row in [shown.header, *shown.rows]]
        text = "\n".join([markdown_table(rows[0], rows[1:]), *(f"{note}\n" for note in shown.notes)])
        return _written(text, path)

    def to_latex(
        self, path: str | Path | None = None, *, caption: str | None = None, label: str | None = None
    ) -> str:
        """What people read, as a LaTeX table with the rules of booktabs; also written to ``path`` if given.

        With a caption or a label it floats, with the notes below; without, it is a ``tabular``.
        """
        shown = self.for_readers
        text = latex_table(
            shown.header, shown.rows, left=shown.left, notes=shown.notes, caption=caption, label=label
        )
        return _written(text, path)

    @property
    def for_readers(self) -> ForReaders:
        """What people see of it."""
        if self._for_readers is not None:
            return self._for_readers
        return ForReaders(self.columns, [[_cell(value) for value in row] for row in self._rows])

    def __str__(self) -> str:
        shown = self.for_readers
        notes = [fill(note, 100) for note in shown.notes]
        return "\n".join([text_table(shown.header, shown.rows, left=shown.left), *notes])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        shown = self.for_readers
        notes = "".join(f"<p>{escape(note)}</p>" for note in shown.notes)
        return html_table(shown.header, shown.rows) + notes


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _is_none(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _written(text: str, path: str | Path | None) -> str:
    if path is not None:
        write_whole(path, text, hint="choose another file")
    return text
