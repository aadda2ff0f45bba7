"""What can happen to a file: a clear error, nothing acknowledged that is not stored, and a way on."""

import os
import shutil
import sqlite3
from pathlib import Path

import apsw
import pytest
from full_disk import full_disk
from storing.nobody import as_nobody, open_folder
from storing.rows import add, begin, payloads

from equipoise.errors import (
    EquipoiseError,
    InvalidArgument,
    InvalidStore,
    OutputNotWritable,
    StoreDamaged,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
)
from equipoise.live.stores.opening import migrate, open_store
from equipoise.live.stores.sqlite import making

LARGE = os.urandom(200_000)


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    path = tmp_path_factory.mktemp("template") / "trial.db"
    with open_store(f"sqlite:///{path}") as store:
        begin(store)
        for number in range(40):
            add(store, b"%d " % number * 100)
    return path


@pytest.fixture
def path(template, tmp_path):
    """A file with some rows, which nobody has open."""
    return Path(shutil.copy(template, tmp_path / "trial.db"))


@pytest.fixture
def store(path):
    with open_store(f"sqlite:///{path}", wait=1) as store:
        yield store


def test_a_full_disk(store, path):
    add(store, b"stored")
    before = store.head("trial")
    with full_disk(max(file.stat().st_size for file in path.parent.iterdir())):
        with pytest.raises(StoreFull, match=r"no space is left for .*trial\.db: nothing was stored"):
            add(store, LARGE)
        with pytest.raises(StoreFull):
            store.save_snapshot("trial", 1, bytes(32), "label", LARGE)
        assert store.head("trial") == before
    assert payloads(store)[-1] == b"stored"
    assert store.load_snapshot("trial") is None
    add(store, LARGE)
    assert payloads(store)[-1] == LARGE


def test_a_disk_that_is_full_from_the_start(tmp_path):
    with open_store(f"sqlite:///{tmp_path}/new.db") as store:
        with full_disk(), pytest.raises(StoreFull, match=r"new\.db"):
            begin(store)
        assert list(tmp_path.iterdir()) == []
        begin(store)


def test_a_full_disk_where_the_backup_goes(store, path):
    store.head("trial")
    with full_disk(1000), pytest.raises(OutputNotWritable, match=r"copy\.db.*free some space"):
        store.backup(path.with_name("copy.db"))
    assert not [file for file in path.parent.iterdir() if "copy" in file.name]


def test_a_read_only_file(path):
    with open_folder() as folder:
        shutil.copy(path, folder / "trial.db")
        (folder / "trial.db").chmod(0o444)
        url = f"sqlite:///{folder}/trial.db"
        with as_nobody(), open_store(url) as store, pytest.raises(StoreReadOnly, match="read-only here"):
            add(store, b"x")
        with open_store(f"sqlite:///{folder}/trial.db") as store:
            assert len(payloads(store)) == 41


def test_a_read_only_folder(path):
    with open_folder() as folder:
        shutil.copy(path, folder / "trial.db")
        (folder / "trial.db").chmod(0o666)
        folder.chmod(0o555)
        with as_nobody(), open_store(f"sqlite:///{folder}/trial.db") as store:
            for act in (lambda: add(store, b"x"), lambda: store.head("trial")):
                with pytest.raises(StoreReadOnly, match="its folder is read-only here"):
                    act()
        url = f"sqlite:///{folder}/new.db"
        with as_nobody(), open_store(url) as store, pytest.raises(StoreReadOnly, match="its folder"):
            begin(store)
        folder.chmod(0o777)


@pytest.mark.parametrize(
    "files",
    [["trial.db"], ["trial.db-wal"], ["trial.db-shm"], ["trial.db", "trial.db-wal", "trial.db-shm"]],
)
def test_files_that_vanish_while_they_are_open(store, path, files):
    add(store, b"stored")
    for name in files:
        path.with_name(name).rename(path.with_name(f"{name}.kept"))
    for act in (lambda: add(store, b"lost"), lambda: store.head("trial"), lambda: begin(store, "other")):
        with pytest.raises(StoreUnavailable, match=r"was removed or replaced .*open the store anew"):
            act()
    store.close()
    for name in files:
        path.with_name(f"{name}.kept").rename(path.with_name(name))
    with open_store(f"sqlite:///{path}") as again:
        assert payloads(again)[-1] == b"stored"
        add(again, b"it goes on")


