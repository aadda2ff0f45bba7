"""The PostgreSQL store beyond the contract: settings, forks, Ctrl-C, servers and networks that go away."""

import os
import secrets
import shutil
import signal
import subprocess
import tempfile
import threading
import time

import psycopg
import pytest
from postgres import Server, server_user, skip_without_server
from storing.processes import forked
from storing.rows import add, begin, payloads

from equipoise.errors import (
    CommitUnknown,
    InvalidStore,
    NotOffered,
    SchemaMismatch,
    StoreBusy,
    StoreDamaged,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
)
from equipoise.live.stores.contract import rows_after
from equipoise.live.stores.opening import migrate, open_store
from equipoise.live.stores.postgresql.connecting import without_password


def run_sql(url, sql):
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(sql)
        return cursor.fetchall() if cursor.description else None


def end_others(url):
    """What an administrator does: end all connections to the database but this one."""
    run_sql(
        url,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()",
    )
    time.sleep(0.05)


def add_and(store, payload, act):
    """Something happens between the append and the commit."""
    with store.writing("trial") as writer:
        writer.append(rows_after(writer.head, [payload], writer.now))
        act()


def test_commits_are_on_the_disk_even_where_the_server_is_lazy(url):
    run_sql(url, f"ALTER DATABASE {url.partition('?')[0].rpartition('/')[2]} SET synchronous_commit = off")
    with open_store(url, wait=1.5) as store:
        assert store._select("SHOW synchronous_commit", ()) == [("on",)]
        assert store._select("SHOW lock_timeout", ()) == [("1500ms",)]
        assert store._select("SHOW idle_in_transaction_session_timeout", ()) == [("5min",)]


def test_the_tables_refuse_changes(store, url):
    for sql in (
        "DELETE FROM equipoise_events",
        "TRUNCATE equipoise_events",
        "UPDATE equipoise_events SET payload = ''",
        "UPDATE equipoise_events SET payload = NULL, salt = NULL, header = ''",
        "DELETE FROM equipoise_experiments",
        "UPDATE equipoise_experiments SET mode = 'practice'",
    ):
        with pytest.raises(psycopg.errors.RaiseException, match="never"):
            run_sql(url, sql)
    with pytest.raises(psycopg.errors.UniqueViolation):
        run_sql(url, "INSERT INTO equipoise_events SELECT * FROM equipoise_events")


def test_the_time_is_taken_after_the_wait(store, url):
    """A writer that waited is not given the time at which it came."""
    times = []

    def second():
        with store.writing("trial") as writer:
            times.append(writer.now)

    thread = threading.Thread(target=second)
    with store.writing("trial"):
        thread.start()
        time.sleep(0.3)
        freed = store._clock()
    thread.join()
    assert times[0] >= freed


def test_a_forked_process_has_connections_of_its_own(store):
    def act():
        for _ in range(10):
            add(store, b"child")
        store.close()

    children = [forked(act) for _ in range(3)]
    for _ in range(10):
        add(store, b"parent")
    assert [wait() for _, wait in children] == [0, 0, 0]
    assert payloads(store).count(b"child") == 30
    assert len(payloads(store)) == 41


def test_ctrl_c_ends_the_waiting_and_leaves_no_lock(url, store):
    with open_store(url, wait=60) as other:
        other.head("trial")
        with store.writing("trial"):
            timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
            timer.start()
            began = time.monotonic()
            with pytest.raises(KeyboardInterrupt):
                add(other, b"x")
            assert time.monotonic() - began < 10
            timer.join()
        add(store, b"one")
        add(other, b"two")
    assert payloads(store) == [b"created", b"one", b"two"]


def test_connections_that_were_ended_while_idle_are_made_anew(store, url):
    end_others(url)
    add(store, b"written")
    end_others(url)
    assert payloads(store) == [b"created", b"written"]
    end_others(url)
    store.save_snapshot("trial", 1, bytes(32), "label", b"state")
    assert store.load_snapshot("trial").blob == b"state"


def test_a_connection_that_is_ended_inside_of_writing_stores_nothing(store, url):
    with pytest.raises(StoreUnavailable, match="nothing was stored") as caught:
        add_and(store, b"lost", lambda: end_others(url))
    assert not isinstance(caught.value, CommitUnknown)
    assert payloads(store) == [b"created"]
    add(store, b"again")


