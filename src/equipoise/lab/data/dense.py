"""A complete table: contexts and targets of the users who rated everything, ready for a replay."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from equipoise.errors import InvalidArgument, NoCompleteUsers
from equipoise.files import write_whole
from equipoise.lab.data.matrix import RatingMatrix
from equipoise.lab.data.subset import Method, choose_items, complete_users

Matrix = npt.NDArray[np.float64]
_COUNT = "count"


@dataclass(frozen=True, eq=False)
class DenseTable:
    """Users × items without a gap: ``contexts`` predict ``targets``, one arm a target.

    Rows are users in the order of the file. Targets are ratings and, if asked for, the user's number of
    ratings stretched to the scale of the ratings, under the name ``count``.
    """

    source: str
    """What the ratings are, in words."""
    contexts: Matrix
    """[users, d]."""
    targets: Matrix
    """[users, m]."""
    context_names: tuple[str, ...]
    target_names: tuple[str, ...]
    counts: npt.NDArray[np.int64]
    """How many items of the whole source each user rated."""
    complete_users: int
    """Users who rated all the items, before ``users`` cut them."""
    method: str
    """How the items were chosen."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of ``values``."""
        return self.context_names + self.target_names

    @property
    def values(self) -> Matrix:
        """Contexts and targets side by side."""
        return np.hstack([self.contexts, self.targets])

    def __len__(self) -> int:
        return len(self.contexts)

    def __repr__(self) -> str:
        return f"<DenseTable {self.source}: {_shape(self)}>"

    def write_csv(self, path: str | Path) -> None:
        """Names in the first line, then a user a line: contexts, targets."""
        lines = [",".join(self.names)]
        lines += [",".join(f"{value:.12g}" for value in row) for row in self.values.tolist()]
        text = "\n".join(lines) + "\n"
        write_whole(path, text)

    def describe(self) -> str:
        """What this table is, in a few lines."""
        variances = self.targets.var(axis=0)
        return "\n".join(
            [
                f"{self.source}: {_shape(self)}",
                f"items chosen by: {self.method}; {self.complete_users:,} users rated them all",
                f"contexts: {', '.join(self.context_names)}",
                f"targets:  {', '.join(self.target_names)}",
                f"variance of the targets: {variances.min():.3g} to {variances.max():.3g}",
            ]
        )


def dense_table(
    matrix: RatingMatrix,
    *,
    items: int,
    targets: int,
    users: int | None,
    method: Method,
    rating_count: bool,
    seed: int | None,
) -> DenseTable:
    """Cut a table without gaps out of ratings; see :func:`equipoise.load_jester` for the arguments."""
    _check_whole("items", items)
    _check_whole("targets", targets, least=0)
    if users is not None:
        _check_whole("users", users)
    if targets >= items:
        raise InvalidArgument(
            f"{targets} of {items} items as targets leave no context", hint=f"targets={max(items - 1, 0)}"
        )
    if targets == 0 and not rating_count:
        raise InvalidArgument("no targets", hint="targets=1, or rating_count=True")
    chosen = choose_items(matrix, items, method)
    complete = complete_users(matrix, chosen)
    _check_enough(matrix, len(complete), items, users, method)
    rows = complete[:users]
    outcome = _target_positions(items, targets, seed)
    values, counts = matrix.values(rows, chosen), matrix.counts[rows]
    columns, names = [values[:, outcome]], [matrix.item_names[item] for item in chosen[outcome]]
    if rating_count:
        columns.append(_stretch(counts, matrix.low, matrix.high)[:, None])
        names.append(_COUNT)
    return DenseTable(
        source=matrix.source,
        contexts=np.ascontiguousarray(values[:, ~outcome]),
        targets=np.ascontiguousarray(np.hstack(columns)),
        context_names=tuple(matrix.item_names[item] for item in chosen[~outcome]),
        target_names=tuple(names),
        counts=counts,
        complete_users=len(complete),
        method=method,
    )


def _target_positions(items: int, targets: int, seed: int | None) -> npt.NDArray[np.bool_]:
    """The least rated items, or, with a seed, items at random as in the paper's MovieLens panel."""
    chosen = np.zeros(items, dtype=bool)
    last = np.arange(items - targets, items)
    chosen[last if seed is None else np.random.default_rng(seed).choice(items, targets, replace=False)] = True
    return chosen


def _stretch(counts: npt.NDArray[np.int64], low: float, high: float) -> Matrix:
    """The fewest ratings become ``low``, the most ``high``; all equal, the middle."""
    fewest, most = counts.min(), counts.max()
    share = (counts - fewest) / (most - fewest) if most > fewest else np.full(len(counts), 0.5)
    return low + (high - low) * share


def _check_whole(name: str, value: object, *, least: int = 1) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise InvalidArgument(f"{name}={value!r}", hint=f"a whole number of at least {least}")


def _check_enough(matrix: RatingMatrix, found: int, items: int, users: int | None, method: Method) -> None:
    if found and found >= (users or 1):
        return
    who = "nobody" if found == 0 else f"only {found:,} users"
    wanted = "" if users is None else f", and users={users:,} were asked for"
    search = "" if method == "search" else 'method="search", '
    raise NoCompleteUsers(
        f"{who} rated all of {items} items of {matrix.source}{wanted}",
        hint=f"{search}fewer items or users, or a larger release",
    )


def _shape(table: DenseTable) -> str:
    return f"{len(table):,} users, {len(table.context_names)} contexts, {len(table.target_names)} targets"
