"""Seconds and memory from a file as large as MovieLens' largest to a table without gaps.

The file is made up: as many users, movies and ratings as ml-32m, popularity falling like a power of the
rank, activity of users lognormal. It is written to a temporary folder and removed.

    python benchmarks/speed/ratings.py [ROWS]
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import BinaryIO

import numpy as np
import polars as pl

from equipoise.core.text_tables import text_table

ROWS = 35_000_000  # before pairs that are drawn twice are dropped
_USERS_AT_ONCE = 4_000

LOAD = """
import resource, sys, time
start = time.perf_counter()
import equipoise as eq
import polars
imported = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
table = eq.load_movielens(sys.argv[1], items=int(sys.argv[2]), method=sys.argv[3])
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(time.perf_counter() - start, peak / 1024, imported / 1024, table.complete_users)
"""


def write_ratings(path: Path, rows: int, seed: int = 0) -> int:
    """A file in the form of ``ratings.csv`` with about that many ratings; returns how many."""
    random = np.random.default_rng(seed)
    users = max(20, rows // 160)
    movies = max(100, min(85_000, rows // 20))
    # Falls as in MovieLens: a third of the users rated the first movie, one in twenty the 500th.
    popularity = np.cumsum(1.0 / (np.arange(movies) + 60.0) ** 1.15)
    popularity /= popularity[-1]
    numbers = random.permutation(3 * movies)[:movies] + 1
    written = 0
    with path.open("wb") as file:
        file.write(b"userId,movieId,rating,timestamp\n")
        for first in range(0, users, _USERS_AT_ONCE):
            here = np.arange(first, min(first + _USERS_AT_ONCE, users)) + 1
            activity = np.clip(random.lognormal(4.45, 1.15, len(here)), 20, 8_000).astype(int)
            user = np.repeat(here, activity)
            movie = numbers[np.searchsorted(popularity, random.uniform(size=len(user)))]
            pairs = np.unique(user.astype(np.int64) << 32 | movie)
            _write(file, pairs, random)
            written += len(pairs)
    return written


def _write(
    file: BinaryIO, pairs: np.ndarray[tuple[int], np.dtype[np.int64]], random: np.random.Generator
) -> None:
    pl.DataFrame(
        {
            "userId": pairs >> 32,
            "movieId": pairs & 0xFFFFFFFF,
            "rating": np.clip(np.round(random.normal(7.1, 2.1, len(pairs))), 1, 10) / 2,
            "timestamp": random.integers(789_652_009, 1_697_164_147, len(pairs)),
        }
    ).write_csv(file, include_header=False)


def measure(path: Path, items: int, method: str) -> tuple[float, float, float, int]:
    """Seconds, peak and imported megabytes of resident memory of a process of its own, and complete users."""
    out = subprocess.run(
        [sys.executable, "-c", LOAD, str(path), str(items), method],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    return float(out[0]), float(out[1]), float(out[2]), int(out[3])


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ratings.csv"
        written = write_ratings(path, rows)
        print(f"{written:,} ratings, {path.stat().st_size / 2**20:,.0f} MB of text")
        table = []
        for items, method in ((30, "popular"), (30, "search"), (10, "search")):
            seconds, peak, imported, users = measure(path, items, method)
            table.append(
                [f"{items} {method}", f"{seconds:.1f}", f"{peak:.0f}", f"{imported:.0f}", f"{users:,}"]
            )
    print(text_table(["items", "seconds", "peak MB", "of it imports", "complete users"], table))


if __name__ == "__main__":
    main()
