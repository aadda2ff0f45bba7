"""A table before it is replayed: every column and what would be made of it, and what stands in the way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Unpack

import numpy as np

from equipoise.core.text_tables import html_table, text_table
from equipoise.errors import EquipoiseError, InvalidTable
from equipoise.lab.replay.fit import column_spreads, fit_table, redundant_columns
from equipoise.lab.replay.reading import dates
from equipoise.lab.replay.reading.doubts import doubt_category, doubt_text
from equipoise.lab.replay.reading.options import ReadingOptions, Roles, choose_columns
from equipoise.lab.replay.reading.reader import DATES, MOST_CATEGORIES, NUMBERS, TEXT, kind_of
from equipoise.lab.replay.reading.sources import Column, Source, open_source
from equipoise.lab.replay.reading.text_files import text_format
from equipoise.lab.replay.scale import NOTABLE, ratio_words, spread_ratio
from equipoise.lab.replay.table import ReplayTable, as_table, is_split, split_name

_WOULD = "would be"


@dataclass(frozen=True)
class ColumnDescription:
    """One column: its role, what it holds, and what to know about it."""

    name: str
    role: str
    """``context``, ``target``, ``excluded``, ``group``, ``order``; empty if no targets are named."""
    kind: str
    """``numbers``, ``text``, ``dates``, ``lengths of time``, or empty."""
    missing: int
    different: int
    lowest: str
    highest: str
    spread: float | None
    """Standard deviation of numbers."""
    remark: str


@dataclass(frozen=True)
class TableDescription:
    """What a table holds, and what a replay would make of it. Made by :func:`describe_table`."""

    name: str
    rows: int
    columns: tuple[ColumnDescription, ...]
    complete: int | None
    """Rows that a replay would use; None as long as it would refuse the table."""
    features: tuple[str, ...]
    """Contexts as they would be used, one-hot columns by name, without the intercept."""
    redundant: tuple[str, ...]
    targets: tuple[str, ...]
    spreads: tuple[float, ...]
    """Standard deviation of every target; empty as long as the table would be refused."""
    least_budget: int | None
    """m(d+1), the intercept counted in d: what adaptive policies start with."""
    notes: tuple[str, ...]
    refusal: str | None
    hint: str | None
    """Why the table would be refused as it is, and what to do."""

    @property
    def spread_ratio(self) -> float | None:
        """The largest standard deviation of a target over the smallest; None if no target varies."""
        return spread_ratio(self.spreads) if any(self.spreads) else None

    def record(self) -> dict[str, Any]:
        """Plain values."""
        return {**asdict(self), "spread_ratio": self.spread_ratio}

    def rows_of_text(self) -> list[list[str]]:
        """A line of cells a column."""
        return [
            [
                column.name,
                column.role,
                column.kind,
                f"{column.missing:,}" if column.missing else "",
                f"{column.different:,}",
                column.lowest,
                column.highest,
                "" if column.spread is None else f"{column.spread:.4g}",
            ]
            for column in self.columns
        ]

    @property
    def heads(self) -> list[str]:
        """Names of those cells."""
        return ["column", "role", "kind", "missing", "values", "lowest", "highest", "spread"]

    def sentences(self) -> Iterator[str]:
        """What a replay would do."""
        for column in self.columns:
            # The notes say it of a table that would be taken.
            if column.remark and (self.complete is None or not column.remark.startswith(_WOULD)):
                yield f"{column.name}: {column.remark}."
        yield from self.notes
        if not self.targets:
            yield "No targets are named yet: each is one arm to learn."
        if self.redundant:
            yield f"Combinations of other columns, left out: {', '.join(self.redundant)}."
        if self.complete is not None:
            yield (
                f"A replay would use {self.complete:,} rows, {len(self.features)} context columns, an "
                f"intercept and {len(self.targets)} targets. Adaptive policies need a budget of "
                f"{self.least_budget:,} or more."
            )
        if self.spread_ratio is not None and self.spread_ratio > NOTABLE:
            yield (
                f"{self._ratio()}: errors would be shares of each target's variance (--scale targets), "
                "unless --scale none says that all are in one unit."
            )
        elif self.spread_ratio is not None and len(self.targets) > 1:
            yield f"{self._ratio()}: errors would be compared as they are."
        if self.refusal is not None:
            hint = f" {self.hint[:1].upper()}{self.hint[1:]}." if self.hint else ""
            yield f"As it is, the table would be refused: {self.refusal}.{hint}"

    def _ratio(self) -> str:
        words = ratio_words(self.targets, self.spreads)
        return words[:1].upper() + words[1:]

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.rows:,} rows, {len(self.columns)} columns"]
        return "\n".join([*lines, text_table(self.heads, self.rows_of_text()), *self.sentences()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table(self.heads, self.rows_of_text())


def describe_table(data: Any, **reading: Unpack[ReadingOptions]) -> TableDescription:
    """Describe a table without replaying it; ``reading`` is what :func:`equipoise.as_table` takes.

    Nothing is refused but what is no table at all: the description says what would be.

    Examples
    --------
    >>> import equipoise as eq
    >>> columns = {"age": [30, 40, 50], "a": [1.0, 2.0, 4.0], "b": [90, 310, 180]}
    >>> told = eq.describe_table(columns, targets=["a", "b"])
    >>> told.rows, told.features, round(told.spread_ratio)
    (3, ('age',), 72)
    """
    if is_split(data):
        reading = {**reading, "contexts": data.context_names, "targets": data.target_names}
        reading.setdefault("name", split_name(data))
        data = _columns_of(data)
    written = text_format(reading.get("separator"), reading.get("decimal", "."), reading.get("na", ()))
    source = open_source(data, written)
    refusal: EquipoiseError | None = None
    table: ReplayTable | None = None
    roles = Roles((), ())
    try:
        if reading.get("targets") is not None:
            roles = choose_columns(
                source,
                reading.get("contexts"),
                reading.get("targets"),
                reading.get("exclude", ()),
                reading.get("group"),
                reading.get("order"),
            )
            table = as_table(data, **reading)
    except EquipoiseError as error:
        refusal = error
    read = _columns(source)
    columns = [_described(column, roles, reading) for column in read]
    redundant = () if table is None else redundant_columns(table, fit_table(table, "intercept"))
    features = () if table is None else tuple(name for name in table.context_names if name not in redundant)
    return TableDescription(
        name=reading.get("name") or source.name,
        rows=max((column.rows for column in read), default=0),
        columns=tuple(columns),
        complete=None if table is None else table.rows,
        features=features,
        redundant=redundant,
        targets=roles.targets,
        spreads=() if table is None else tuple(column_spreads(table.targets).tolist()),
        least_budget=None if table is None else len(roles.targets) * (len(features) + 2),
        notes=source.notes if table is None else table.notes,
        refusal=None if refusal is None else refusal.message,
        hint=None if refusal is None else refusal.hint,
    )


def _columns_of(data: Any) -> dict[str, Any]:
    """The columns of contexts and targets that came apart."""
    parts = ((data.context_names, data.contexts), (data.target_names, data.targets))
    return {name: np.asarray(part)[:, place] for names, part in parts for place, name in enumerate(names)}


@dataclass(frozen=True)
class _Column:
    """A column as it was read: the cells that are there, or why it cannot be read."""

    name: str
    rows: int
    present: Column
    error: InvalidTable | None = None


def _columns(source: Source) -> list[_Column]:
    try:
        found = _joined(source, source.columns)
    except InvalidTable:  # one of them cannot be read: which?
        found = []
        for name in source.columns:
            try:
                found += _joined(source, [name])
            except InvalidTable as error:
                found.append(_Column(name, 0, np.zeros(0), error))
    return found


def _joined(source: Source, names: Sequence[str]) -> list[_Column]:
    """Whole columns of all blocks."""
    parts: dict[str, list[Column]] = {name: [] for name in names}
    rows = 0
    for block in source.blocks(names):
        rows += len(block[0])
        for name, cells in zip(names, block, strict=True):
            parts[name].append(cells[cells != None] if cells.dtype == object else cells[cells == cells])  # noqa: E711
    found = []
    for name, pieces in parts.items():
        filled = [part for part in pieces if len(part)]
        kinds = {part.dtype for part in filled}
        if len(kinds) > 1:
            filled = [np.array([str(cell) for cell in part], dtype=object) for part in filled]
        found.append(_Column(name, rows, np.concatenate(filled) if filled else np.zeros(0)))
    return found


def _described(column: _Column, roles: Roles, reading: ReadingOptions) -> ColumnDescription:
    cells, date_format = column.present, reading.get("date_format")
    role = _role(column.name, roles)
    if column.error is not None:
        return ColumnDescription(column.name, role, "", 0, 0, "", "", None, _short(column.error))
    kind = kind_of(cells, date_format) if len(cells) else ""
    different = len(np.unique(cells))
    remark, spread = "", None
    if kind == TEXT:
        remark = _text_remark(column, different, role, reading)
        low, high = (_clipped(str(end)) for end in (min(cells), max(cells)))
    elif kind == DATES:
        if cells.dtype == object:
            cells = dates.parse_dates(column.name, cells, date_format)
        low, high = (
            str(end)[: 10 if _is_day(cells) else 16].replace("T", " ") for end in (cells.min(), cells.max())
        )
        remark = f"{_WOULD} counted in {dates.RULE}" if role == "context" else ""
    elif kind:
        numbers = cells if kind == NUMBERS else dates.days(cells)
        low, high = f"{numbers.min():.5g}", f"{numbers.max():.5g}"
        spread = float(column_spreads(numbers[:, None])[0])
        steps = np.diff(numbers)
        if different == len(cells) > 2 and np.all(steps >= 1.0) and numbers[-1] - numbers[0] < column.rows:
            remark = (
                "numbers the rows; leave it out (--exclude) if that means nothing"
                if role in ("context", "")
                else ""
            )
    else:
        low = high = ""
    if different <= 1:
        remark = "empty" if not different else "constant: says nothing"
    missing = column.rows - len(column.present)
    return ColumnDescription(column.name, role, kind, missing, different, low, high, spread, remark)


def _role(name: str, roles: Roles) -> str:
    known = {
        "group": (roles.group,),
        "order": (roles.order,),
        "target": roles.targets,
        "excluded": roles.excluded,
    }
    named = [role for role, columns in known.items() if name in columns]
    if name in roles.contexts:
        named.append("context")
    # With contexts that were chosen, all other columns are left out.
    return ", ".join(named) or ("excluded" if roles.targets else "")


def _text_remark(column: _Column, different: int, role: str, reading: ReadingOptions) -> str:
    if role in ("excluded", "group"):
        return ""
    try:
        doubt_text(column.name, set(column.present), reading.get("decimal", "."))
        doubt_category(column.name, different, column.rows, MOST_CATEGORIES)
    except InvalidTable as error:
        return _short(error)
    return (
        f"{_WOULD} {different} columns of 0 and 1"
        if reading.get("one_hot")
        else "text; --one-hot makes 0 and 1 of its values, --exclude leaves it out"
    )


def _short(error: InvalidTable) -> str:
    return error.message.partition("' ")[2] or error.message


def _clipped(text: str, most: int = 16) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _is_day(moments: Column) -> bool:
    return bool(np.all(moments == moments.astype("M8[D]")))
