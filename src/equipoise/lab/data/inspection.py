"""What a file of ratings holds, and how many users are complete for p items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from equipoise.errors import InvalidArgument, InvalidData
from equipoise.lab.data.dense import DenseTable
from equipoise.lab.data.files import open_data, zip_names
from equipoise.lab.data.jester import is_jester_name, is_jester_start, load_jester, read_jester
from equipoise.lab.data.matrix import RatingMatrix
from equipoise.lab.data.movielens import POOL, load_movielens, read_movielens
from equipoise.lab.data.packed import is_movielens_start
from equipoise.lab.data.sources import PathOrName, locate
from equipoise.lab.data.subset import choose_items, complete_users

ITEMS = (5, 10, 15, 20, 30, 49)


@dataclass(frozen=True)
class RatingsSummary:
    """Sizes of a file of ratings."""

    source: str
    users: int
    items: int
    ratings: int
    low: float
    high: float
    complete: dict[int, dict[str, int]]
    """For p items, by method, how many users rated them all."""

    def record(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {**vars(self), "complete": {str(items): dict(found) for items, found in self.complete.items()}}


def inspect_ratings(
    path: PathOrName | Sequence[PathOrName], *, items: Sequence[int] | None = None, pool: int = POOL
) -> RatingsSummary:
    """Read a file of any known form and count.

    Parameters
    ----------
    path
        A file of Jester or MovieLens, or the name of a source that was fetched.
    items
        Numbers of items, p, to count complete users for; None for a few usual ones.
    pool
        How many of the most rated movies to choose from.
    """
    matrix = _read(path, max([pool, *(items or ())]))
    width = len(matrix.item_names)
    wanted = [number for number in ITEMS if number <= width] if items is None else list(items)
    if any(number < 1 for number in wanted):
        raise InvalidArgument(f"items={wanted} are not all positive", hint="e.g. items=[10, 15, 20]")
    complete = {
        number: {
            method: len(complete_users(matrix, choose_items(matrix, number, method)))
            for method in ("popular", "search")
        }
        for number in wanted
    }
    return RatingsSummary(
        source=matrix.source,
        users=matrix.total_users,
        items=matrix.total_items,
        ratings=matrix.total_ratings,
        low=matrix.low,
        high=matrix.high,
        complete=complete,
    )


def load_ratings(path: PathOrName | Sequence[PathOrName], **choices: Any) -> DenseTable:
    """A complete table out of a file of any known form, by the defaults of its own loader."""
    if _is_jester(path):
        return load_jester(path, **choices)
    return load_movielens(_single(path), **choices)


def _read(path: PathOrName | Sequence[PathOrName], pool: int) -> RatingMatrix:
    return read_jester(path) if _is_jester(path) else read_movielens(_single(path), pool=pool)


def _is_jester(path: PathOrName | Sequence[PathOrName]) -> bool:
    """By what is in the file."""
    file = locate(path if isinstance(path, (str, Path)) else _first(path))[0]
    names = [PurePosixPath(name).name.lower() for name in zip_names(file)]
    if names:
        return any(map(is_jester_name, names))
    with open_data(file, lambda name: False, "a file of ratings") as stream:
        start = stream.read(1 << 16)
    if is_jester_start(start):
        return True
    if is_movielens_start(start):
        return False
    raise InvalidData(
        f"{file} is neither a file of Jester nor one of MovieLens; it starts with {start[:40]!r}",
        hint="jester-data-N.xls or its CSV; ratings.csv, ratings.dat or u.data; or the zip they came in",
    )


def _first(paths: Sequence[PathOrName]) -> PathOrName:
    if not paths:
        raise InvalidArgument("no files were named", hint="name at least one")
    return paths[0]


def _single(path: PathOrName | Sequence[PathOrName]) -> PathOrName:
    if isinstance(path, (str, Path)):
        return path
    if len(path) > 1:
        raise InvalidArgument("several files of MovieLens", hint="name one; only Jester comes in parts")
    return path[0]
