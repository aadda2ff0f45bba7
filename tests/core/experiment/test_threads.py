"""Threads and processes that share an experiment."""

from __future__ import annotations

import os
import pickle
import sys
import threading
import time
import warnings

import numpy as np
import pytest
from inner_state import fingerprint

import equipoise as eq
from equipoise.core.experiment.locking import new_lock

# Made-up outcomes are bent now and then.
pytestmark = pytest.mark.filterwarnings("ignore::equipoise.errors.FitWarning")

DIM, UNITS, THREADS = 4, 640, 8


@pytest.fixture(autouse=True)
def often():
    """Threads take turns as often as can be."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def run(*works):
    """All at once; what any of them raises is raised here."""
    failures, gate = [], threading.Barrier(len(works))

    def guarded(work):
        gate.wait()
        try:
            work()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(work,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
        assert not thread.is_alive()
    if failures:
        raise failures[0]


@pytest.mark.parametrize("spec", ["trace-ucb", "trace-gain:chance=0.1", "sparse-trace-ucb:screen=20"])
def test_threads_ask_tell_and_read_at_once(spec):
    problem = eq.Problem(["a", "b", "c"], DIM, budget=UNITS + 40, caps={"c": UNITS + 40})
    experiment = eq.Experiment(problem, spec, seed=3)
    given, lost = {}, []
    done = threading.Event()

    def outcome(x, arm):
        return float(x[0] + 2 * x[2] + "abc".index(arm))

    def work(number):
        rng = np.random.default_rng(number)
        for turn in range(UNITS // 6 // 10):
            contexts = rng.normal(size=(10, DIM))
            together = turn % 3 == 0
            units = experiment.ask_many(contexts) if together else [experiment.ask(x) for x in contexts]
            for x, unit in zip(contexts, units, strict=True):
                assert unit.id not in given
                given[unit.id] = (x, unit.arm)
            for x, unit in zip(contexts, units, strict=True):
                if rng.random() < 0.1:
                    experiment.lose(unit.id)
                    lost.append(unit.id)
                else:
                    experiment.tell(unit.id, outcome(x, unit.arm))

    def read():
        while not done.is_set():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                estimates = experiment.estimates()
            assert len(estimates) == 3
            asked = experiment.asked
            assert asked <= sum(experiment.counts.values()) + len(lost) + 60
            for arm in "abc":
                for x, y in zip(*experiment.data(arm), strict=True):
                    assert y == outcome(x, arm)
            twin = pickle.loads(pickle.dumps(experiment))
            assert twin.asked + twin.remaining == UNITS + 40
            assert len(experiment.pending) <= 60
            repr(experiment)

    def works():
        run(*(lambda number=number: work(number) for number in range(6)))
        done.set()

    def readers():
        try:
            read()
        finally:
            done.set()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run(works, readers, readers)
    assert sorted(given) == list(range(1, experiment.asked + 1))
    record = experiment._record
    for id, (x, arm) in given.items():
        np.testing.assert_array_equal(record.contexts[id - 1], x)
        assert problem.arms[record.state.rows["arm"][id - 1]] == arm
    assert experiment.pending == []
    assert sum(experiment.counts.values()) + len(lost) == len(given)
    told = sum(len(experiment.data(arm)[1]) for arm in "abc")
    assert told + len(lost) == len(given)
    assert fingerprint(pickle.loads(pickle.dumps(experiment))) == fingerprint(experiment)  # all counts agree


def test_asking_goes_on_while_estimates_are_made(monkeypatch):
    experiment = eq.Experiment(eq.Problem(2, 2, budget=50, moment=np.eye(2)), "trace-ucb", seed=1)
    for t in range(20):
        experiment.tell(experiment.ask([1.0, t % 3]).id, float(t % 5))
    before = experiment.estimates(estimator="ridge")
    inside, go_on = threading.Event(), threading.Event()
    from equipoise.core.experiment import summary as module

    original = module.estimate_record

    def slow(*arguments, **options):
        inside.set()
        assert go_on.wait(30)
        return original(*arguments, **options)

    monkeypatch.setattr(module, "estimate_record", slow)
    found = []

    def change():
        assert inside.wait(30)
        experiment.ask([1.0, 2.0])
        experiment.tell(21, 400.0)
        experiment.correct(3, -90.0)
        go_on.set()

    run(lambda: found.append(experiment.estimates(estimator="ridge")), change)
    for one, other in zip(found[0], before, strict=True):
        assert one.coef.tobytes() == other.coef.tobytes()
        assert one.count == other.count


def test_an_exception_gives_the_lock_back():
    experiment = eq.Experiment(eq.Problem(2, 2, budget=6, moment=np.eye(2)), "trace-ucb", seed=1)
    for _ in range(6):
        experiment.ask([1.0, 0.5])
    for call in (
        lambda: experiment.ask([1.0, 0.5]),
        lambda: experiment.ask_many([[1.0, 0.5]]),
        lambda: experiment.tell(99, 1.0),
        lambda: experiment.close_arm("nobody"),
        lambda: experiment.add_arm("arm-1"),
        lambda: experiment.estimates(estimator="nonsense"),
        lambda: experiment.data("nobody"),
    ):
        with pytest.raises(eq.EquipoiseError):
            call()
    run(lambda: experiment.tell(1, 1.0))
    assert not experiment._changing.locked()


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")


@needs_fork
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_fork_leaves_no_lock_and_no_half_change_behind():
    experiment = eq.Experiment(eq.Problem(3, 8, budget=100_000), "trace-gain", seed=1)
    contexts = np.random.default_rng(1).normal(size=(50, 8))
    experiment.tell(experiment.ask(contexts[0]).id, 1.0)
    stop = threading.Event()

    def work():
        while not stop.is_set():
            for unit in experiment.ask_many(contexts[:5]):
                experiment.tell(unit.id, 0.5)

    def fork():
        try:
            for _ in range(10):
                child = os.fork()
                if child == 0:
                    code = 1
                    try:
                        unit = experiment.ask(contexts[1])
                        experiment.tell(unit.id, 2.0)
                        pickle.loads(pickle.dumps(experiment))  # checks all counts
                        code = 0
                    finally:
                        os._exit(code)
                assert exit_code(child) == 0
        finally:
            stop.set()

    run(work, work, fork)
    assert experiment.asked > 1


def exit_code(child, seconds=20.0):
    """Of a child process, which is ended if it hangs."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return None


@needs_fork
def test_a_fork_waits_for_who_holds_a_lock():
    lock, inside = new_lock(), threading.Event()
    held = []

    def hold():
        with lock:
            inside.set()
            time.sleep(0.2)
            held.append(time.monotonic())

    thread = threading.Thread(target=hold)
    thread.start()
    assert inside.wait(10)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        child = os.fork()
    if child == 0:
        os._exit(0 if lock.acquire(timeout=5) else 1)
    after = time.monotonic()
    assert exit_code(child) == 0
    assert after >= held[0]
    thread.join()
    assert lock.acquire(timeout=1)
    lock.release()
