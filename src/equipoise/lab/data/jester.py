"""Jester: jokes rated from −10 to 10 by users who rated many of the same (Goldberg et al. 2001).

A row is a user: how many jokes were rated, then one rating a joke, 99 where there is none. Published as
``.xls`` inside zip archives; the same as CSV is read too, and CSV with a header of ``count`` and ``j1``,
``j2``, … for the jokes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from equipoise.errors import InvalidData, RatingOutOfRange
from equipoise.extras import library
from equipoise.lab.data.dense import DenseTable, dense_table
from equipoise.lab.data.files import open_data
from equipoise.lab.data.matrix import RatingMatrix
from equipoise.lab.data.sources import PathOrName, locate
from equipoise.lab.data.spreadsheet import read_spreadsheet
from equipoise.lab.data.subset import Method

_NOT_RATED = 99.0
_LOW, _HIGH = -10.0, 10.0
_XLS = b"\xd0\xcf\x11\xe0"  # the container that old Office files share
_WHAT = "a Jester file, jester-data-N.xls or the same as CSV,"
_FORM = "a row is the number of jokes rated, then a rating from -10 to 10 or 99 for every joke"
_JOKE = re.compile(r"j\d+")


def load_jester(
    path: PathOrName | Sequence[PathOrName] = "jester",
    *,
    items: int = 49,
    targets: int = 9,
    users: int | None = None,
    method: Method = "popular",
    rating_count: bool = True,
    seed: int | None = None,
) -> DenseTable:
    """A complete table out of Jester's joke ratings.

    The defaults are the paper's cut: the 49 densest jokes, the last 9 of them as targets, and the number
    of jokes a user rated, stretched to [−10, 10], as a tenth. The paper's 3,811 users cannot be told from
    the 17,668 who qualify; ``users=3811`` takes the first.

    Parameters
    ----------
    path
        A published zip, an ``.xls`` or a CSV file; several, one below the other; or the name of a source
        that was fetched: ``"jester"`` for all three parts, ``"jester-1"`` for the first.
    items
        How many jokes, p.
    targets
        How many of them to predict. The others are the context.
    users
        How many of the users who rated them all, in the order of the file; None for all.
    method
        ``"popular"`` for the most rated items, ``"search"`` for those that keep most users.
    rating_count
        Whether the number of ratings is a target too.
    seed
        Draws the targets from the items; None takes the least rated.
    """
    matrix = read_jester(path)
    return dense_table(
        matrix, items=items, targets=targets, users=users, method=method, rating_count=rating_count, seed=seed
    )


def read_jester(path: PathOrName | Sequence[PathOrName]) -> RatingMatrix:
    """All ratings of one or several Jester files."""
    paths = [path] if isinstance(path, (str, Path)) else list(path)
    parts = [_read(file) for name in paths for file in locate(name)]
    if not parts:
        raise InvalidData("no Jester files were named", hint="e.g. load_jester('jester_dataset_1_1.zip')")
    names = parts[0][0]
    if any(other != names for other, _, _ in parts):
        raise InvalidData("the Jester files have different columns", hint="name files of one data set")
    codes = np.vstack([ratings for _, ratings, _ in parts])
    rated = codes != _NOT_RATED
    return RatingMatrix(
        source="Jester",
        codes=codes,
        missing=_NOT_RATED,
        unit=1.0,
        low=_LOW,
        high=_HIGH,
        item_names=names,
        counts=np.concatenate([counts for _, _, counts in parts]),
        total_users=len(codes),
        total_items=len(names),
        total_ratings=int(rated.sum()),
    )


def is_jester_start(start: bytes) -> bool:
    """Whether a file that starts like that can be one of Jester's."""
    first = _fields(start)
    numbers = all(re.fullmatch(r"-?\d*\.?\d*", field) for field in first)
    return start.startswith(_XLS) or (len(first) > 1 and (numbers or "count" in first))


_Part = tuple[tuple[str, ...], npt.NDArray[np.float64], npt.NDArray[np.int64]]


