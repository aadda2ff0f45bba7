"""Calls of a store that end at random moments: nobody is kept out afterwards, and nothing hangs."""

import os
import signal
import threading
from random import Random

import pytest
from storing.processes import forked
from storing.rows import add, begin, payloads

from equipoise.errors import StoreBusy
from equipoise.live.stores.contract import rows_after
from equipoise.live.stores.opening import open_store


@pytest.fixture
def store(tmp_path):
    with open_store(f"sqlite:///{tmp_path}/trial.db", wait=20) as store:
        begin(store)
        yield store


class Late(Exception):
    """Raised by a timer."""


def interrupted_often(act, times):
    """Have a timer end calls at random moments."""

    def end(*arguments):
        raise Late

    before, random = signal.signal(signal.SIGALRM, end), Random(1)
    try:
        for _ in range(times):
            try:
                try:
                    signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-5, 6e-4))
                    for _ in range(200):
                        act()
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0)
            except Late:
                pass
    finally:
        signal.signal(signal.SIGALRM, before)


def in_another_thread(act):
    """Do it in a thread that nobody else waits for for ever."""
    done = []
    thread = threading.Thread(target=lambda: done.append(act()), daemon=True)
    thread.start()
    thread.join(20)
    assert done, "it failed, or hangs"
    return done[0]


@pytest.mark.parametrize("kind", ["sqlite", "memory"])
def test_a_commit_that_is_interrupted_keeps_nobody_out(store, kind):
    if kind == "memory":
        store = open_store("memory:", wait=20)
        begin(store)

    def begin_and_end():
        with store.writing("trial"):
            pass

    # A lock that is kept by one interrupt of fifty would be missed once in 10⁸ runs.
    interrupted_often(begin_and_end, 1000)
    assert in_another_thread(lambda: add(store, b"other")).sequence == 2
    assert payloads(store) == [b"created", b"other"]


def test_nobody_writes_inside_of_writing():
    with open_store("memory:", wait=0.1) as store:
        begin(store)
        with store.writing("trial") as writer:
            writer.append(rows_after(writer.head, [b"outer"], writer.now))
            with pytest.raises(StoreBusy):
                add(store, b"inner")
        add(store, b"after")
        assert payloads(store) == [b"created", b"outer", b"after"]


class Slow:
    """A lock that is free for a while before who gives it back goes on."""

    def __init__(self):
        self.inner, self.is_free, self.may_go_on = threading.RLock(), threading.Event(), threading.Event()
        self.acquire = self.inner.acquire

    def release(self):
        self.inner.release()
        self.is_free.set()
        self.may_go_on.wait(20)


def test_who_is_giving_a_turn_back_keeps_nobody_out():
    with open_store("memory:", wait=20) as store:
        begin(store)
        lock = Slow()
        store._log("trial").turns = (lock,)
        first = threading.Thread(target=add, args=(store, b"first"))
        first.start()
        assert lock.is_free.wait(20)
        lock.release = lock.inner.release
        assert add(store, b"second").sequence == 3
        lock.may_go_on.set()
        first.join()
        assert payloads(store) == [b"created", b"first", b"second"]


def test_a_read_that_is_interrupted_keeps_nobody_out(store):
    def read():
        interrupted_often(lambda: store.head("trial"), 2000)
        os._exit(0 if store.head("trial").sequence == 1 else 1)

    # In a process of its own, as it may hang. What hangs after some 500 interrupts is missed once in 50 runs.
    process, wait = forked(read)
    late = threading.Timer(60, os.kill, (process, signal.SIGKILL))
    late.start()
    assert wait() == 0
    late.cancel()
