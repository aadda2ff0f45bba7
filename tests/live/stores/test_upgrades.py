"""A second layout, tried with a later version of the program and data in the tables.

The later version is a copy of this one with one more SQL file, in processes of its own. Its migration takes a
moment, so that others come in between.
"""

import ast
import time
from pathlib import Path

import apsw
import pytest
from storing.databases import Postgres, Sqlite
from storing.later_program import LaterProgram, ended
from storing.rows import add, begin, payloads

from equipoise.errors import SchemaMismatch
from equipoise.live.stores.opening import open_store

FROZEN = Path(__file__).parent / "frozen"
COLUMN = "ALTER TABLE equipoise_experiments ADD COLUMN colour TEXT;\n"
COUNT = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1500000) SELECT count(*)"
SECOND = {
    "sqlite": f"{COLUMN}UPDATE equipoise_experiments SET colour = 'blue ' || ({COUNT} FROM n);\n"
    "CREATE TABLE equipoise_colours (name TEXT NOT NULL PRIMARY KEY) STRICT;\n",
    "postgresql": f"{COLUMN}UPDATE equipoise_experiments SET colour = 'blue'; SELECT pg_sleep(0.7);\n"
    "CREATE TABLE equipoise_colours (name text PRIMARY KEY);\n",
}
BROKEN = dict.fromkeys(SECOND, COLUMN + "SELECT nonsense;\n")
OPEN = "from equipoise.live.stores.opening import open_store\n"
MOMENTS = 0.0, 0.3
"""Seconds after the lock was taken at which a migration is killed."""


@pytest.fixture(scope="module")
def later(tmp_path_factory):
    return LaterProgram(tmp_path_factory.mktemp("later"), SECOND)


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request, tmp_path):
    """A database as version 1 of the layout has written it."""
    if request.param == "sqlite":
        made = Sqlite(tmp_path)
    else:
        made = Postgres(request.getfixturevalue("empty_postgres"))
    made.run((FROZEN / f"{request.param}-1.sql").read_text())
    return made


def kind(database):
    return "sqlite" if isinstance(database, Sqlite) else "postgresql"


def version(database):
    return database.run("SELECT max(version) FROM equipoise_schema")[0][0]


def is_being_migrated(database):
    """Whether a migration keeps writers away now."""
    if isinstance(database, Postgres):
        found = (
            "SELECT 1 FROM pg_locks WHERE granted AND mode = 'AccessExclusiveLock'"
            " AND relation = 'equipoise_schema'::regclass"
        )
        return bool(database.run(found))
    raw = apsw.Connection(str(database.path))
    try:
        raw.execute("BEGIN IMMEDIATE")
        raw.execute("ROLLBACK")
        return False
    except apsw.BusyError:
        return True
    finally:
        raw.close(True)


def wait_for_migration(database):
    until = time.monotonic() + 60
    while not is_being_migrated(database):
        assert time.monotonic() < until
        time.sleep(0.01)


def test_data_go_over_and_the_older_program_only_reads(database, later):
    with open_store(database.url) as store:
        add(store, b"before", name="try-out")
        rows = {head.name: payloads(store, head.name) for head in store.names() if head.epoch == 1}
        with pytest.raises(AssertionError, match=r"SchemaMismatch.*schema 1, .* needs schema 2"):
            later.run(f"{OPEN}open_store({database.url!r}).names()")
        # While it is migrated reading goes on, and writing waits, to be refused then.
        migrating = later.start_migrating(database.url)
        wait_for_migration(database)
        if isinstance(database, Sqlite):
            assert payloads(store, "try-out") == rows["try-out"]
        for one in (store, open_store(database.url)):
            for act in (lambda one=one: add(one, b"x", name="try-out"), lambda one=one: begin(one)):
                with pytest.raises(SchemaMismatch, match=r"has schema 2, .* writes schema 1"):
                    act()
            assert {name: payloads(one, name) for name in rows} == rows
            assert len(list(one.read("asthma/dose"))) == 5
            assert one.load_snapshot("asthma/dose") is not None
        assert ended(migrating) == "(1, 2)"
        later.run(
            f"{OPEN}from equipoise.live.stores.contract import rows_after\n"
            f"with open_store({database.url!r}) as store, store.writing('try-out') as writer:\n"
            "    writer.append(rows_after(writer.head, [b'by the later one'], writer.now))\n"
        )
        assert payloads(store, "try-out") == [*rows["try-out"], b"by the later one"]
    assert database.run("SELECT DISTINCT substr(colour, 1, 4) FROM equipoise_experiments") == [("blue",)]


def test_two_migrate_at_once(database, later):
    both = [later.start_migrating(database.url) for _ in range(2)]
    assert sorted(ast.literal_eval(ended(each)) for each in both) == [(1, 2), (2, 2)]
    assert database.run("SELECT count(*) FROM equipoise_schema") == [(2,)]


def test_killed_in_the_middle(database, later):
    before = database.layout()
    for moment in MOMENTS:
        migrating = later.start_migrating(database.url)
        wait_for_migration(database)
        time.sleep(moment)
        migrating.kill()
        migrating.communicate()
        while is_being_migrated(database):  # a server notices later that its client has died
            time.sleep(0.01)
        # A server that was about to finish may have done so.
        if version(database) == 2:
            assert database.layout() != before
            break
        assert (version(database), database.layout()) == (1, before)
        with open_store(database.url) as store:
            add(store, b"it goes on", name="try-out")
    assert later.migrate(database.url) in ("(1, 2)", "(2, 2)")
    assert version(database) == 2
    assert database.run("SELECT count(*) FROM equipoise_colours") == [(0,)]
    with open_store(database.url) as store:
        assert payloads(store, "try-out")[1:] in ([b"it goes on"] * n for n in range(len(MOMENTS) + 1))
        assert len(list(store.read("asthma/dose"))) == 5


def test_a_migration_fails_whole(database, tmp_path_factory):
    broken = LaterProgram(tmp_path_factory.mktemp("broken"), BROKEN)
    before = database.layout()
    with pytest.raises(AssertionError, match="nonsense"):
        broken.migrate(database.url)
    assert (version(database), database.layout()) == (1, before)