@pytest.fixture(params=["LATIN1", "SQL_ASCII"])
def narrow(postgres_server, request):
    """A database whose text is not Unicode, and its encoding."""
    name = f"narrow_{secrets.token_hex(4)}"
    postgres_server.run_sql(
        f"CREATE DATABASE {name} ENCODING '{request.param}' LOCALE 'C' TEMPLATE template0"
    )
    url = postgres_server.url(name)
    migrate(url)
    return url, request.param


def test_names_that_a_database_may_not_hold(narrow):
    url, encoding = narrow
    with open_store(url) as store:
        begin(store, "ä")
        if encoding == "LATIN1":
            with pytest.raises(InvalidStore, match=r"cannot hold .*UTF8"):
                begin(store, "λ")
        assert [head.name for head in store.names()] == ["ä"]


def test_two_experiments_do_not_wait_for_each_other(url, store):
    begin(store, "other")
    with open_store(url, wait=0.3) as second:
        with store.writing("trial"):
            add(second, b"x", name="other")
            with pytest.raises(StoreBusy, match=r"0\.3 s"):
                add(second, b"x")
        add(second, b"x")


@pytest.mark.parametrize(
    ("state", "kind"),
    [("53100", StoreFull), ("XX001", StoreDamaged), ("40001", StoreBusy), ("57P03", StoreUnavailable)],
)
def test_what_the_server_says_is_put_into_words(store, url, state, kind):
    """A real server's error, raised by a trigger under the number of a fault that tests cannot cause."""
    run_sql(
        url,
        "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS"
        f" $$ BEGIN RAISE EXCEPTION 'as it happens' USING ERRCODE = '{state}'; END $$",
    )
    run_sql(url, "CREATE TRIGGER fail BEFORE INSERT ON equipoise_events EXECUTE FUNCTION fail()")
    with pytest.raises(kind):
        add(store, b"x")
    run_sql(url, "DROP TRIGGER fail ON equipoise_events")
    add(store, b"y")
    assert payloads(store) == [b"created", b"y"]


def test_a_server_that_may_not_be_written(store, url):
    name = url.partition("?")[0].rpartition("/")[2]
    run_sql(url, f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    with open_store(url) as standby:
        with pytest.raises(StoreReadOnly, match="read-only transaction"):
            add(standby, b"x")
        for tried in (lambda: standby.try_creating("new", "live"), lambda: standby.try_writing("trial")):
            with pytest.raises(StoreReadOnly, match="read-only transaction"):
                tried()
        assert payloads(standby) == [b"created"]


def test_a_user_without_rights(store, url):
    role = f"reader_{os.getpid()}"
    run_sql(url, f"CREATE ROLE {role} LOGIN")
    run_sql(url, f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role}")
    try:
        with open_store(url.replace("postgres@", f"{role}@")) as reader:
            assert payloads(reader) == [b"created"]
            with pytest.raises(StoreReadOnly, match="permission denied"):
                add(reader, b"x")
            for tried in (lambda: reader.try_creating("new", "live"), lambda: reader.try_writing("trial")):
                with pytest.raises(StoreReadOnly, match="permission denied"):
                    tried()
    finally:
        run_sql(url, f"DROP OWNED BY {role}; DROP ROLE {role}")


def test_places_where_no_store_is(empty_postgres, postgres_server, tmp_path):
    with (
        open_store(empty_postgres) as store,
        pytest.raises(SchemaMismatch, match="equipoise migrate --store"),
    ):
        begin(store)
    with pytest.raises(InvalidStore, match='database "missing" does not exist'):
        open_store(postgres_server.url("missing")).head("trial")
    with pytest.raises(StoreUnavailable, match="cannot be reached"):
        open_store(f"postgresql://postgres@/x?host={tmp_path}").head("trial")
    with pytest.raises(InvalidStore, match="not a URL of a server"):
        open_store("postgresql://host/db?colour=blue").head("trial")


def test_backups_are_the_servers_own(store, tmp_path):
    with pytest.raises(NotOffered, match="pg_dump"):
        store.backup(tmp_path / "copy")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://ana:secret@host/db", "postgresql://ana:…@host/db"),
        ("postgresql://ana@host/db", "postgresql://ana@host/db"),
        ("postgresql://host:5433/db", "postgresql://host:5433/db"),
        ("postgresql:///db?user=ana&password=secret&host=h", "postgresql:///db?user=ana&password=…&host=h"),
        ("postgresql://ana:se:cr@t@host/db", "postgresql://ana:…@host/db"),
    ],
)
def test_passwords_are_not_shown(url, shown):
    assert without_password(url) == shown
    assert open_store(url).url == shown


