"""Forks of a process that has an SQLite file open: the child's locks are its own, and nothing hangs in it."""

import os
import threading
import time

import pytest
from storing.processes import forked
from storing.rows import add, begin, payloads

from equipoise.errors import StoreUnavailable
from equipoise.live.stores.contract import rows_after
from equipoise.live.stores.opening import open_store


def test_a_forked_process_has_connections_of_its_own(store):
    add(store, b"before")
    store.head("trial")

    def act():
        assert not store._writers._idle
        assert not store._readers._idle
        for _ in range(20):
            add(store, b"child")
        store.close()

    children = [forked(act)[1] for _ in range(3)]
    for _ in range(20):
        add(store, b"parent")
    assert [wait() for wait in children] == [0, 0, 0]
    stored = payloads(store)
    assert len(stored) == 2 + 20 + 60
    assert stored.count(b"child") == 60


def test_a_fork_inside_of_writing_does_not_end_the_parents_transaction(store):
    def act():
        sent = []
        writer._send = sent.append
        with pytest.raises(StoreUnavailable, match="fork"):
            writing.__exit__(None, None, None)
        assert not sent  # the connection is the parent's

    writing = store.writing("trial")
    writer = writing.__enter__()
    writer.append(rows_after(writer.head, [b"parent"], writer.now))
    _, wait = forked(act)
    assert wait() == 0
    writing.__exit__(None, None, None)
    assert payloads(store) == [b"created", b"parent"]


def test_a_child_goes_on_when_its_parent_has_closed_the_file(url, store):
    """Else the parent would take itself for the last one, and remove the write-ahead log under the child."""
    add(store, b"parent")
    store.head("trial")
    (has_written, written), (is_closed, closed) = os.pipe(), os.pipe()

    def act():
        add(store, b"child")
        os.write(written, b".")
        os.read(is_closed, 1)
        add(store, b"child")
        store.close()
        with open_store(url) as anew:
            add(anew, b"child")

    _, wait = forked(act)
    os.read(has_written, 1)
    store.close()
    os.write(closed, b".")
    with open_store(url) as other:
        add(other, b"other")
        assert wait() == 0
        assert sorted(payloads(other)) == [*[b"child"] * 3, b"created", b"other", b"parent"]
    for end in (has_written, written, is_closed, closed):
        os.close(end)


def test_a_fork_waits_for_threads_that_are_in_the_library(store):
    """SQLite's own locks are in memory, which a fork copies as it is: one that is held is held for ever."""
    is_reading, seen = threading.Event(), []

    def read():
        with store._readers.using() as held:
            is_reading.set()
            time.sleep(0.2)
            seen.append("read")
            held.sound = True

    def act():
        assert seen == ["read"]
        add(store, b"child")

    thread = threading.Thread(target=read)
    thread.start()
    assert is_reading.wait(20)
    _, wait = forked(act)
    thread.join()
    assert wait() == 0
    assert payloads(store) == [b"created", b"child"]


def test_a_fork_does_not_keep_who_writes_to_one_store_from_reading_another(store, tmp_path):
    """Who forks would take the one that was opened first, and wait for the other."""
    is_writing, results = threading.Event(), []

    def copy(target):
        with target.writing("trial") as writer:
            is_writing.set()
            time.sleep(0.5)  # the fork has begun meanwhile
            rows = [row.payload for row in store.read("trial")]
            writer.append(rows_after(writer.head, rows, writer.now))
        results.append("copied")

    with open_store(f"sqlite:///{tmp_path}/other.db", wait=20) as target:
        begin(target)
        thread = threading.Thread(target=copy, args=(target,))
        thread.start()
        assert is_writing.wait(20)
        began = time.monotonic()
        _, wait = forked(lambda: add(target, b"child"))
        assert time.monotonic() - began < 10
        thread.join()
        assert wait() == 0
        assert results == ["copied"]
        assert payloads(target) == [b"created", b"created", b"child"]
