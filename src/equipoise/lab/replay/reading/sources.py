"""Any table as named columns in blocks of rows: files, Arrow, pandas, Polars, NumPy and dictionaries.

A block is one array a column: float64 with nan where a cell is missing; dates and lengths of time as NumPy
has them, NaT where one is missing; or objects, which are text with None where a cell is missing. Only the
columns that are asked for are kept, and never the whole table twice.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from equipoise.core.problem.real import NotReal, foreign_kind
from equipoise.errors import EquipoiseError, InvalidArgument, InvalidTable
from equipoise.extras import library
from equipoise.lab.replay.reading.dates import moment
from equipoise.lab.replay.reading.text_files import TextFile, TextFormat
from equipoise.unpacking import TooLarge, most_unpacked

Column = npt.NDArray[Any]
Blocks = Callable[[Sequence[str]], Iterator[list[Column]]]

# 32 MB: small beside a large table, large enough that blocks cost nothing by themselves.
_CELLS_A_BLOCK = 4_000_000
# Rows that repeat pack better than text: so many times the usual limit.
_ROOM = 8
_FILES = ".csv, .tsv, .txt (also .csv.gz, .tsv.gz), .parquet, .feather, .arrow or .npy"


@dataclass(frozen=True)
class Source:
    """Named columns, read in blocks."""

    name: str
    columns: tuple[str, ...]
    blocks: Blocks
    notes: tuple[str, ...] = ()
    """What was found out about the file, in sentences."""


def open_source(data: Any, format: TextFormat) -> Source:
    """The columns of whatever ``data`` is; a text or a path is a file."""
    if isinstance(data, str | Path):
        return _file(Path(data), format)
    if not format.is_default:
        raise _not_text("this table")
    package = type(data).__module__.partition(".")[0]
    if package == "pandas":
        return _pandas(data)
    if package == "polars":
        return _polars(data)
    if package == "pyarrow" and hasattr(data, "to_batches") and hasattr(data, "column_names"):
        return _arrow(data, "arrow table")
    if isinstance(data, Mapping):
        return _arrays({str(name): _as_array(values) for name, values in data.items()}, "dictionary")
    if isinstance(data, np.ndarray):
        return _numpy(data, "array")
    raise InvalidTable(
        f"a {type(data).__name__} is not a table",
        hint="give a file, a pandas, Polars or Arrow table, a NumPy array or a dictionary of columns",
    )


def _not_text(what: str) -> InvalidArgument:
    return InvalidArgument(f"separator, decimal and na are for CSV and TSV files, and {what} is none")


def _file(path: Path, format: TextFormat) -> Source:
    kind = "".join(path.suffixes[-2:]) if path.suffix == ".gz" else path.suffix
    readers: dict[str, Callable[[Path], Source]] = {
        **dict.fromkeys((".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt"), lambda path: _csv(path, format)),
        ".parquet": _parquet,
        ".pq": _parquet,
        ".feather": _ipc,
        ".arrow": _ipc,
        ".ipc": _ipc,
        ".npy": _npy,
    }
    reader = readers.get(kind.lower())
    if reader is None:
        raise InvalidTable(f"{path.name} is no kind of table that is known", hint=f"give {_FILES}")
    if not format.is_default and kind.lower().removesuffix(".gz") not in (".csv", ".tsv", ".txt"):
        raise _not_text(path.name)
    with _explained(path, kind):
        with path.open("rb"):
            pass
        source = reader(path)

    def blocks(columns: Sequence[str]) -> Iterator[list[Column]]:
        # Numbers that repeat need hardly any room in some kinds of files.
        limit = _ROOM * most_unpacked(path.stat().st_size)
        left = limit // np.dtype(float).itemsize
        with _explained(path, kind):
            for block in source.blocks(columns):
                left -= sum(map(len, block))
                if left < 0:
                    raise TooLarge(limit)
                yield block

    return Source(source.name, source.columns, blocks, source.notes)


@contextmanager
def _explained(path: Path, kind: str) -> Iterator[None]:
    try:
        yield
    except EquipoiseError:
        raise
    except TooLarge as error:
        raise InvalidTable(f"{path.name}: {error}", hint="if you trust it, unpack it first") from None
    except OSError as error:
        raise InvalidTable(f"cannot read {path}: {error.strerror or error}", hint="check the path") from None
    except Exception as error:  # Arrow and NumPy raise all sorts of things on damaged files
        raise InvalidTable(
            f"{path.name} is not a whole {kind} file: {error}", hint="write it again, or give another"
        ) from None


def _npy(path: Path) -> Source:
    # Mapped, so a header that promises more than there is does no harm.
    return _numpy(np.load(path, mmap_mode="r", allow_pickle=False), path.name)


def _csv(path: Path, format: TextFormat) -> Source:
    file = TextFile(path, format)

    def blocks(columns: Sequence[str]) -> Iterator[list[Column]]:
        yield from _pandas(file.frame()[list(columns)]).blocks(columns)

    return Source(path.name, _unique(file.names), blocks, file.notes)


def _parquet(path: Path) -> Source:
    parquet = library("pyarrow.parquet")
    with parquet.ParquetFile(path) as file:
        names = file.schema_arrow.names

    def blocks(columns: Sequence[str]) -> Iterator[list[Column]]:
        with parquet.ParquetFile(path, pre_buffer=False) as file:
            _check_parquet(file.metadata, path)
            yield from _arrow_blocks(file.iter_batches(_rows(columns), columns=list(columns)), columns)

    return Source(path.name, _unique(names), blocks)


def _check_parquet(metadata: Any, path: Path) -> None:
    limit = most_unpacked(path.stat().st_size) * _ROOM
    groups = (metadata.row_group(place).total_byte_size for place in range(metadata.num_row_groups))
    if sum(groups) > limit:
        raise TooLarge(limit)


def _ipc(path: Path) -> Source:
    """Feather and Arrow files, mapped rather than read."""
    arrow = library("pyarrow")

    def opened() -> Any:
        # The format for files has a signature; the one for streams has none.
        with path.open("rb") as file:
            whole = file.read(6) == b"ARROW1"
        mapped = arrow.memory_map(str(path))
        return arrow.ipc.open_file(mapped) if whole else arrow.ipc.open_stream(mapped)

    def blocks(columns: Sequence[str]) -> Iterator[list[Column]]:
        reader = opened()
        if hasattr(reader, "num_record_batches"):
            batches = (reader.get_batch(i) for i in range(reader.num_record_batches))
        else:
            batches = iter(reader)
        for batch in batches:
            for first in range(0, batch.num_rows, _rows(columns)):
                yield from _arrow_blocks([batch.slice(first, _rows(columns))], columns)

    return Source(path.name, _unique(opened().schema.names), blocks)


def _arrow(table: Any, name: str) -> Source:
    def blocks(columns: Sequence[str]) -> Iterator[list[Column]]:
        yield from _arrow_blocks(table.select(list(columns)).to_batches(_rows(columns)), columns)

    return Source(name, _unique(table.column_names), blocks)


def _arrow_blocks(batches: Any, columns: Sequence[str]) -> Iterator[list[Column]]:
    for batch in batches:
        yield [_arrow_column(name, batch.column(name)) for name in columns]


def _arrow_column(name: str, values: Any) -> Column:
    types = library("pyarrow").types
    kind = values.type
    if types.is_dictionary(kind):
        return _arrow_column(name, values.dictionary_decode())
    if types.is_date(kind) or types.is_timestamp(kind):
        return np.asarray(values.cast("timestamp[us]", safe=False).to_numpy(zero_copy_only=False))
    if types.is_duration(kind):
        return np.asarray(values.cast("duration[us]", safe=False).to_numpy(zero_copy_only=False))
    if types.is_temporal(kind):
        raise _foreign(name, "times of day")
    if types.is_boolean(kind):
        values = values.cast("uint8")
        kind = values.type
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_null(kind):
        # Whole numbers beyond 2⁵³ are rounded, as everywhere.
        numbers: Column = values.cast("float64", safe=False).to_numpy(zero_copy_only=False)
        return numbers
    return np.array([None if cell is None else str(cell) for cell in values.to_pylist()], dtype=object)


def _pandas(frame: Any) -> Source:
    if not hasattr(frame, "columns"):
        raise InvalidTable("a pandas Series is one column", hint="give a DataFrame")
    pandas = library("pandas")
    labels = {str(label): place for place, label in enumerate(frame.columns)}

    def column(name: str, values: Any) -> Column:
        kind = values.dtype
        if isinstance(kind, pandas.CategoricalDtype):
            return column(name, values.astype(kind.categories.dtype))
        if pandas.api.types.is_complex_dtype(kind):
            raise _foreign(name, "complex numbers")
        if pandas.api.types.is_numeric_dtype(kind):  # true and false are numbers here
            numbers: Column = values.to_numpy(dtype=float, na_value=np.nan)
            return numbers
        if getattr(kind, "tz", None) is not None:
            values = values.dt.tz_convert("UTC").dt.tz_localize(None)
        if values.dtype.kind in "Mm":
            moments: Column = values.to_numpy().astype(f"{values.dtype.kind}8[us]")
            return moments
        missing = values.isna().to_numpy()
        return _objects(name, values.astype(object).to_numpy(), missing)

    def blocks(columns: Sequence[str]) -> Iterator[list[Column]]:
        places = [labels[name] for name in columns]
        rows = _rows(columns)
        for first in range(0, len(frame), rows):
            part = frame.iloc[first : first + rows]
            yield [column(name, part.iloc[:, place]) for name, place in zip(columns, places, strict=True)]

    return Source("data frame", _unique([str(label) for label in frame.columns]), blocks)


def _polars(frame: Any) -> Source:
    polars = library("polars")
    if isinstance(frame, polars.LazyFrame):
        frame = frame.collect()
    if not isinstance(frame, polars.DataFrame):
        raise InvalidTable("a Polars Series is one column", hint="give a DataFrame")

    def column(values: Any) -> Column:
        if values.dtype == polars.Time:
            raise _foreign(values.name, "times of day")
        if values.dtype.is_temporal():
            if getattr(values.dtype, "time_zone", None) is not None:
                values = values.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
            unit = polars.Duration("us") if values.dtype == polars.Duration else polars.Datetime("us")
            moments: Column = values.cast(unit).to_numpy()
            return moments
        if values.dtype.is_numeric() or values.dtype in (polars.Boolean, polars.Null):
            numbers: Column = values.cast(polars.Float64).to_numpy()
            return numbers
        return np.array([None if cell is None else str(cell) for cell in values.to_list()], dtype=object)

    def blocks(columns: Sequence[str]) -> Iterator[list[Column]]:
        rows = _rows(columns)
        for first in range(0, frame.height, rows):
            part = frame.slice(first, rows)
            yield [column(part[name]) for name in columns]

    return Source("data frame", _unique(frame.columns), blocks)


def _numpy(array: npt.NDArray[Any], name: str) -> Source:
    if array.dtype.names is not None and array.ndim == 1:
        return _arrays({column: array[column] for column in array.dtype.names}, name)
    if array.ndim != 2:
        raise InvalidTable(f"an array of shape {array.shape} is not a table", hint="give rows and columns")
    return _arrays({str(place): array[:, place] for place in range(array.shape[1])}, name)


def _arrays(columns: Mapping[str, npt.NDArray[Any]], name: str) -> Source:
    shapes = {values.shape for values in columns.values()}
    if len(shapes) > 1 or any(len(shape) != 1 for shape in shapes):
        raise InvalidTable("the columns are not lists of one length", hint="give one value a row")
    rows = next(iter(shapes))[0] if shapes else 0

    def blocks(chosen: Sequence[str]) -> Iterator[list[Column]]:
        step = _rows(chosen)
        for first in range(0, rows, step):
            yield [_array_column(column, columns[column][first : first + step]) for column in chosen]

    return Source(name, _unique(list(columns)), blocks)


def _as_array(values: Any) -> npt.NDArray[Any]:
    # A masked array would lose its mask.
    return values if isinstance(values, np.ndarray) else np.asarray(values)


def _array_column(name: str, values: npt.NDArray[Any]) -> Column:
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise _foreign(name, "masked entries")
    if values.dtype.kind in "biuf":
        return np.asarray(values).astype(float)
    if values.dtype.kind in "Mm":
        return np.asarray(values).astype(f"{values.dtype.kind}8[us]")
    objects = values.astype(object)
    missing = np.array([cell is None or cell != cell for cell in objects], dtype=bool)
    return _objects(name, objects, missing)


def _objects(name: str, cells: Column, missing: npt.NDArray[np.bool_]) -> Column:
    """Numbers or dates, if all that is there are such; text otherwise."""
    present = cells[~missing]
    kinds = {foreign_kind(cell) for cell in present}
    if kinds == {"dates or times"}:
        return _times(name, cells, missing)
    for what in ("dates or times", "complex numbers"):
        if what in kinds:
            raise _foreign(name, what)
    if kinds == {None, "true and false"}:
        raise InvalidTable(
            f"column {name!r} mixes numbers with true and false", hint="write 1 and 0 throughout"
        )
    if kinds <= {None} or kinds == {"true and false"}:
        numbers = np.full(len(cells), np.nan)
        numbers[~missing] = present.astype(float)
        return numbers
    words = np.full(len(cells), None, dtype=object)
    words[~missing] = [str(cell) for cell in present]
    return words


def _times(name: str, cells: Column, missing: npt.NDArray[np.bool_]) -> Column:
    """Dates, or lengths of time."""
    lengths = datetime.timedelta, np.timedelta64
    if all(isinstance(cell, lengths) for cell in cells[~missing]):
        spans = np.full(len(cells), np.timedelta64("NaT"), "m8[us]")
        spans[~missing] = [np.timedelta64(cell, "us") for cell in cells[~missing]]
        return spans
    if any(isinstance(cell, (*lengths, datetime.time)) for cell in cells[~missing]):
        raise _foreign(name, "times of day")
    moments = np.full(len(cells), np.datetime64("NaT"), "M8[us]")
    moments[~missing] = [moment(cell) for cell in cells[~missing]]
    return moments


def _foreign(name: str, what: str) -> InvalidTable:
    error = NotReal(what)
    return InvalidTable(f"column {name!r} holds {error}", hint=f"{error.hint}; or leave the column out")


def _rows(columns: Sequence[str]) -> int:
    return max(1, _CELLS_A_BLOCK // len(columns))


def _unique(names: Sequence[str]) -> tuple[str, ...]:
    twice = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
    if twice:
        raise InvalidTable(f"two columns are called {twice[0]!r}", hint="rename one")
    return tuple(names)
