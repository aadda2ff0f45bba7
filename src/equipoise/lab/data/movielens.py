"""MovieLens: movies rated in half stars (Harper and Konstan 2015), in all the forms it was published.

``ratings.csv`` with a header, ``ratings.dat`` between double colons and ``u.data`` between tabs; plain,
packed, or inside the zip they came in. 32 million ratings are read piece by piece into eight bytes each,
and only the most rated movies become a matrix.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from equipoise.errors import DuplicateRating, InvalidArgument, InvalidData
from equipoise.lab.data.dense import DenseTable, dense_table
from equipoise.lab.data.files import explained, open_data, zip_names
from equipoise.lab.data.matrix import RatingMatrix
from equipoise.lab.data.packed import CODE_BITS, item_of, pack_ratings, user_of
from equipoise.lab.data.sources import PathOrName, locate_one
from equipoise.lab.data.subset import Method
from equipoise.unpacking import Damaged, read_npz

POOL = 300
_FILES = ("ratings.csv", "ratings.dat", "u.data")
_WHAT = "a MovieLens file, one of " + ", ".join(_FILES) + ","
_STAR = 0.5  # what a code counts
_HALF_STARS = 10
_AT_ONCE = 4_000_000  # ratings; temporary arrays stay below 100 MB


def load_movielens(
    path: PathOrName = "ml-25m",
    *,
    items: int = 30,
    targets: int = 5,
    users: int | None = None,
    method: Method = "search",
    rating_count: bool = False,
    seed: int | None = 0,
    pool: int = POOL,
) -> DenseTable:
    """A complete table out of MovieLens' movie ratings.

    The defaults are the paper's cut: 30 popular movies, 5 of them drawn at random as targets. Its 1,363
    users need a release of 10 million ratings or more.

    Parameters
    ----------
    path
        ``ratings.csv``, ``ratings.dat`` or ``u.data``, as it is, packed by gzip, or in the published zip;
        a matrix of half stars ``.npz`` (``R2`` = 2 × rating, 0 for none; ``movieId``; ``n_ratings``); or
        the name of a release that was fetched.
    items
        How many movies, p.
    targets
        How many of them to predict. The others are the context.
    users
        How many of the users who rated them all, in the order of their numbers; None for all.
    method
        ``"search"`` for the items that keep most users, ``"popular"`` for the most rated.
    rating_count
        Whether the number of ratings, stretched to [0.5, 5], is a target too.
    seed
        Draws the targets from the items; None takes the least rated.
    pool
        How many of the most rated movies the items are chosen from.
    """
    matrix = read_movielens(path, pool=max(pool, items) if isinstance(items, int) else pool)
    return dense_table(
        matrix, items=items, targets=targets, users=users, method=method, rating_count=rating_count, seed=seed
    )


def read_movielens(path: PathOrName, *, pool: int = POOL) -> RatingMatrix:
    """The ratings of the ``pool`` most rated movies."""
    if pool < 1:
        raise InvalidArgument(f"pool={pool} is not a positive number", hint=f"e.g. pool={POOL}")
    file = locate_one(path)
    if "R2.npy" in zip_names(file):
        return _read_matrix(file, pool)
    with open_data(file, lambda name: name in _FILES, _WHAT) as stream:
        ratings, items, counts = pack_ratings(stream, file)
    _check_duplicates(ratings, file)
    most = np.argsort(-counts, kind="stable")[:pool]
    return _matrix(ratings, items[most], total_items=len(items))


def _check_duplicates(ratings: npt.NDArray[np.uint64], path: Path) -> None:
    """Sorts the ratings by user and movie on the way."""
    if not _is_sorted(ratings):
        ratings.sort()
    for first in range(0, len(ratings), _AT_ONCE):
        pairs = ratings[first : first + _AT_ONCE + 1] >> CODE_BITS
        same = pairs[1:] == pairs[:-1]
        if same.any():
            pair = ratings[first + int(np.argmax(same))][None]
            raise DuplicateRating(
                f"user {user_of(pair)[0]} rates movie {item_of(pair)[0]} twice in {path}",
                hint="keep one of the two ratings",
            )


def _is_sorted(ratings: npt.NDArray[np.uint64]) -> bool:
    pieces = range(0, len(ratings), _AT_ONCE)
    return all(bool((np.diff(ratings[at : at + _AT_ONCE + 1].view(np.int64)) >= 0).all()) for at in pieces)


def _matrix(
    ratings: npt.NDArray[np.uint64], movies: npt.NDArray[np.int64], *, total_items: int
) -> RatingMatrix:
    """Users × movies out of ratings that are sorted by user."""
    starts = _first_of_users(ratings)
    counts = np.diff(np.append(starts, len(ratings)))
    codes = np.zeros((len(starts), len(movies)), dtype=np.uint8)
    by_number = np.argsort(movies)
    for first in range(0, len(ratings), _AT_ONCE):
        piece = ratings[first : first + _AT_ONCE]
        item = item_of(piece)
        place = np.minimum(np.searchsorted(movies, item, sorter=by_number), len(movies) - 1)
        column = by_number[place]
        inside = np.flatnonzero(movies[column] == item)
        user = np.searchsorted(starts, first + inside, side="right") - 1
        codes[user, column[inside]] = piece[inside] & np.uint64((1 << CODE_BITS) - 1)
    return _rating_matrix(codes, movies, counts, total_items=total_items, total_ratings=len(ratings))


def _first_of_users(ratings: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
    """Where each user's ratings start."""
    starts = [np.zeros(1, dtype=np.int64)]
    for first in range(0, len(ratings), _AT_ONCE):
        user = user_of(ratings[first : first + _AT_ONCE + 1])
        starts.append(first + 1 + np.flatnonzero(user[1:] != user[:-1]))
    return np.concatenate(starts)


def _read_matrix(path: Path, pool: int) -> RatingMatrix:
    """``movielens_halfstar``: a matrix of half stars that somebody already cut."""
    form = "R2 [users, movies] of bytes 0 to 10, movieId [movies], n_ratings [users]"
    with explained(path):
        try:
            with path.open("rb") as file:
                codes, movies, counts = read_npz(file, ("R2", "movieId", "n_ratings")).values()
        except Damaged as error:
            raise InvalidData(f"{path} is not a matrix of half stars: {error}", hint=form) from None
    fits = codes.ndim == 2 and movies.shape == codes.shape[1:] and counts.shape == codes.shape[:1]
    if not fits or codes.dtype != np.uint8 or codes.max(initial=0) > _HALF_STARS or not len(movies):
        raise InvalidData(f"{path} is not a matrix of half stars", hint=form)
    most = np.argsort(-(codes > 0).sum(axis=0), kind="stable")[:pool]
    return _rating_matrix(
        np.ascontiguousarray(codes[:, most]),
        movies[most].astype(np.int64),
        counts.astype(np.int64),
        total_items=len(movies),
        total_ratings=int((codes > 0).sum()),
    )


def _rating_matrix(
    codes: npt.NDArray[Any], movies: npt.NDArray[np.int64], counts: Any, **totals: int
) -> RatingMatrix:
    return RatingMatrix(
        source="MovieLens",
        codes=codes,
        missing=0,
        unit=_STAR,
        low=_STAR,
        high=_STAR * _HALF_STARS,
        item_names=tuple(f"m{movie}" for movie in movies),
        counts=counts,
        total_users=len(codes),
        **totals,
    )
