"""Ratings as users × items, with gaps: what every source is read into and every subset is cut from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from equipoise.errors import InvalidData


@dataclass(frozen=True, eq=False)
class RatingMatrix:
    """Who rated what; rating = ``codes`` × ``unit``, and ``missing`` is the code of no rating.

    Small codes keep a few hundred items of 200,000 users in tens of megabytes.
    """

    source: str  # what the ratings are, in words
    codes: npt.NDArray[Any]  # [users, items]
    missing: float
    unit: float
    low: float  # the scale of the ratings
    high: float
    item_names: tuple[str, ...]
    counts: npt.NDArray[np.int64]  # ratings of each user, those of items left out here included
    total_users: int  # of the whole source, like the two below
    total_items: int
    total_ratings: int

    def __post_init__(self) -> None:
        if self.codes.shape[0] == 0 or self.total_ratings == 0:
            raise InvalidData(f"{self.source} holds no ratings", hint="use the file as it was published")

    def rated(self) -> npt.NDArray[np.bool_]:
        """Where there is a rating."""
        return self.codes != self.missing

    def values(self, users: npt.NDArray[np.int64], items: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Ratings of those users and items, gaps as NaN."""
        codes = self.codes[np.ix_(users, items)]
        return np.where(codes == self.missing, np.nan, codes * self.unit)

    def by_popularity(self) -> npt.NDArray[np.int64]:
        """Items from the most rated to the least; of equals, the one that comes first in the file."""
        return np.argsort(-self.rated().sum(axis=0), kind="stable")
