"""Requests of threads, carried out together: Ctrl-C, signal handlers, forks, many of them."""

import os
import signal
import threading
import time

import numpy as np
import pytest
from storing.processes import forked

import equipoise as eq
from equipoise.errors import WriteInProgress
from equipoise.live.experiment.requests import combining
from equipoise.live.experiment.requests.combining import MOST, Combiner, Request


def test_requests_that_wait_are_carried_out_together():
    batches = []

    def carry_out(batch):
        batches.append(len(batch))
        for request in batch:
            request.answer = request.act(), None

    combiner = Combiner(carry_out)
    results = []
    with combiner.lock:
        threads = [
            threading.Thread(
                target=lambda i=i: results.append(combiner.submit(Request(lambda: i, "me", None)))
            )
            for i in range(20)
        ]
        for thread in threads:
            thread.start()
        while len(combiner._waiting) < 20:
            time.sleep(0.001)
    for thread in threads:
        thread.join()
    assert sorted(results) == list(range(20))
    assert batches == [20]
    assert not combiner._waiting


def test_nobody_is_forgotten(monkeypatch):
    """Threads come and go; whoever is not woken would wait for a minute."""
    monkeypatch.setattr(combining, "PATIENCE", 60.0)

    def carry_out(batch):
        time.sleep(0.001)  # others come meanwhile
        for request in batch:
            request.answer = request.actor, None

    combiner, results = Combiner(carry_out), []

    def work(k):
        for i in range(10):
            results.append(combiner.submit(Request(time.time, f"{k}-{i}", None)))

    threads = [threading.Thread(target=work, args=(k,), daemon=True) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=10)
    assert sorted(results) == sorted(f"{k}-{i}" for k in range(8) for i in range(10))


def test_more_than_fit_into_one_batch():
    served = []

    def carry_out(batch):
        assert len(batch) <= MOST
        for request in batch:
            request.answer = None, None
            served.append(request)

    combiner = Combiner(carry_out)
    waiting = [Request(lambda: None, "me", None) for _ in range(MOST + 5)]
    combiner._waiting.extend(waiting)
    combiner.submit(Request(lambda: None, "me", None))
    assert served[: MOST + 5] == waiting


def test_a_waiting_thread_can_be_interrupted():
    combiner = Combiner(lambda batch: [setattr(request, "answer", (None, None)) for request in batch])
    request = Request(lambda: None, "me", None)
    release, held = threading.Event(), threading.Event()

    def hold():
        with combiner.lock:
            held.set()
            release.wait(20)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(20)
    # Polars, which other tests import, has the system go on waiting after a signal.
    signal.siginterrupt(signal.SIGINT, True)
    # To this thread: another one that happens to get the signal would not wake it.
    timer = threading.Timer(0.2, signal.pthread_kill, (threading.get_ident(), signal.SIGINT))
    timer.start()
    begin = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            combiner.submit(request)
        assert time.monotonic() - begin < 10
    finally:
        release.set()
        thread.join()
    assert request.answer is None
    assert not combiner._waiting


def test_a_signal_handler_is_told_not_to_write(memory, problem):
    live = eq.create_experiment(store=memory, name="trial", problem=problem)
    met = []

    def handler(*_):
        try:
            live.tell(1, 0.0)
        except WriteInProgress as error:
            met.append(error)

    def act(turn):
        signal.raise_signal(signal.SIGUSR1)
        return turn.experiment.ask([1.0, 2.0])

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        live._do(act)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert len(met) == 1
    assert live.asked == 1


def test_who_worked_last_waits_for_a_thread_that_reads():
    """It was once told that it had interrupted a change of its own."""

    def carry_out(batch):
        for request in batch:
            request.answer = "done", None

    combiner, is_reading, goes_on = Combiner(carry_out), threading.Event(), threading.Event()
    combiner.submit(Request(lambda: None, "me", None))

    def read():
        with combiner.lock, combiner.change():
            is_reading.set()
            goes_on.wait(10)

    reader = threading.Thread(target=read)
    reader.start()
    assert is_reading.wait(10)
    threading.Timer(0.05, goes_on.set).start()
    assert combiner.submit(Request(lambda: None, "me", None)) == "done"
    assert goes_on.is_set()
    reader.join()


def test_a_child_forgets_the_requests_of_its_parent(file_url, problem):
    """A thread of the parent waits with a request when the process forks: it is carried out once."""
    live = eq.create_experiment(store=file_url, name="trial", problem=problem)
    live.ask([0.0, 0.0], unit="warm")
    waiting = Request(lambda turn: turn.experiment.ask([1.0, 1.0], unit="parent"), "me", None)
    live._ledger.combiner._waiting.append(waiting)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            live.ask([2.0, 2.0], unit="child")
            status = 0
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert [row["unit"] for row in live.units()] == ["warm", "child"]
    live.ask([3.0, 3.0], unit="last")
    assert [row["unit"] for row in live.units()] == ["warm", "child", "parent", "last"]


def test_who_forks_takes_locks_in_the_order_of_those_who_work(file_url, problem):
    """A thread at work has the combiner's lock and wants that of the state; one that forks wants both."""
    live = eq.create_experiment(store=file_url, name="trial", problem=problem)
    live.close()
    live = eq.load_experiment(store=file_url, name="trial")
    at_work, got = threading.Event(), []

    def work():
        with live._lock:
            at_work.set()
            time.sleep(0.2)  # by now the other one forks
            lock = live._ledger.state.experiment._lock
            got.append(lock.acquire(timeout=5))
            lock.release()

    thread = threading.Thread(target=work)
    thread.start()
    at_work.wait()
    _, wait = forked(lambda: None)
    thread.join()
    assert wait() == 0
    assert got == [True]


def test_threads_share_an_experiment(store, name):
    """Counts are exact, ids are given once, and the log decides the same."""
    problem = eq.Problem(arms=["a", "b"], dim=2, budget=500, moment=np.eye(2))
    live = eq.create_experiment(store=store, name=name, problem=problem)
    ids, errors = [], []

    def work(k):
        try:
            rng = np.random.default_rng(k)
            for i in range(10):
                unit = live.ask(rng.normal(size=2), unit=f"{k}-{i}")
                ids.append(unit.id)
                live.tell(unit.unit, float(rng.normal()))
                assert live.receipt.sequence > unit.receipt.sequence
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert sorted(ids) == list(range(1, 81))
    assert live.pending == []
    verified = live.verify()
    assert (verified.rows, verified.decided) == (161, 80)


def test_an_interrupt_between_runs_of_rows_leaves_an_experiment_that_goes_on(monkeypatch):
    with eq.open_store("memory:") as store:
        problem = eq.Problem(arms=["a", "b"], dim=1, budget=500)
        one = eq.create_experiment(store=store, name="trial", problem=problem, policy="uniform")
        other = eq.load_experiment(store=store, name="trial")
        one.ask_many([[1.0]] * 300, [f"u{i}" for i in range(300)])
        fold = other._ledger.state
        take = fold._take

        def interrupted(rows):
            take(rows)
            raise KeyboardInterrupt

        monkeypatch.setattr(fold, "_take", interrupted)
        with pytest.raises(KeyboardInterrupt):
            other.ask([1.0], unit="new")
        monkeypatch.undo()
        assert 1 < fold.sequence < 301
        assert other.ask([1.0], unit="new").id == 301
        assert other.verify().decided == 301