def _read(path: Path) -> _Part:
    """Names of the jokes, ratings and counts of one file."""
    with open_data(path, is_jester_name, _WHAT) as file:
        content = file.read()
    if not content:
        raise InvalidData(f"{path} is empty", hint=f"{_WHAT} is expected there")
    if content.startswith(_XLS):
        return _check(path, None, read_spreadsheet(path, content))
    return _check(path, *_text(path, content))


def is_jester_name(name: str) -> bool:
    """Whether a file in an archive is called like one of Jester's."""
    return re.fullmatch(r"(jester|jester_ratings).*\.(xls|csv)", name) is not None


def _text(path: Path, content: bytes) -> tuple[list[str] | None, Any]:
    polars = library("polars")
    fields = _fields(content)
    header = fields if any(re.search("[A-Za-z]", field) for field in fields) else None
    names = header or [str(column) for column in range(len(fields))]
    if len(set(names)) < len(names):
        raise InvalidData(f"{path} has two columns of the same name", hint=_FORM)
    try:
        frame = polars.read_csv(
            # Numbers need no quotes, and the parser panics at a single one.
            content.replace(b'"', b""),
            quote_char=None,
            has_header=False,
            skip_rows=0 if header is None else 1,
            schema=dict.fromkeys(names, polars.Float64),
        )
    except polars.exceptions.PolarsError as error:
        reason = str(error).partition("\n")[0]
        raise InvalidData(f"{path} is not a table of numbers: {reason}", hint=_FORM) from None
    return header, frame


def _fields(content: bytes) -> list[str]:
    first = content.partition(b"\n")[0].decode("utf-8", "replace").strip().lstrip("\ufeff")
    return [field.strip().strip('"') for field in first.split(",")]


def _check(path: Path, header: list[str] | None, frame: Any) -> _Part:
    columns = list(frame.columns)
    if header is None:
        if len(columns) < 2:
            raise InvalidData(f"{path} has {len(columns)} columns", hint=_FORM)
        count, jokes = columns[0], columns[1:]
        names = tuple(f"j{number}" for number in range(1, len(jokes) + 1))
    else:
        jokes = [name for name in columns if _JOKE.fullmatch(name)]
        others = sorted(set(columns) - set(jokes) - {"count", "row"})
        if "count" not in columns or not jokes or others:
            raise InvalidData(
                f"{path} does not have the columns of Jester, but {', '.join(columns[:5])}, …",
                hint="count, j1, j2, …; without a header: " + _FORM,
            )
        count, names = "count", tuple(jokes)
    ratings = _numbers(path, frame.select(jokes))
    return (
        names,
        _check_ratings(path, ratings),
        _check_counts(path, _numbers(path, frame.select(count))[:, 0]),
    )


def _numbers(path: Path, frame: Any) -> npt.NDArray[np.float64]:
    polars = library("polars")
    kinds = [kind for kind in frame.dtypes if not kind.is_numeric() and kind != polars.Null]
    if kinds:
        raise InvalidData(f"{path} has text where numbers belong", hint=_FORM)
    numbers: npt.NDArray[np.float64] = frame.select(polars.all().cast(polars.Float64)).to_numpy()
    return numbers


def _check_ratings(path: Path, ratings: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    ratings = np.where(np.isnan(ratings), _NOT_RATED, ratings)  # an empty cell
    wrong = (ratings != _NOT_RATED) & ~((ratings >= _LOW) & (ratings <= _HIGH))
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise RatingOutOfRange(
            f"user {row + 1} of {path} rates joke {column + 1} with {ratings[row, column]:g}",
            hint="Jester's ratings go from -10 to 10; 99 stands for none",
        )
    return ratings


def _check_counts(path: Path, counts: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    wrong = ~((counts >= 0) & (counts <= 10_000) & (counts == np.floor(counts)))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InvalidData(f"user {row + 1} of {path} rated {counts[row]:g} jokes", hint=_FORM)
    return counts.astype(np.int64)
