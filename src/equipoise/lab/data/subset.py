"""Dense subsets: p items, and the users who rated every one of them.

Finding the p items that keep most users is a maximum biclique problem and NP-hard. ``popular`` takes the
p most rated items. ``search`` starts there and from greedy choices, then exchanges one item at a time
for as long as that gains users, and repeats this from partly redrawn sets. It keeps the best it saw, so
it is never worse than ``popular``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
import numpy.typing as npt

from equipoise.errors import InvalidArgument
from equipoise.lab.data.matrix import RatingMatrix

Method = Literal["popular", "search"]
_Rated = npt.NDArray[np.bool_]
_Items = npt.NDArray[np.int64]
_Bits = npt.NDArray[np.uint64]

# Where the search stops. Ten times as much found no better sets of 10, 15, 20 or 30 movies.
_GREEDY_STARTS = 60
_IDLE_REDRAWS = 200  # in a row, without a gain
_SPREAD = 0.15  # how far below the best a redrawn item may be


def choose_items(matrix: RatingMatrix, items: int, method: Method = "search") -> _Items:
    """Positions of ``items`` items that many users rated in full, from the most rated to the least."""
    chooser = _CHOOSERS.get(method)
    if chooser is None:
        raise InvalidArgument(f"no method {method!r}", hint=f"one of {', '.join(_CHOOSERS)}")
    width = len(matrix.item_names)
    if not 1 <= items <= width:
        raise InvalidArgument(
            f"{items} items cannot be chosen from {width}",
            hint=f"a whole number from 1 to {width}; a larger pool= has more",
        )
    rated, order = matrix.rated(), matrix.by_popularity()
    chosen = set(chooser(rated, order, items).tolist())
    return np.array([item for item in order if item in chosen], dtype=np.int64)


def complete_users(matrix: RatingMatrix, items: _Items) -> npt.NDArray[np.int64]:
    """Positions of the users who rated all of those items, in the order of the file."""
    return np.flatnonzero(matrix.rated()[:, items].all(axis=1))


def _popular(rated: _Rated, order: _Items, items: int) -> _Items:
    return order[:items]


def _search(rated: _Rated, order: _Items, items: int) -> _Items:
    ratings = _Ratings(rated, items)
    best = ratings.exchange(order[:items])
    for first in order[:_GREEDY_STARTS]:
        best = max(best, ratings.exchange(ratings.grow(np.array([first]), items)), key=_users)
    # Fixed, as the same file has to give the same table.
    random = np.random.default_rng(0)
    idle = 0 if items > 1 else _IDLE_REDRAWS
    while idle < _IDLE_REDRAWS:
        kept = random.permutation(best[0])[: random.integers(items // 2, items)]
        found = ratings.exchange(ratings.grow(kept, items, random))
        idle = 0 if found[1] > best[1] else idle + 1
        best = max(found, best, key=_users)  # of equals the new one, to move on plateaus
    return best[0]


_CHOOSERS: dict[str, Callable[[_Rated, _Items, int], _Items]] = {"popular": _popular, "search": _search}


def _users(found: tuple[_Items, int]) -> int:
    return found[1]


class _Ratings:
    """Who rated what, twice: users to look up, and bits, an item a row, to count."""

    def __init__(self, rated: _Rated, items: int) -> None:
        # Nobody else can be complete for any set of that size.
        self.by_user = rated[rated.sum(axis=1) >= items]
        self.bits = _pack(self.by_user.T)

    def kept(self, users: _Bits) -> npt.NDArray[np.float64]:
        """For every item, how many of those users rated it."""
        return np.bitwise_count(self.bits & users).sum(axis=1, dtype=np.float64)

    def grow(self, chosen: _Items, items: int, random: np.random.Generator | None = None) -> _Items:
        """Add the item that keeps most of the users who are complete so far, until there are enough."""
        users = np.bitwise_and.reduce(self.bits[chosen], axis=0)
        for _ in range(items - len(chosen)):
            kept = self.kept(users)
            if random is not None:
                kept *= random.uniform(1.0 - _SPREAD, 1.0, len(kept))
            kept[chosen] = -1.0
            best = int(np.argmax(kept))
            chosen = np.append(chosen, best)
            users &= self.bits[best]
        return chosen

    def exchange(self, chosen: _Items) -> tuple[_Items, int]:
        """Exchange one item for another while that gains users; the items, and how many users they keep."""
        chosen = chosen.copy()
        while True:
            complete, near = self._gaps(chosen)
            # A user with a single gap becomes complete when the item of that gap leaves.
            gap = np.argmin(self.by_user[np.ix_(near, chosen)], axis=1)
            users = np.tile(self.kept(complete), (len(chosen), 1))
            leaving, first = np.unique(np.sort(gap), return_index=True)
            if len(leaving):
                by_gap = self.by_user[near[np.argsort(gap)]]
                users[leaving] += np.add.reduceat(by_gap, first, axis=0, dtype=np.int64)
            users[:, chosen] = -1.0
            out, new = np.unravel_index(np.argmax(users), users.shape)
            now = int(np.bitwise_count(complete).sum())
            if users[out, new] <= now:
                return chosen, now
            chosen[out] = new

    def _gaps(self, chosen: _Items) -> tuple[_Bits, npt.NDArray[np.int64]]:
        """Users without a gap, as bits, and the positions of users with exactly one."""
        some = np.zeros_like(self.bits[0])
        more = np.zeros_like(self.bits[0])
        for item in chosen:
            gap = ~self.bits[item]
            more |= some & gap
            some |= gap
        one = np.unpackbits((some & ~more).view(np.uint8), count=len(self.by_user))
        return ~some, np.flatnonzero(one)


def _pack(rated: _Rated) -> _Bits:
    """64 users a number; those beyond the last user rated nothing."""
    packed = np.packbits(rated, axis=1)
    return np.ascontiguousarray(np.pad(packed, ((0, 0), (0, -packed.shape[1] % 8)))).view(np.uint64)
