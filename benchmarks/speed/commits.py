"""What a commit through a store costs above a bare one, on the same disk or server, in one run.

A bare commit is one insert, of a byte or of as many as an event has: SQLite with a write-ahead log and
``synchronous=FULL``, PostgreSQL by one client. All kinds take turns, so that a disk that others use slows all
of them down. Without ``--postgres`` a server is started for the run, where one is installed.

Usage: python benchmarks/speed/commits.py [--folder DIR] [--postgres URL] [--rounds N] [--events N]
"""

from __future__ import annotations

import argparse
import importlib
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

from equipoise.core.text_tables import text_table
from equipoise.live.stores.chain import empty_head
from equipoise.live.stores.contract import rows_after
from equipoise.live.stores.opening import migrate, open_store
from equipoise.live.stores.sqlite import making
from equipoise.live.stores.store import Row, Store

HELPERS = Path(__file__).resolve().parents[2] / "tests" / "helpers"
HEADER, PAYLOAD = b"h" * 200, b"p" * 600
EVENT = bytes(len(HEADER) + len(PAYLOAD) + 100)
BLOCK = 20
SIZES = (1, 64)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", type=Path, help="where the SQLite files go; by default the system's")
    parser.add_argument("--postgres", help="URL of an empty database; by default a server is started")
    parser.add_argument("--rounds", type=int, default=20, help=f"blocks of {BLOCK} commits of each kind")
    parser.add_argument(
        "--events", type=int, default=0, help="rows that are in the log before it is measured"
    )
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(dir=options.folder) as folder,
        open_store(f"sqlite:///{folder}/trial.db") as store,
    ):
        report("SQLite", store, bare_sqlite(f"{folder}/bare.db"), options)
    with a_server(options.postgres) as url:
        if url is None:
            print("no PostgreSQL server is installed here, and no --postgres was given")
            return
        migrate(url)
        with open_store(url) as store:
            report("PostgreSQL", store, bare_postgres(url), options)


def report(title: str, store: Store, bare: Callable[[bytes], object], options: argparse.Namespace) -> None:
    name = f"bench-{time.time_ns()}"
    store.create(name, lambda now: rows_after(empty_head(name, "live"), [PAYLOAD], now), "live")
    while (there := store.head(name).sequence) < options.events:
        append(store, name, min(5000, options.events - there))
    times: dict[str, list[float]] = {}
    for _ in range(options.rounds):
        took(times, "bare commit", lambda: bare(b"x"))
        took(times, f"bare, {len(EVENT)} bytes", lambda: bare(EVENT))
        for size in SIZES:
            took(times, f"store, {size} a commit", *(writer(store, name, size) for _ in range(BLOCK)))
    raw = median(times["bare commit"])
    rows = [
        [kind, f"{median(found) * 1e6:.0f}", f"{1 / median(found):.0f}", f"{median(found) / raw:.2f}"]
        for kind, found in times.items()
    ]
    print(f"{title}, {store.head(name).sequence} events in the log")
    print(text_table(["", "µs a commit", "commits/s", "times a bare one"], rows))
    print()


def took(times: dict[str, list[float]], kind: str, *acts: Callable[[], object]) -> None:
    """Note how long each of a block takes."""
    for act in acts if len(acts) > 1 else acts * BLOCK:
        begin = time.perf_counter()
        act()
        times.setdefault(kind, []).append(time.perf_counter() - begin)


def writer(store: Store, name: str, size: int) -> Callable[[], object]:
    return lambda: append(store, name, size)


def append(store: Store, name: str, size: int) -> None:
    """What a live experiment does, less the deciding: take the head, hash rows, append, commit."""
    with store.writing(name) as held:
        held.append(rows_after(held.head, [PAYLOAD] * size, held.now, HEADER))


def bare_sqlite(path: str) -> Callable[[bytes], object]:
    import apsw

    connection = apsw.Connection(path)
    connection.execute(f"PRAGMA page_size = {making.PAGE_BYTES}")
    connection.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL").fetchall()
    connection.execute("CREATE TABLE bare (number INTEGER PRIMARY KEY, data BLOB)")
    return lambda data: connection.execute("INSERT INTO bare (data) VALUES (?)", (data,)).fetchall()


def bare_rows(path: str, rows: Sequence[Row]) -> Callable[[], object]:
    """Commits of rows as they are, one each, over and over, to the tables of a store, by SQL alone."""
    import apsw

    making.make_file(Path(path))
    connection = apsw.Connection(path)
    connection.execute("PRAGMA synchronous = FULL").fetchall()
    connection.execute(
        "INSERT INTO equipoise_experiments VALUES (1, 'bare', 'live', 0, ?, 1, 0, 0)", (bytes(32),)
    )
    numbers = count(1)

    def commit() -> None:
        number = next(numbers)
        row = rows[number % len(rows)]
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(
            "UPDATE equipoise_experiments SET sequence = ?, hash = ?, updated = ? WHERE number = 1",
            (number, row.hash, row.time),
        )
        connection.execute("INSERT INTO equipoise_events VALUES (1, ?, ?, ?, ?, ?, ?, ?)", (number, *row[1:]))
        connection.execute("COMMIT")

    return commit


def bare_postgres(url: str) -> Callable[[bytes], object]:
    import psycopg

    connection = psycopg.connect(url, autocommit=True)
    connection.execute("CREATE TABLE bare (number BIGSERIAL PRIMARY KEY, data BYTEA)")
    return lambda data: connection.execute("INSERT INTO bare (data) VALUES (%b)", (data,))


@contextmanager
def a_server(given: str | None) -> Iterator[str | None]:
    """The server that was given, or one for this run, whose commits are brought to the disk."""
    if given:
        yield given
        return
    sys.path.insert(0, str(HELPERS))
    helper: Any = importlib.import_module("postgres")
    if helper.why_not():
        yield None
        return
    server = helper.Server(tempfile.mkdtemp(), options="")
    try:
        server.make()
        server.start()
        yield server.url()
    finally:
        server.remove()


if __name__ == "__main__":
    main()