def test_a_file_that_is_gone_and_has_left_its_log(store, path, tmp_path):
    """SQLite would write into a new file of that name what was in the old one, or damage it so."""
    add(store, b"x")
    log = Path(f"{path}-wal").read_bytes()
    for name in ("new.db", "copy.db"):
        (tmp_path / f"{name}-wal").write_bytes(log)
    with open_store(f"sqlite:///{tmp_path}/new.db") as new:
        assert new.names() == []
        with pytest.raises(InvalidStore, match=r"no file .*new\.db, but new\.db-wal of one"):
            begin(new)
        with pytest.raises(InvalidStore, match=r"copy\.db-wal"):
            store.backup(tmp_path / "copy.db")
        assert not (tmp_path / "new.db").exists()
        assert not (tmp_path / "copy.db").exists()
        (tmp_path / "new.db-wal").rename(tmp_path / "moved")
        begin(new)
        assert payloads(new) == [b"created"]


def test_a_log_that_is_tidied_away_while_another_process_makes_the_same_file(path, tmp_path, monkeypatch):
    """Who made the file first has closed it at this moment."""
    log = tmp_path / "new.db-wal"
    look = Path.stat

    def stat(self, **options):
        found = look(self, **options)
        if self == log:
            log.unlink()
        return found

    log.write_bytes(b"x")
    (tmp_path / "new.db").touch()
    monkeypatch.setattr(Path, "stat", stat)
    making._refuse_left_over(tmp_path / "new.db")
    assert not log.exists()


def test_a_file_that_vanishes_inside_of_writing(store, path):
    with pytest.raises(StoreUnavailable, match="removed or replaced"), store.writing("trial"):
        path.unlink()


def test_a_file_of_two_names(path):
    """Each name has a write-ahead log of its own, and rows of one would be lost to the other."""
    other = path.with_name("other.db")
    os.link(path, other)
    for name in (path, other):
        with open_store(f"sqlite:///{name}") as store:
            for act in (lambda: add(store, b"lost"), lambda: store.head("trial")):
                with pytest.raises(InvalidStore, match=r"has another name, too .*find -samefile"):
                    act()
        with pytest.raises(InvalidStore, match="has another name, too"):
            migrate(f"sqlite:///{name}")
    other.unlink()
    with open_store(f"sqlite:///{path}") as store:
        add(store, b"stored")


def test_the_name_under_which_a_file_was_made_is_no_second_one(path):
    """A program that is killed in the right moment leaves it."""
    draft = path.with_name(f".{path.name}.0123456789ab.new")
    os.link(path, draft)
    with open_store(f"sqlite:///{path}") as store:
        add(store, b"stored")
    assert not draft.exists()


def test_a_file_that_is_replaced_while_it_is_open(store, path):
    copy = path.with_name("copy.db")
    store.backup(copy)
    add(store, b"newer than the backup")
    copy.replace(path)
    with pytest.raises(StoreUnavailable, match="replaced"):
        add(store, b"lost")


def cut(path, size):
    with path.open("rb+") as file:
        file.truncate(size)


@pytest.mark.parametrize("missing", [1, 4096, 10_000])
def test_a_cut_tail(path, missing):
    size = path.stat().st_size
    cut(path, size - missing)
    with open_store(f"sqlite:///{path}") as store:
        with pytest.raises(StoreDamaged, match=r"trial\.db is damaged: .*restore the last backup"):
            store.head("trial")
        with pytest.raises(StoreDamaged):
            add(store, b"x")


@pytest.mark.parametrize("size", [0, 50, 100, 1000])
def test_a_file_of_which_little_is_left(path, size):
    cut(path, size)
    with open_store(f"sqlite:///{path}") as store:
        for act in (lambda: store.names(), lambda: begin(store, "other")):
            with pytest.raises((StoreDamaged, InvalidStore), match=r"trial\.db is"):
                act()
    assert path.stat().st_size == size


