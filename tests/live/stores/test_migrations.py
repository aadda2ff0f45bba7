"""Layouts of tables: numbered, migrated by command, refused by programs that do not know them.

``frozen`` holds a database of every layout that was ever published, as SQL.
"""

import threading
from pathlib import Path

import pytest
from storing.databases import Postgres, Sqlite
from storing.rows import add, begin

from equipoise.errors import SchemaMismatch, StoreBusy
from equipoise.live.stores import migrations as numbered
from equipoise.live.stores.chain import empty_head, extended
from equipoise.live.stores.opening import migrate, open_store
from equipoise.live.stores.postgresql import making as postgres_making
from equipoise.live.stores.sqlite import making

FROZEN = Path(__file__).parent / "frozen"
PACKAGES = {"sqlite": making.PACKAGE, "postgresql": postgres_making.PACKAGE}


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request, tmp_path):
    if request.param == "sqlite":
        return Sqlite(tmp_path)
    return Postgres(request.getfixturevalue("empty_postgres"))


@pytest.fixture
def kind(database):
    return "sqlite" if isinstance(database, Sqlite) else "postgresql"


@pytest.fixture
def frozen(database, kind):
    """A database as version 1 of the layout has written it."""
    database.run((FROZEN / f"{kind}-1.sql").read_text())
    return database


@pytest.mark.parametrize("package", PACKAGES)
def test_every_layout_has_its_frozen_database(package):
    numbers = list(numbered.migrations(PACKAGES[package]))
    assert numbers == list(range(1, len(numbers) + 1))
    assert {path.name for path in FROZEN.glob(f"{package}-*")} == {f"{package}-{n}.sql" for n in numbers}


def test_a_published_layout_is_not_edited(frozen, kind, tmp_path, postgres_server):
    there = frozen.layout()
    assert len(there) > 8
    if kind == "sqlite":
        (tmp_path / "new").mkdir()
        new = Sqlite(tmp_path / "new")
    else:
        new = Postgres(postgres_server.url(postgres_server.new_database()))
    new.make()
    # A later layout must be compared after migrating the frozen one.
    migrate(frozen.url)
    assert frozen.layout() == new.layout()


def test_a_frozen_database_opens_and_goes_on(frozen):
    assert migrate(frozen.url)[1] == numbered.newest(making.PACKAGE)
    with open_store(frozen.url) as store:
        heads = store.names()
        assert [(head.name, head.mode, head.sequence, head.epoch) for head in heads] == [
            ("asthma/dose", "live", 5, 2),
            ("try-out", "practice", 1, 1),
        ]
        rows = list(store.read("asthma/dose"))
        assert extended(empty_head("asthma/dose", "live"), rows).hash == heads[0].hash
        assert [row.payload for row in rows][1:3] == [None, b'{"kind":"told","outcome":0.1}']
        snapshot = store.load_snapshot("asthma/dose")
        assert (snapshot.sequence, snapshot.hash, snapshot.blob) == (5, heads[0].hash, bytes(range(40)))
        add(store, b"it goes on", name="asthma/dose")
        begin(store)


def test_an_older_program_reads_and_refuses_to_write(frozen):
    with open_store(frozen.url) as store:
        add(store, b"before", name="try-out")
        # Somebody migrates while this program runs.
        frozen.run("INSERT INTO equipoise_schema VALUES (2, '9.9', 0)")
        for one in (store, open_store(frozen.url)):
            assert len(list(one.read("asthma/dose"))) == 5
            assert one.load_snapshot("asthma/dose") is not None
            for act in (
                lambda one=one: add(one, b"x", name="try-out"),
                lambda one=one: begin(one),
                lambda one=one: one.save_snapshot("try-out", 1, bytes(32), "", b""),
            ):
                with pytest.raises(SchemaMismatch, match=r"has schema 2, .* writes schema 1"):
                    act()
            assert one.head("try-out").sequence == 2
        with pytest.raises(SchemaMismatch, match="schema 2"):
            migrate(frozen.url)


def test_a_dry_run_of_a_migration_is_taken_back(frozen, kind, monkeypatch):
    module = {"sqlite": making, "postgresql": postgres_making}[kind]
    numbers = {**numbered.migrations(PACKAGES[kind]), 2: "CREATE TABLE equipoise_more (a BIGINT);"}
    monkeypatch.setattr(module, "migrations", lambda package: numbers)
    monkeypatch.setattr(module, "SCHEMA", 2)
    before = frozen.layout()
    assert migrate(frozen.url, dry_run=True) == (1, 2)
    assert frozen.layout() == before
    assert frozen.run("SELECT max(version) FROM equipoise_schema") == [(1,)]
    assert (migrate(frozen.url), migrate(frozen.url, dry_run=True)) == ((1, 2), (2, 2))
    assert frozen.layout() != before


def test_a_later_layout_that_cannot_be_read_is_named(frozen):
    with open_store(frozen.url) as store:
        frozen.run("INSERT INTO equipoise_schema VALUES (2, '9.9', 0)")
        frozen.run("ALTER TABLE equipoise_experiments RENAME COLUMN epoch TO era")
        with pytest.raises(SchemaMismatch, match=r"has schema 2, .*\(schema 1\) cannot read"):
            store.head("try-out")


def test_a_migration_waits_for_who_writes(frozen):
    with open_store(frozen.url) as store:
        holds, done = threading.Event(), threading.Event()

        def hold():
            with store.writing("try-out"):
                holds.set()
                done.wait(30)

        thread = threading.Thread(target=hold)
        thread.start()
        holds.wait(30)
        try:
            with pytest.raises(StoreBusy):
                migrate(frozen.url, wait=0.2)
        finally:
            done.set()
            thread.join()
    assert migrate(frozen.url) == (1, 1)
