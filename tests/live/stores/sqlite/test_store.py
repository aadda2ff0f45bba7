"""The SQLite store beyond the contract: settings, processes, Ctrl-C, backups, what is erased."""

import os
import signal
import threading
import time

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from storing.rows import add, begin, payloads

from equipoise.errors import NotOffered, OutputExists, OutputNotWritable, StoreBusy
from equipoise.live.stores.contract import rows_after
from equipoise.live.stores.opening import open_store
from equipoise.live.stores.sqlite.connecting import Connection
from equipoise.live.stores.sqlite.making import PAGE_BYTES
from equipoise.live.stores.sqlite.store import _Writing


def test_every_commit_is_on_the_disk(store):
    with store._writers.using() as held:
        raw = held.connection.raw
        assert raw.pragma("journal_mode") == "wal"
        assert raw.pragma("synchronous") == 2
        assert raw.pragma("journal_size_limit") == 67108864
        assert raw.pragma("cell_size_check") == 1
        assert raw.pragma("secure_delete") == 1


def test_pages_are_small_in_new_files_and_in_copies(store, tmp_path):
    store.backup(tmp_path / "copy.db")
    for name in ("trial.db", "copy.db"):
        raw = apsw.Connection(str(tmp_path / name))
        assert raw.pragma("page_size") == PAGE_BYTES < 4096
        raw.close()


def test_the_tables_refuse_changes(store, tmp_path):
    raw = apsw.Connection(str(tmp_path / "trial.db"))
    for sql, message in [
        ("DELETE FROM equipoise_events", "never deleted"),
        ("UPDATE equipoise_events SET payload = x'00'", "only erased"),
        ("UPDATE equipoise_events SET payload = NULL, salt = NULL, header = x'00'", "only erased"),
        ("DELETE FROM equipoise_experiments", "never deleted"),
        ("UPDATE equipoise_experiments SET mode = 'practice'", "never change"),
        ("INSERT INTO equipoise_events SELECT * FROM equipoise_events", "UNIQUE"),
    ]:
        with pytest.raises(apsw.ConstraintError, match=message):
            raw.execute(sql)
    raw.close()


@pytest.fixture
def heads_read(monkeypatch):
    """The experiments whose heads were read from the file."""
    read, seen = _Writing._read_head, []

    def noted(self, connection):
        seen.append(self._name)
        return read(self, connection)

    monkeypatch.setattr(_Writing, "_read_head", noted)
    return seen


def test_a_head_is_read_again_where_somebody_else_has_written(store, url, heads_read):
    begin(store, "second")
    add(store, b"one")
    assert heads_read == ["trial"]
    add(store, b"two")
    add(store, b"three")
    assert heads_read == ["trial"]
    add(store, b"x", name="second")
    add(store, b"four")
    add(store, b"y", name="second")
    assert heads_read == ["trial", "second"]
    with open_store(url) as other:
        add(other, b"five")
        del heads_read[:]
        assert add(store, b"six").sequence == 7
        assert heads_read == ["trial"]
        add(other, b"z", name="second")  # another experiment is a change, too
        add(store, b"seven")
        assert heads_read[-1] == "trial"
        store.save_snapshot("trial", 1, bytes(32), "label", b"state")
        assert add(store, b"eight").sequence == 9
    words = b"created one two three four five six seven eight"
    assert payloads(store) == words.split()


def test_a_head_is_read_again_after_a_commit_that_failed(store, heads_read):
    add(store, b"one")

    def fail():
        with store.writing("trial") as writer:
            writer.append(rows_after(writer.head, [b"two"], writer.now))
            writer.flush()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert add(store, b"three").sequence == 3
    assert payloads(store) == [b"created", b"one", b"three"]


def test_closing_leaves_one_file(url, tmp_path):
    with open_store(url) as store:
        begin(store)
        add(store, b"x")
    assert [path.name for path in tmp_path.iterdir()] == ["trial.db"]


def test_another_process_that_writes_is_waited_for_and_not_for_ever(url, store):
    with open_store(url, wait=0.2) as other, store.writing("trial") as writer:
        begin_time = time.monotonic()
        with pytest.raises(StoreBusy, match=r"trial\.db for 0\.2 s"):
            add(other, b"x")
        assert 0.2 <= time.monotonic() - begin_time < 5
        assert other.head("trial").sequence == 1  # readers do not wait
        writer.append(rows_after(writer.head, [b"first"], writer.now))
    assert payloads(store) == [b"created", b"first"]


def test_ctrl_c_ends_the_waiting_and_leaves_no_lock(url, store):
    with open_store(url, wait=60) as other:
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


def test_ctrl_c_anywhere_in_a_commit_leaves_all_or_nothing(store, url):
    """Interrupts fall at moments that move through the call; others can write at once after each."""
    with open_store(url, wait=5) as other:
        expected = 1
        for step in range(40):
            timer = threading.Timer(step * 20e-6, os.kill, (os.getpid(), signal.SIGINT))
            before = store.head("trial").sequence
            try:
                timer.start()
                try:
                    add(store, b"a", b"b")
                finally:
                    timer.join()
                    time.sleep(0)
            except KeyboardInterrupt:
                pass
            after = other.head("trial").sequence
            assert after - before in (0, 2)
            expected = add(other, b"c").sequence
        assert len(payloads(store)) == expected


