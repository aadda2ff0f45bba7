"""A complete table of numbers: contexts to choose by, targets to learn, one target an arm."""

from __future__ import annotations

import dataclasses
import difflib
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from equipoise.core.arrays import Matrix
from equipoise.core.problem.inputs import LARGEST
from equipoise.core.problem.names import is_text
from equipoise.core.problem.real import NotReal, real_array
from equipoise.errors import InvalidArgument, InvalidTable
from equipoise.lab.replay.sources import Column, Source, open_source

# A text column with more different values than this is a name or an identifier, not a category.
_MOST_CATEGORIES = 1_000


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
    dropped
        Rows that were left out because a cell was missing.
    columns
        Columns that the contexts were made of, one-hot or as they are; empty where contexts and targets
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
    digest: str = ""
    columns: tuple[str, ...] = ()
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
    missing: str = "drop",
    one_hot: bool = False,
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
        Columns that are known of every unit; all but the targets unless given.
    targets
        Columns to learn: each is an arm, of which a unit shows one.
    missing
        ``"drop"`` leaves out rows with a missing cell and counts them; ``"refuse"`` raises.
    one_hot
        Whether a text column among the contexts becomes one column of 0 and 1 a value.
    name
        What results call the table; the file's name unless given.

    Examples
    --------
    >>> import numpy as np
    >>> table = as_table({"age": [30, 40, 50], "a": [1.0, 2.0, 2.5], "b": [0, 1, 0]}, targets=["a", "b"])
    >>> table.context_names, table.target_names, table.rows
    (('age',), ('a', 'b'), 3)
    """
    if missing not in ("drop", "refuse"):
        raise InvalidArgument(f"missing={missing!r}", hint="use 'drop' or 'refuse'")
    if isinstance(data, ReplayTable) or _is_split(data):
        if contexts is not None or targets is not None:
            raise InvalidArgument("the table's columns are split into contexts and targets already")
        return data if isinstance(data, ReplayTable) else _from_split(data, missing, name)
    source = open_source(data)
    chosen_targets = _choose(source, targets, "targets")
    if contexts is None:
        chosen_contexts = [column for column in source.columns if column not in set(chosen_targets)]
    else:
        chosen_contexts = _choose(source, contexts, "contexts")
    both = sorted(set(chosen_contexts) & set(chosen_targets))
    if both:
        raise InvalidTable(f"column {both[0]!r} is a context and a target", hint="give it one role")
    if not chosen_contexts:
        raise InvalidTable("no columns are left for contexts", hint="a context needs a column at least")
    reader = _Reader(source, chosen_contexts, chosen_targets, missing, one_hot)
    table = reader.table(name or source.name)
    file = str(data) if isinstance(data, str | Path) else None
    return dataclasses.replace(table, columns=tuple(chosen_contexts), file=file)


def _is_split(data: Any) -> bool:
    parts = ("contexts", "targets", "context_names", "target_names")
    return all(hasattr(data, part) for part in parts)


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
        if missing == "refuse":
            raise InvalidTable(f"{dropped} of {len(complete)} rows miss a value", hint="leave them out")
        contexts, targets = contexts[complete], targets[complete]
    called = name or str(getattr(data, "name", None) or getattr(data, "source", type(data).__name__))
    return _checked(ReplayTable(called, contexts, targets, *names, dropped))


def _matrix(role: str, values: Any) -> Matrix:
    try:
        matrix: Matrix = np.ascontiguousarray(real_array(values))
        return matrix
    except NotReal as error:
        raise InvalidTable(f"the {role} hold {error}", hint=error.hint) from None
    except (TypeError, ValueError, OverflowError):
        raise InvalidTable(f"the {role} are not a matrix of numbers", hint="give rows and columns") from None


def _choose(source: Source, asked: Sequence[str | int] | None, role: str) -> list[str]:
    if asked is None:
        raise InvalidTable("it is not said which columns are targets", hint="each target is one arm to learn")
    if isinstance(asked, str):
        asked = [asked]
    names = [str(column) for column in asked]
    for column in names:
        if column not in source.columns:
            close = difflib.get_close_matches(column, source.columns, n=1, cutoff=0.5)
            known = ", ".join(source.columns[:12]) + (", …" if len(source.columns) > 12 else "")
            raise InvalidTable(
                f"{source.name} has no column {column!r}",
                hint=f"did you mean {close[0]!r}?" if close else f"columns: {known}",
            )
        if names.count(column) > 1:
            raise InvalidTable(f"column {column!r} is given twice among the {role}")
    if not names:
        raise InvalidTable(f"no {role}", hint="name one column at least")
    return names


class _Reader:
    """Blocks of columns in, one matrix out; rows with a missing cell are left out on the way."""

    def __init__(
        self, source: Source, contexts: list[str], targets: list[str], missing: str, one_hot: bool
    ) -> None:
        self.source, self.missing, self.one_hot = source, missing, one_hot
        self.names, self.split = [*contexts, *targets], len(contexts)
        self.codes: dict[int, dict[str, int]] = {}  # by column: value → number, in order of appearance
        self.gaps = np.zeros(len(self.names), np.int64)
        self.dropped = self.read = 0

    def table(self, name: str) -> ReplayTable:
        blocks = []
        for columns in self.source.blocks(self.names):
            blocks.append(self._block(columns))
        self._check_gaps()
        words = {place: sorted(known) for place, known in self.codes.items()}
        features = [
            f"{column}={value}" if place in words else column
            for place, column in enumerate(self.names[: self.split])
            for value in words.get(place, [""])
        ]
        rows = sum(map(len, blocks))
        contexts = np.empty((rows, len(features)))
        targets = np.empty((rows, len(self.names) - self.split))
        first = 0
        blocks.reverse()
        while blocks:  # each is let go as soon as it is copied, so that the table is held once
            block = blocks.pop()
            part = slice(first, first + len(block))
            targets[part] = block[:, self.split :]
            self._spread(block, contexts[part], words)
            first += len(block)
        called = tuple(features), tuple(self.names[self.split :])
        return _checked(ReplayTable(name, contexts, targets, *called, self.dropped))

    def _block(self, columns: list[Column]) -> Matrix:
        self._refuse_text(columns)
        numbers = [self._numbers(place, column) for place, column in enumerate(columns)]
        block = np.column_stack(numbers)
        present = np.isfinite(block)
        self.gaps += np.count_nonzero(~present, axis=0)
        self.read += len(block)
        complete = present.all(axis=1)
        if complete.all():
            return block
        self.dropped += int(np.count_nonzero(~complete))
        return block[complete]

    def _refuse_text(self, columns: list[Column]) -> None:
        text = [place for place, column in enumerate(columns) if column.dtype == object]
        refused = [place for place in text if not self.one_hot or place >= self.split]
        if not refused:
            return
        named = ", ".join(repr(self.names[place]) for place in refused[:8])
        more = f" and {len(refused) - 8} more" if len(refused) > 8 else ""
        one = len(refused) == 1
        hint = "leave such columns out"
        if refused[0] < self.split and not self.one_hot:
            hint += ", or let one-hot make a column of 0 and 1 of every value"
        raise InvalidTable(
            f"column{'' if one else 's'} {named}{more} hold{'s' if one else ''} text, not numbers", hint=hint
        )

    def _numbers(self, place: int, column: Column) -> Column:
        """Numbers as they are; text as the number of its value."""
        if column.dtype != object:
            if place in self.codes and not np.isnan(column).all():
                raise InvalidTable(f"column {self.names[place]!r} mixes numbers and text")
            return column
        if place not in self.codes and self.read > self.gaps[place]:
            raise InvalidTable(f"column {self.names[place]!r} mixes numbers and text")
        known = self.codes.setdefault(place, {})
        codes = np.array([np.nan if cell is None else known.setdefault(cell, len(known)) for cell in column])
        if len(known) > _MOST_CATEGORIES:
            raise InvalidTable(
                f"column {self.names[place]!r} has more than {_MOST_CATEGORIES} different values",
                hint="that looks like a name or an identifier: leave it out",
            )
        return codes

    def _spread(self, block: Matrix, contexts: Matrix, words: dict[int, list[str]]) -> None:
        column = 0
        for place in range(self.split):
            for value in words.get(place, [""]):
                if place in words:
                    contexts[:, column] = block[:, place] == self.codes[place][value]
                else:
                    contexts[:, column] = block[:, place]
                column += 1

    def _check_gaps(self) -> None:
        if self.missing == "refuse" and self.dropped:
            worst = int(np.argmax(self.gaps))
            raise InvalidTable(
                f"{self.dropped} of {self.read} rows miss a value, most often in column "
                f"{self.names[worst]!r} ({self.gaps[worst]} times)",
                hint="fill the gaps, leave the column out, or let such rows be dropped",
            )


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
    return table


def _digest(table: ReplayTable) -> str:
    """Depends on the numbers and on the names of the columns, not on the kind of file."""
    digest = hashlib.blake2b(digest_size=16)
    digest.update("\0".join([*table.context_names, "", *table.target_names]).encode())
    for part in (table.contexts, table.targets):
        values: npt.NDArray[np.float64] = np.ascontiguousarray(part)
        digest.update(values.data)
    return digest.hexdigest()
