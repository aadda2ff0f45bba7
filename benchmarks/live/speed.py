"""How fast live experiments are, beside bare commits and Optuna on the same disk and server, all in one run.

What is compared takes turns, a short block each, so that others who use the machine slow all of it down; a
rate is the median of its blocks, a ratio the median of the rounds' ratios. Turns come in another order in
every round, and each begins with a while of the same, untimed: for some milliseconds after other work of the
disk commits are quicker. How they compare right after such work is a line of its own. A median of short
blocks leaves out what comes now and then, snapshots and checkpoints: another line counts all, in turns of a
second. Optuna is asked for one number by random search, its cheapest. Needs Optuna and, for the first part, a
PostgreSQL server, which is started for the run unless ``--postgres`` names a database.

An SQLite file is slower as long as its write-ahead log grows, up to the first checkpoint after 1,000 pages;
bare commits and experiments are timed after it, when the log is written over. Processes ask for units of
their own in every round: a unit that is known is only read. They are timed after a few calls, by which they
have loaded what they need.

Usage: python benchmarks/live/speed.py [--quick] [--events N] [--folder DIR] [--postgres URL] [--output FILE]
"""

from __future__ import annotations

import argparse
import os
import platform
import tempfile
from importlib import metadata
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import beside
import clients
import equipoise as eq
import growing
from equipoise.core.text_tables import markdown_table
from equipoise.live.stores.opening import migrate
from turns import in_turns, lasting, rate, repeat


class Sizes(NamedTuple):
    """How much is measured."""

    rounds: int
    few_rounds: int
    """Of what takes processes of their own."""
    pairs: int
    """Pairs of calls in a block of a single client."""
    threads: int
    processes: int
    experiments: int
    events: int
    verified: int
    """Units of the log that is verified, half of them asked together."""
    warming: int
    """Bare commits before any is timed, and calls of a client."""
    seconds: float
    """Of a turn in which all is counted."""


FULL = Sizes(
    rounds=15,
    few_rounds=3,
    pairs=20,
    threads=64,
    processes=16,
    experiments=100,
    events=10**6,
    verified=20_000,
    warming=1_010,
    seconds=1.0,
)
QUICK = Sizes(
    rounds=1,
    few_rounds=1,
    pairs=5,
    threads=8,
    processes=3,
    experiments=3,
    events=8_000,
    verified=400,
    warming=10,
    seconds=0.05,
)
HEADER = ["", "pairs/s", "beside", "pairs/s or commits/s", "ratio", "wanted"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="small sizes: only to see that it runs")
    parser.add_argument("--events", type=int, help="length of the long log")
    parser.add_argument("--folder", type=Path, help="where the SQLite files go; by default the system's")
    parser.add_argument("--postgres", help="URL of an empty database; by default a server is started")
    parser.add_argument("--output", type=Path, help="a file for the same text")
    options = parser.parse_args()
    sizes = QUICK if options.quick else FULL
    sizes = sizes._replace(events=options.events or sizes.events)
    before, parts = os.getloadavg()[0], []

    def add(part: str) -> None:
        parts.append(part)
        print(part, flush=True)

    server = None
    with beside.commits().a_server(options.postgres) as url:
        if url is None:
            print("no PostgreSQL server is installed here, and no --postgres was given")
        else:
            add(table("PostgreSQL", postgres_rows(url, sizes)))
            server = server_version(url)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        add(table("SQLite", sqlite_rows(folder, sizes)))
        add(long_log(f"sqlite:///{folder}/long.db", sizes))
    add(about(sizes, before, server))
    if options.output:
        options.output.write_text("\n".join(parts))


def table(title: str, rows: list[list[str]]) -> str:
    return markdown_table([title, *HEADER[1:]], rows)


def row(
    what: str, mine: list[float], against: str, other: list[float], wanted: str, *, times: float = 1.0
) -> list[str]:
    """A line of the table; ``times``: commits that a pair takes."""
    ratio = median(times * a / b for a, b in zip(mine, other, strict=True))
    return [what, f"{median(mine):,.0f}", against, f"{median(other):,.0f}", f"{ratio:.2f}", wanted]