def test_an_empty_file_is_not_taken_for_a_new_one(tmp_path):
    (tmp_path / "trial.db").touch()
    with (
        open_store(f"sqlite:///{tmp_path}/trial.db") as store,
        pytest.raises(StoreDamaged, match="it is empty"),
    ):
        begin(store)


def test_a_file_that_is_no_database(tmp_path):
    (tmp_path / "trial.db").write_text("unit,arm\n" * 1000)
    with (
        open_store(f"sqlite:///{tmp_path}/trial.db") as store,
        pytest.raises(StoreDamaged, match="not a database"),
    ):
        store.head("trial")


def test_a_database_of_another_program(tmp_path):
    other = sqlite3.connect(tmp_path / "trial.db")
    other.execute("CREATE TABLE notes (text)")
    other.commit()
    other.close()
    url = f"sqlite:///{tmp_path}/trial.db"
    with open_store(url) as store, pytest.raises(InvalidStore, match="of another program"):
        store.head("trial")
    with pytest.raises(InvalidStore, match="of another program"):
        migrate(url)


def test_a_wal_that_was_cut_loses_no_more_than_was_cut(path, tmp_path):
    """A power cut may cost what was not on the disk yet; the rest is whole, and goes on."""
    store = open_store(f"sqlite:///{path}")
    for number in range(5):
        add(store, b"new %d" % number)
    crashed = tmp_path / "crashed"
    crashed.mkdir()
    for name in ("trial.db", "trial.db-wal"):
        shutil.copy(path.with_name(name), crashed / name)
    store.close()
    cut(crashed / "trial.db-wal", (crashed / "trial.db-wal").stat().st_size - 5000)
    with open_store(f"sqlite:///{crashed}/trial.db") as again:
        stored = payloads(again)
        assert stored[41:] == [b"new %d" % number for number in range(len(stored) - 41)]
        assert 41 <= len(stored) < 46
        add(again, b"it goes on")


def test_flipped_bytes_are_never_taken_for_data(path):
    """Wherever a byte is flipped: rows are as they were, or there is an error, or their chain breaks."""
    whole = path.read_bytes()
    with open_store(f"sqlite:///{path}") as store:
        expected = payloads(store)
    noticed = 0
    for place in range(100, len(whole), len(whole) // 60):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        with open_store(f"sqlite:///{path}") as store:
            try:
                found = payloads(store)
            except (EquipoiseError, AssertionError):
                noticed += 1
            else:
                assert found == expected
    assert noticed >= 15


def test_a_row_that_was_removed_is_noticed(path):
    raw = apsw.Connection(str(path))
    raw.execute("DROP TRIGGER equipoise_events_stay")
    raw.execute("DELETE FROM equipoise_events WHERE sequence = 7")
    raw.close()
    with open_store(f"sqlite:///{path}") as store:
        with pytest.raises(StoreDamaged, match="row 7 of 'trial' is missing"):
            list(store.read("trial"))
        with store.writing("trial") as writer, pytest.raises(StoreDamaged, match="row 7"):
            writer.newer(0)
    raw = apsw.Connection(str(path))
    raw.execute("DELETE FROM equipoise_events WHERE sequence > 39")
    raw.close()
    with open_store(f"sqlite:///{path}") as store, pytest.raises(StoreDamaged, match="row 40"):
        list(store.read("trial", 20))


@pytest.mark.parametrize("nanoseconds", [0, -(10**18), 253_402_300_800 * 10**9])
def test_a_clock_of_no_date(tmp_path, monkeypatch, nanoseconds):
    with open_store(f"sqlite:///{tmp_path}/new.db") as store:
        with monkeypatch.context() as patch:
            patch.setattr("time.time_ns", lambda: nanoseconds)
            with pytest.raises(InvalidArgument, match=r"the store's clock is wrong"):
                begin(store)
        assert store.names() == []
        begin(store)


def test_a_clock_that_is_set_back(store, monkeypatch):
    last = store.head("trial").updated
    monkeypatch.setattr("time.time_ns", lambda: 1_000_000_000_000)
    assert add(store, b"x").updated == last
    monkeypatch.undo()
    assert add(store, b"x").updated > last