def test_a_server_that_stops_and_comes_back():
    skip_without_server()
    server = Server(tempfile.mkdtemp())
    try:
        server.make()
        server.start()
        migrate(server.url())
        with open_store(server.url(), wait=5) as store:
            begin(store)
            add(store, b"stored")
            with pytest.raises(StoreUnavailable):
                add_and(store, b"lost", lambda: server.stop("immediate"))
            with pytest.raises(StoreUnavailable, match="cannot be reached"):
                store.head("trial")
            server.start()
            assert payloads(store) == [b"created", b"stored"]
            add(store, b"it goes on")
    finally:
        server.remove()


@pytest.fixture
def small_disk(postgres_server):
    """A folder on a disk of its own, in which the server may keep tables."""
    folder = postgres_server.folder / f"disk-{secrets.token_hex(4)}"
    folder.mkdir()
    options = ["-t", "tmpfs", "-o", "size=14m", "tmpfs", str(folder)]
    if os.getuid() or subprocess.run(["mount", *options], capture_output=True).returncode:
        folder.rmdir()
        pytest.skip("only root can make a small disk, where mounting is allowed")
    shutil.chown(folder, server_user())
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_the_first_of_several_failures_counts(store):
    """Of statements sent together the server refuses the rest, too, and that may be what is raised."""

    def answered():
        try:
            raise psycopg.errors.DiskFull("could not extend file")
        finally:
            raise psycopg.errors.PipelineAborted("pipeline aborted")

    with pytest.raises(StoreFull), store._pool.using() as held, store._ending(held):
        answered()
    with pytest.raises(StoreUnavailable), store._pool.using() as held, store._ending(held):
        raise psycopg.errors.PipelineAborted("pipeline aborted")


def test_a_full_disk(postgres_server, small_disk):
    name = f"full_{secrets.token_hex(4)}"
    postgres_server.run_sql(f"CREATE TABLESPACE {name} LOCATION '{small_disk}'")
    postgres_server.run_sql(f"CREATE DATABASE {name} TABLESPACE {name}")
    try:
        url = postgres_server.url(name)
        migrate(url)
        with open_store(url) as store:
            begin(store)
            stored = [b"created"]

            def go_on():
                for _ in range(100):
                    block = os.urandom(300_000)
                    add(store, block)
                    stored.append(block)

            with pytest.raises(StoreFull, match=r"is full: nothing was stored \(free some space"):
                go_on()
            assert len(stored) > 2
            with pytest.raises(StoreFull):
                store.save_snapshot("trial", 1, bytes(32), "label", os.urandom(3_000_000))
            # Reading, too, may need space: the server writes out what is in the way in its memory.
            subprocess.run(["mount", "-o", "remount,size=40m", str(small_disk)], check=True)
            assert payloads(store) == stored
            assert store.load_snapshot("trial") is None
            add(store, b"it goes on")
            assert payloads(store) == [*stored, b"it goes on"]
    finally:
        postgres_server.run_sql(f"DROP DATABASE {name} WITH (FORCE)")
        postgres_server.run_sql(f"DROP TABLESPACE {name}")


def test_who_waits_for_a_migration_has_no_lock_that_it_needs(store, url):
    """The schema's table first, then the others, in the order of a migration: or they wait for each other."""
    with psycopg.connect(url) as migrating:
        migrating.execute("LOCK TABLE equipoise_schema IN ACCESS EXCLUSIVE MODE")
        writing = threading.Thread(target=add, args=(store, b"waits"))
        writing.start()
        until = time.monotonic() + 20
        while not run_sql(url, "SELECT 1 FROM pg_locks WHERE NOT granted"):
            assert time.monotonic() < until
            time.sleep(0.01)
        migrating.execute("SET LOCAL lock_timeout = '5s'")
        for table in ("equipoise_experiments", "equipoise_events", "equipoise_snapshots"):
            migrating.execute(f"ALTER TABLE {table} ADD COLUMN colour text")
        migrating.rollback()
        writing.join(20)
    assert payloads(store)[-1] == b"waits"
