"""A complete table of numbers: contexts to choose by, targets to learn, one target an arm."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from equipoise.core.arrays import Counts, Matrix, Vector
from equipoise.core.problem.inputs import LARGEST
from equipoise.core.problem.names import is_text
from equipoise.core.problem.real import NotReal, real_array
from equipoise.errors import InvalidArgument, InvalidTable
from equipoise.lab.replay.reading.options import FILLING, check_missing, choose_columns
from equipoise.lab.replay.reading.reader import Cells, Reader
from equipoise.lab.replay.reading.sources import open_source
from equipoise.lab.replay.reading.text_files import text_format


@dataclass(frozen=True, eq=False)
class ReplayTable:
    """Rows without gaps. Made by :func:`as_table`.

    Parameters
    ----------
    name
        What results call the table.
    contexts, targets
        One row a unit; one column a feature, or an arm.
    context_names, target_names
        Names of the columns.
    dropped, filled
        Rows that were left out because a cell was missing, and cells that were filled.
    group, order
        Names of the columns that keep rows together, and that put them in order.
    labels
        The group of every row, if rows are read and judged by groups; groups in the order in which they are
        read, where that is fixed.
    notes
        What was done to make numbers of the table, in sentences.
    reading
        The arguments of :func:`as_table` that were not the default ones; empty where contexts and targets
        came apart from each other.
    file
        Where the table was read, if it was a file.
    """

    name: str
    contexts: Matrix = field(repr=False)
    targets: Matrix = field(repr=False)
    context_names: tuple[str, ...]
    target_names: tuple[str, ...]
    dropped: int = 0
    filled: int = 0
    group: str | None = None
    order: str | None = None
    labels: Counts | None = field(default=None, repr=False)
    notes: tuple[str, ...] = ()
    digest: str = ""
    reading: Mapping[str, Any] = field(default_factory=dict)
    file: str | None = None

    def __post_init__(self) -> None:
        for column in (*self.context_names, *self.target_names):
            if not is_text(column):
                raise InvalidTable(f"column name {column!r} holds half a character", hint="rename it")
        if not self.digest:
            object.__setattr__(self, "digest", _digest(self))

    @property
    def rows(self) -> int:
        """Complete rows."""
        return len(self.contexts)


def as_table(
    data: Any,
    *,
    contexts: Sequence[str | int] | None = None,
    targets: Sequence[str | int] | None = None,
    exclude: Sequence[str | int] = (),
    group: str | int | None = None,
    order: str | int | None = None,
    missing: str = "drop",
    one_hot: bool = False,
    separator: str | None = None,
    decimal: str = ".",
    na: Sequence[str] = (),
    date_format: str | None = None,
    name: str | None = None,
) -> ReplayTable:
    """Split the columns of any table into contexts and targets.

    Parameters
    ----------
    data
        A file (CSV, Parquet, Feather or Arrow, NumPy), a pandas, Polars or Arrow table, a NumPy array,
        a dictionary of columns, or an object that has ``contexts``, ``targets``, ``context_names``
        and ``target_names``.
    contexts
        Columns that are known of every unit; all others unless given.
    targets
        Columns to learn: each is an arm, of which a unit shows one.
    exclude
        Columns that are neither.
    group
        A column whose equal values belong together, such as a person with several rows: a trial reads rows
        of some groups and judges on rows of others. No context unless named as one.
    order
        A column of numbers or dates: a trial reads earlier rows, in their order, and judges on later ones. No
        context unless named as one.
    missing
        ``"drop"`` leaves out rows with a missing cell and counts them; ``"refuse"`` raises. ``"mean"`` and
        ``"median"`` fill gaps in contexts with that of the column's present cells, ``"indicator"`` with the
        mean and adds a column that is 1 where a cell was missing. A missing text is a value of its own for
        all three. Rows without a target, group or order are left out all the same.
    one_hot
        Whether a text column among the contexts becomes one column of 0 and 1 a value.
    separator, decimal, na
        Of CSV files: what stands between cells (found in the first line unless given), what starts decimals,
        and words that mean "missing" besides the usual ones.
    date_format
        How dates are written in text if not as ISO 8601 has it, e.g. ``"%d.%m.%Y"``. Dates become days since
        1970-01-01.
    name
        What results call the table; the file's name unless given.

    Examples
    --------
    >>> import numpy as np
    >>> table = as_table({"age": [30, 40, 50], "a": [1.0, 2.0, 2.5], "b": [0, 1, 0]}, targets=["a", "b"])
    >>> table.context_names, table.target_names, table.rows
    (('age',), ('a', 'b'), 3)
    """
    check_missing(missing)
    written = text_format(separator, decimal, na)
    if isinstance(data, ReplayTable) or is_split(data):
        if any(columns is not None for columns in (contexts, targets, group, order)) or len(exclude):
            raise InvalidArgument("the table's columns are split into contexts and targets already")
        if not written.is_default:
            raise InvalidArgument("separator, decimal and na are for CSV and TSV files")
        return data if isinstance(data, ReplayTable) else _from_split(data, missing, name)
    source = open_source(data, written)
    roles = choose_columns(source, contexts, targets, exclude, group, order)
    found = Reader(source, roles, missing, one_hot, decimal, date_format).cells()
    reading = {"contexts": list(roles.contexts), "targets": list(roles.targets)}
    chosen = {
        "group": roles.group,
        "order": roles.order,
        "missing": missing if missing != "drop" else None,
        "one_hot": one_hot or None,
        "separator": written.separator,
        "decimal": decimal if decimal != "." else None,
        "na": list(written.na) or None,
        "date_format": date_format,
    }
    return _checked(
        _apart(
            found,
            name=name or source.name,
            target_names=roles.targets,
            group=roles.group,
            order=roles.order,
            reading={**reading, **{key: value for key, value in chosen.items() if value is not None}},
            file=str(data) if isinstance(data, str | Path) else None,
        )
    )


def _apart(found: Cells, **fields: Any) -> ReplayTable:
    """The table, its rows in their order and labelled by their groups."""
    contexts, targets = found.contexts, found.targets
    group, labels = found.group, None
    if found.order is not None:
        places = np.argsort(found.order, kind="stable")
        contexts, targets = contexts[places], targets[places]
        group = None if group is None else group[places]
        labels = np.unique(found.order[places], return_inverse=True)[1]
    if group is not None:
        labels = _by_appearance(group)
    return ReplayTable(
        contexts=contexts,
        targets=targets,
        context_names=found.context_names,
        dropped=found.dropped,
        filled=found.filled,
        labels=None if labels is None else labels.astype(np.int64),
        notes=found.notes,
        **fields,
    )


def _by_appearance(values: Vector) -> Counts:
    """Groups numbered as they first appear."""
    _, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return np.asarray(rank[inverse])


def is_split(data: Any) -> bool:
    """Whether contexts and targets come apart from each other, as loaders of ratings give them."""
    parts = ("contexts", "targets", "context_names", "target_names")
    return all(hasattr(data, part) for part in parts)


def split_name(data: Any) -> str:
    """What to call such a table."""
    return str(getattr(data, "name", None) or getattr(data, "source", type(data).__name__))


def _from_split(data: Any, missing: str, name: str | None) -> ReplayTable:
    contexts, targets = _matrix("contexts", data.contexts), _matrix("targets", data.targets)
    names = tuple(map(str, data.context_names)), tuple(map(str, data.target_names))
    if contexts.ndim != 2 or targets.ndim != 2 or len(contexts) != len(targets):
        raise InvalidTable(f"contexts of shape {contexts.shape} do not go with targets of {targets.shape}")
    if (contexts.shape[1], targets.shape[1]) != tuple(map(len, names)):
        raise InvalidTable("there is not one name a column")
    complete = np.asarray(np.isfinite(contexts).all(axis=1) & np.isfinite(targets).all(axis=1))
    dropped = int(np.count_nonzero(~complete))
    if dropped:
        if missing in FILLING:
            raise InvalidArgument(
                f"missing={missing!r} fills columns of a table, and these are matrices", hint="use 'drop'"
            )
        if missing == "refuse":
            raise InvalidTable(f"{dropped} of {len(complete)} rows miss a value", hint="leave them out")
        contexts, targets = contexts[complete], targets[complete]
    called = name or split_name(data)
    notes = (f"{dropped:,} of {len(complete):,} rows left out, as a value is missing.",) if dropped else ()
    return _checked(ReplayTable(called, contexts, targets, *names, dropped, notes=notes))


def _matrix(role: str, values: Any) -> Matrix:
    try:
        matrix: Matrix = np.ascontiguousarray(real_array(values))
        return matrix
    except NotReal as error:
        raise InvalidTable(f"the {role} hold {error}", hint=error.hint) from None
    except (TypeError, ValueError, OverflowError):
        raise InvalidTable(f"the {role} are not a matrix of numbers", hint="give rows and columns") from None


def _checked(table: ReplayTable) -> ReplayTable:
    if table.rows < 2:
        dropped = f": {table.dropped} rows miss a value" if table.dropped else ""
        raise InvalidTable(f"{table.name} has {table.rows} complete rows{dropped}", hint="two are the least")
    for names, values in ((table.context_names, table.contexts), (table.target_names, table.targets)):
        reach = np.maximum(values.max(axis=0), -values.min(axis=0))
        if not np.all(reach < LARGEST):
            raise InvalidTable(
                f"column {names[int(np.argmax(reach))]!r} is too large to square", hint="give it another unit"
            )
    if table.labels is not None and table.labels.max() == 0:
        raise InvalidTable(
            f"column {(table.group or table.order)!r} has one value in all rows: none are left to judge on",
            hint="leave it out",
        )
    return table


def _digest(table: ReplayTable) -> str:
    """Depends on the numbers and on the names of the columns, not on the kind of file."""
    digest = hashlib.blake2b(digest_size=16)
    digest.update("\0".join([*table.context_names, "", *table.target_names]).encode())
    for part in (table.contexts, table.targets):
        values: npt.NDArray[np.float64] = np.ascontiguousarray(part)
        digest.update(values.data)
    if table.labels is not None:
        digest.update(f"{table.group}\0{table.order}".encode())
        digest.update(np.ascontiguousarray(table.labels).data)
    return digest.hexdigest()