def sqlite_rows(folder: str, sizes: Sizes) -> list[list[str]]:
    url = f"sqlite:///{folder}/trial.db"
    bare = beside.commits().bare_sqlite(f"{folder}/bare.db")
    event = beside.commits().EVENT
    study = beside.optuna_studies(f"sqlite:///{folder}/optuna.db", ["study"])[0]
    live = clients.create(url)
    each = max(sizes.pairs * 48 // sizes.processes, 2)
    one, many = (clients.create(url).name for _ in range(2))
    n, few = sizes.pairs, max(sizes.pairs // 5, 2)

    def single() -> None:
        clients.pairs(live, n, "one")

    def threads() -> float:
        return clients.in_threads(live, sizes.threads, 4)

    def theirs() -> None:
        beside.optuna_pairs(study, few)

    bytes_, events = repeat(4 * n, lambda: bare(b"x")), repeat(2 * n, lambda: bare(event))
    repeat(sizes.warming, lambda: bare(b"x"))()
    clients.pairs(live, sizes.warming // 2, "warm")
    same = beside.commits().bare_rows(f"{folder}/same.db", list(live.store.read(live.name, 1)))
    repeat(sizes.warming, same)()
    found = in_turns(
        sizes.rounds,
        {
            "bare": rate(4 * n, bytes_),
            "bare event": rate(2 * n, events),
            "same rows": rate(2 * n, repeat(2 * n, same)),
            "single": rate(n, single),
            "optuna": rate(few, theirs),
            "batch": rate(100, lambda: clients.batch(live, 100)),
            "threads": rate(sizes.threads * 4, threads, seconds=lambda act: float(act())),
            "bare, long": lasting(4 * n, bytes_, sizes.seconds),
            "single, long": lasting(n, single, sizes.seconds),
            "bare, after": rate(4 * n, bytes_, after=theirs),
            "single, after": rate(n, single, after=theirs),
        },
    )
    found |= in_turns(
        sizes.few_rounds,
        {
            "process": lambda: (
                sizes.processes
                * each
                / clients.in_processes(1, clients.working_on(url, [one], sizes.processes * each))
            ),
            "processes": lambda: (
                sizes.processes
                * each
                / clients.in_processes(sizes.processes, clients.working_on(url, [many], each))
            ),
        },
    )
    live.close()
    mine = found["single"]
    return [
        row("single calls", mine, "Optuna, ask and tell", found["optuna"], "20"),
        row(
            "single calls, two commits a pair",
            mine,
            "bare commits of a byte",
            found["bare"],
            "0.5",
            times=2,
        ),
        row("the same", mine, f"bare commits of {len(event)} bytes", found["bare event"], "–", times=2),
        row(
            "the same",
            mine,
            "the same rows in the same tables, by SQL alone",
            found["same rows"],
            "–",
            times=2,
        ),
        row(
            "the same, all in all",
            found["single, long"],
            "bare commits of a byte, all in all",
            found["bare, long"],
            "–",
            times=2,
        ),
        row(
            "the same, right after calls of Optuna",
            found["single, after"],
            "bare commits of a byte, right after calls of Optuna",
            found["bare, after"],
            "–",
            times=2,
        ),
        row("`ask_many` and `tell_many` of 100", found["batch"], "single calls", mine, "10"),
        row(f"{sizes.threads} threads of single calls", found["threads"], "one thread", mine, "3"),
        row(
            f"{sizes.processes} processes, one experiment",
            found["processes"],
            "one process",
            found["process"],
            "1",
        ),
    ]


def postgres_rows(url: str, sizes: Sizes) -> list[list[str]]:
    migrate(url)
    theirs = beside.optuna_url(url)
    bare = beside.commits().bare_postgres(url)
    names = [clients.create(url).name for _ in range(sizes.experiments)]
    studies = [study.study_name for study in beside.optuna_studies(theirs, names)]
    clients_ = min(8, sizes.processes)
    n, few = 2 * sizes.pairs, max(sizes.pairs // 4, 2)
    hot = clients.working_on(url, names[:1], n)
    spread = clients.working_on(url, names, n)
    found = in_turns(
        sizes.few_rounds,
        {
            "bare": rate(4 * n, repeat(4 * n, lambda: bare(b"x"))),
            "hot": lambda: clients_ * n / clients.in_processes(clients_, hot),
            "their hot": lambda: (
                clients_
                * few
                / clients.in_processes(clients_, beside.optuna_working_on(theirs, studies[:1], few))
            ),
            "spread": lambda: clients_ * n / clients.in_processes(clients_, spread),
            "their spread": lambda: (
                clients_
                * few
                / clients.in_processes(clients_, beside.optuna_working_on(theirs, studies, few))
            ),
        },
    )
    rows = []
    for key, what in (
        ("hot", f"one experiment, {clients_} clients"),
        ("spread", f"{len(names)} experiments, {clients_} clients on all of them"),
    ):
        rows.append(row(what, found[key], "Optuna, the same", found[f"their {key}"], "–"))
        rows.append(
            row(
                f"{what}, two commits a pair",
                found[key],
                "bare commits, one client",
                found["bare"],
                "–",
                times=2,
            )
        )
    return rows


def long_log(url: str, sizes: Sizes) -> str:
    measured = min(10_000, sizes.events // 4)
    found = growing.grow(url, sizes.events, measured, sizes.pairs * 15, sizes.warming)
    checked = growing.verifying(url, sizes.verified)
    lines = [
        (
            f"pairs/s by batches of {growing.SIZE}, first and last {measured:,} events",
            "batch, first",
            "batch, last",
            0,
            "flat",
        ),
        (
            "pairs/s by single calls, at the beginning and at the end",
            "single, first",
            "single, last",
            0,
            "flat",
        ),
        (
            "seconds to open it in a new process, and for the first `ask` there",
            "open",
            "first ask",
            2,
            "2 to open",
        ),
        ("memory of that process, MB: with the library, and at most", "imported MB", "open MB", 0, "stated"),
        (
            f"events/s that `verify` checks, of {checked['verified']:,}: chain, and decisions too",
            "chain",
            "decisions",
            0,
            "stated",
        ),
    ]
    found |= checked
    rows = [
        [what, f"{found[first]:,.{digits}f}", f"{found[second]:,.{digits}f}", wanted]
        for what, first, second, digits, wanted in lines
    ]
    return markdown_table([f"A log of {found['events']:,.0f} events, SQLite", "", "", "wanted"], rows)


def about(sizes: Sizes, before: float, server: str | None) -> str:
    import apsw

    versions = [
        f"equipoise {eq.__version__}",
        f"Python {platform.python_version()}",
        f"SQLite {apsw.sqlite_lib_version()} (apsw)",
        *(f"{name} {metadata.version(name)}" for name in ("optuna", "sqlalchemy", "psycopg")),
        *([] if server is None else [f"PostgreSQL {server}"]),
    ]
    command = "python benchmarks/live/speed.py" + (" --quick" if sizes.rounds == 1 else "")
    return " ".join(
        [
            f"m = 3, d = {clients.DIM}, `trace-gain`; medians of {sizes.rounds} rounds in turns of changing",
            f"order, {sizes.few_rounds} where processes are started.",
            "Commits are on the disk: SQLite with a write-ahead log and `synchronous=FULL`, PostgreSQL as",
            "installed; Optuna as it comes, random search over one number.",
            f"{', '.join(versions)}. {os.cpu_count()} cores, load {before:.1f} before and",
            f"{os.getloadavg()[0]:.1f} after. Printed by `{command}`.\n",
        ]
    )


def server_version(url: str) -> str:
    psycopg: Any = __import__("psycopg")
    with psycopg.connect(url) as connection:
        return str(connection.execute("SHOW server_version").fetchone()[0])


if __name__ == "__main__":
    main()