def test_a_commit_that_cannot_be_remembered_is_stored_all_the_same(store, monkeypatch):
    add(store, b"one")

    def fail(*arguments):
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(Connection, "leave_head", fail)
        assert add(store, b"two").sequence == 3
    assert add(store, b"three").sequence == 4
    assert payloads(store) == [b"created", b"one", b"two", b"three"]


def test_backup_while_others_write(store, tmp_path):
    stop = threading.Event()

    def write():
        while not stop.is_set():
            add(store, b"x" * 1000)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        time.sleep(0.05)
        store.backup(tmp_path / "copy.db")
    finally:
        stop.set()
        thread.join()
    with open_store(f"sqlite:///{tmp_path}/copy.db") as copy:
        copied = payloads(copy)
        assert copied == payloads(store)[: len(copied)]
        add(copy, b"it goes on")
    with pytest.raises(OutputExists, match=r"copy\.db"):
        store.backup(tmp_path / "copy.db")
    with pytest.raises(OutputNotWritable, match=r"missing/copy\.db"):
        store.backup(tmp_path / "missing" / "copy.db")
    assert not [path for path in tmp_path.iterdir() if path.name.endswith(".new")]


def test_memory_has_no_backup(tmp_path):
    with pytest.raises(NotOffered, match="sqlite"):
        open_store("memory:").backup(tmp_path / "copy.db")


@pytest.mark.parametrize("size", [40, 20_000])
def test_what_is_erased_is_not_in_the_files(store, tmp_path, size):
    secret = os.urandom(size)
    head = add(store, b"other", secret, b"another")
    salt = list(store.read("trial"))[2].salt
    store.save_snapshot("trial", head.sequence, head.hash, "label", b"state" + secret)
    with store.writing("trial") as writer:
        writer.erase([3])
    store.drop_snapshots("trial")
    store.scrub()
    for path in tmp_path.iterdir():
        assert secret[:16] not in path.read_bytes()
        assert secret[-16:] not in path.read_bytes()
        assert salt not in path.read_bytes()
    # Reading a file in another way than SQLite's drops the locks of this process.
    store.close()


def test_a_snapshot_that_was_not_finished_is_not_read_and_is_removed_later(store, monkeypatch):
    head = add(store, b"x")
    store.save_snapshot("trial", 1, bytes(32), "old", b"old")

    class Killed(BaseException):
        pass

    def die(*steps, **only_if):
        if "INSERT INTO equipoise_snapshot_chunks" in steps[0][0]:
            raise Killed
        return change(*steps, **only_if)

    change = store._change
    with monkeypatch.context() as patch:
        patch.setattr(store, "_change", die)
        with pytest.raises(Killed):
            store.save_snapshot("trial", head.sequence, head.hash, "torn", b"torn" * 1000)
    assert store.load_snapshot("trial").label == "old"
    store._change(("UPDATE equipoise_snapshots SET started = 0 WHERE finished = 0", ()))
    store.save_snapshot("trial", head.sequence, head.hash, "new", b"new")
    assert store.load_snapshot("trial").label == "new"
    assert store._select("SELECT count(*) FROM equipoise_snapshots", ()) == [(1,)]
    assert store._select("SELECT count(*) FROM equipoise_snapshot_chunks", ()) == [(1,)]


def test_a_damaged_snapshot_is_not_used(store):
    store.save_snapshot("trial", 1, bytes(32), "label", b"state")
    store._change(("UPDATE equipoise_snapshot_chunks SET data = CAST('stata' AS BLOB)", ()))
    assert store.load_snapshot("trial") is None
    store.save_snapshot("trial", 1, bytes(32), "label", b"state")
    store._change(("UPDATE equipoise_snapshots SET label = 'other'", ()))
    assert store.load_snapshot("trial") is None


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["append", "fail", "erase", "snapshot", "read"]), st.integers(0, 2), st.integers(1, 3)
    ),
    max_size=12,
)


@given(steps=STEPS)
@settings(max_examples=12)
def test_any_order_of_writers_is_one_history(tmp_path_factory, steps):
    """Three stores on one file and one in memory do the same; all of them tell the same at the end."""
    url = f"sqlite:///{tmp_path_factory.mktemp('steps')}/trial.db"
    stores = [open_store(url) for _ in range(3)]
    model = open_store("memory:")
    for one in (stores[0], model):
        begin(one, payload=b"0")
    for number, (act, who, count) in enumerate(steps):
        for one in (stores[who], model):
            before = one.head("trial")
            if act == "snapshot":
                one.save_snapshot("trial", before.sequence, bytes(32), f"{number}", b"s" * count)
                continue
            try:
                with one.writing("trial") as writer:
                    assert writer.head == before
                    if act in ("append", "fail"):
                        writer.append(rows_after(before, [b"%d" % number] * count, writer.now))
                    if act == "erase":
                        writer.erase([min(count, before.sequence)])
                    if act == "fail":
                        raise ZeroDivisionError
            except ZeroDivisionError:
                assert one.head("trial") == before
    for one in stores:
        assert payloads(one) == payloads(model)
        ours, theirs = one.load_snapshot("trial"), model.load_snapshot("trial")
        # Two of the same number: the stores may keep either.
        assert (ours and ours.sequence) == (theirs and theirs.sequence)
        one.close()
