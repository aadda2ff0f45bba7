"""How processes wait for SQLite's lock: one in the seat next to it, the others away; none of it is needed."""

import os
import signal
import threading
import time
from pathlib import Path

import pytest
from storing.processes import forked
from storing.rows import add, begin, payloads

from equipoise.errors import StoreBusy
from equipoise.live.stores.opening import open_store
from equipoise.live.stores.sqlite import waiting
from equipoise.live.stores.sqlite.waiting import Patience, Seat


@pytest.fixture
def other(url, store):
    with open_store(url, wait=20) as other:
        other.head("trial")
        yield other


@pytest.fixture
def seat(store, tmp_path):
    """The seat of the file, as another process has or wants it."""
    seat = Seat(f"{tmp_path}/trial.db-wal")
    yield seat
    seat.close()


def while_held(store, act, seconds=0.05):
    """Do something that waits in a thread, while the store is held."""
    thread = threading.Thread(target=act)
    with store.writing("trial"):
        thread.start()
        time.sleep(seconds)
    released = time.monotonic()
    thread.join()
    return time.monotonic() - released


def test_one_has_the_seat(seat, store, tmp_path):
    another = Seat(f"{tmp_path}/trial.db-wal")
    assert seat.take()
    assert not another.take()
    seat.leave()
    assert another.take()
    another.leave()
    assert seat.take()
    another.close()


def test_who_waits_has_the_seat_and_leaves_it(store, other, seat):
    seen = []

    def look():
        time.sleep(0.03)
        seen.append(seat.take())

    looking = threading.Thread(target=look)
    looking.start()
    while_held(store, lambda: add(other, b"x"), 0.08)
    looking.join()
    assert seen == [False]
    assert seat.take()
    assert payloads(store) == [b"created", b"x"]


def test_a_process_that_is_killed_in_the_seat_has_it_no_longer(seat, store):
    reading, writing = os.pipe()

    def sit():
        store.head("trial")  # a fork has closed the file, and with it went the -wal
        assert seat.take()
        os.write(writing, b"x")
        time.sleep(60)

    seat.close()  # the child opens it for itself
    process, wait = forked(sit)
    assert os.read(reading, 1) == b"x"
    assert not seat.take()
    os.kill(process, signal.SIGKILL)
    assert wait() == -signal.SIGKILL
    assert seat.take()
    os.close(reading)
    os.close(writing)


def test_a_seat_that_is_never_given_back_only_costs_time(store, other, seat):
    assert seat.take()
    # Tries come every second. 10 s: a thread that is not run for that long fails it.
    assert while_held(store, lambda: add(other, b"x")) < 10
    assert payloads(store) == [b"created", b"x"]


@pytest.mark.parametrize("missing", ["flock", "file"])
def test_where_there_are_no_seats_everybody_has_one(store, other, monkeypatch, tmp_path, missing):
    if missing == "flock":
        monkeypatch.setattr(waiting, "fcntl", None)
    else:
        monkeypatch.setattr(os, "O_RDONLY", os.O_RDONLY | os.O_DIRECTORY)  # which the log is not
    while_held(store, lambda: add(other, b"x"))
    assert payloads(store) == [b"created", b"x"]
    assert Seat(f"{tmp_path}/missing").take()


class Client:
    """Somebody who waits for the lock."""

    def __init__(self, prepare, served=None):
        self.prepare = prepare
        self._served = served

    def can_be_served(self):
        return self._served is not None

    def wait_for_others(self):
        time.sleep(0.001)
        return self._served.pop(0)


def test_what_can_be_done_before_is_done_outside(store, other):
    calls = []
    client = Client(lambda: calls.append(other.head("trial").sequence))

    def write():
        with other.writing("trial", client):
            assert calls

    while_held(store, write)
    assert set(calls) == {1}
    calls.clear()
    with other.writing("trial", client):  # nobody is waited for
        assert not calls


def test_who_is_served_by_others_no_longer_waits(store, other, seat):
    calls, refused = [], []
    client = Client(lambda: calls.append("prepared"), served=[False, False, True])

    def write():
        try:
            with other.writing("trial", client):
                raise AssertionError
        except StoreBusy as error:
            refused.append(error)

    thread = threading.Thread(target=write)
    with store.writing("trial"):
        thread.start()
        thread.join(10)
        assert len(refused) == 1
    assert calls == ["prepared"] * 2
    assert seat.take()  # nobody sat down
    add(other, b"x")
    assert payloads(store) == [b"created", b"x"]


@pytest.mark.parametrize("served", [None, [False]])
def test_an_error_while_waiting_leaves_seat_and_lock(store, other, seat, served):
    def fail():
        raise ZeroDivisionError

    def write():
        with pytest.raises(ZeroDivisionError), other.writing("trial", Client(fail, served)):
            raise AssertionError

    while_held(store, write)
    assert seat.take()
    seat.leave()
    add(other, b"x")
    assert payloads(store) == [b"created", b"x"]


def test_who_gives_up_leaves_the_seat(url, store, seat):
    with open_store(url, wait=0.1) as hasty, store.writing("trial"):
        with pytest.raises(StoreBusy):
            add(hasty, b"x")
        assert seat.take()


def test_who_has_just_written_lets_others_go_on(seat):
    patience = Patience(5.0)
    patience.seat = seat
    fresh, just = [], []
    for took, last in [(fresh, float("-inf")), (just, None)] * 5:
        seat.take()
        seat.leave()
        seat.last = seat.last if last is None else last
        began = time.monotonic()
        assert patience(0)  # takes the seat
        assert patience(1)  # waits in it
        took.append(time.monotonic() - began)
    seat.leave()
    assert min(just) >= 0.004
    # Fails where none of five sleeps of at most 0.2 ms ends within 4 ms.
    assert min(fresh) < 0.004


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="open files are not listed here")
def test_no_file_stays_open(url, tmp_path):
    def count():
        return sum(str(tmp_path) in os.path.realpath(entry) for entry in Path("/proc/self/fd").iterdir())

    with open_store(url) as store, open_store(url) as other:
        begin(store)
        while_held(store, lambda: add(other, b"x"))
        assert count() > 4
    assert count() == 0
    assert [path.name for path in tmp_path.iterdir()] == ["trial.db"]
