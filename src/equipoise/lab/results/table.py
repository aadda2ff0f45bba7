"""A tidy table with its metadata: prints itself, and becomes pandas, Polars, Arrow or Parquet."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, overload

from equipoise.core.text_tables import html_table, text_table
from equipoise.errors import InvalidArgument
from equipoise.extras import library
from equipoise.files import write_whole
from equipoise.lab.results.estimate import with_error


class TidyTable(Sequence[dict[str, Any]]):
    """Rows of plain values under named columns.

    >>> table = TidyTable(["policy", "value"], [("uniform", 0.5)], {"seed": 1})
    >>> table.records()
    [{'policy': 'uniform', 'value': 0.5}]
    """

    def __init__(
        self, columns: Sequence[str], rows: Sequence[Sequence[Any]], metadata: Mapping[str, Any]
    ) -> None:
        self.columns = tuple(columns)
        self.metadata = dict(metadata)
        self._rows = [tuple(row) for row in rows]

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

    def __str__(self) -> str:
        return text_table(self.columns, self._cells())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table(self.columns, self._cells())

    def _cells(self) -> list[list[str]]:
        """What is printed: numbers with an error beside them as far as that allows."""
        cells = [[_cell(value) for value in row] for row in self._rows]
        if "stderr" in self.columns:
            error = self.columns.index("stderr")
            for row, shown in zip(self._rows, cells, strict=True):
                both = with_error(row[error - 1], row[error]).split(" ± ")
                if len(both) == 2:
                    shown[error - 1], shown[error] = both
        return cells


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
