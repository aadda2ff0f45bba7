"""What is compiled ahead: nothing for trials that are kept, and nothing twice."""

import contextlib
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from emulation.device import emulated_gpu
from emulation.programs import why_not

import equipoise as eq
from equipoise.lab.gpu import ahead

pytestmark = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))

SCENARIO = eq.GaussianScenario(noise=[0.5, 2.0], dim=2, budget=30, estimator="ridge")
POLICIES = ["uniform", "trace-ucb"]


@pytest.fixture
def asked(monkeypatch):
    """Policies whose programs were asked for."""
    seen, tasks = [], ahead._tasks

    def watched(points, device):
        points = [(arena, list(policies)) for arena, policies in points]
        seen.extend((arena.dim, policy.spec) for arena, policies in points for policy in policies)
        return tasks(points, device)

    monkeypatch.setattr(ahead, "_tasks", watched)
    with emulated_gpu():
        yield seen


def run(trials, folder, policies=POLICIES, device="cuda"):
    return eq.simulate(SCENARIO, policies, trials=trials, device=device, checkpoint=folder)


def test_a_finished_run_asks_for_no_program(asked, tmp_path):
    here = run(6, tmp_path, device="cpu")
    there = run(6, tmp_path)
    assert asked == []
    for policy in POLICIES:
        np.testing.assert_array_equal(here[policy].errors, there[policy].errors)


def test_only_policies_that_lack_trials_are_asked_for(asked, tmp_path):
    run(6, tmp_path, ["uniform"], device="cpu")
    run(6, tmp_path)
    assert asked == [(2, "trace-ucb")]
    asked.clear()
    run(8, tmp_path)
    assert asked == [(2, "uniform"), (2, "trace-ucb")]


def test_trials_that_are_damaged_run_again(asked, tmp_path):
    here = run(6, tmp_path, ["uniform"], device="cpu")["uniform"].errors
    (file,) = tmp_path.glob("*.npz")
    file.write_bytes(file.read_bytes()[:100])
    np.testing.assert_array_equal(run(6, tmp_path, ["uniform"])["uniform"].errors, here)


def test_trials_between_which_some_are_missing_are_not_all_there(asked, tmp_path):
    from equipoise.lab.running.checkpoint import Part, open_checkpoint
    from equipoise.lab.trial.ledger import new_ledger

    store = open_checkpoint(tmp_path, SCENARIO, {"uniform": eq.parse_policy("uniform")}, 0)
    for first, count in ((0, 4), (6, 4), (2, 2)):
        store.write({0: Part(first, new_ledger(count, 2), 0.0)})
    assert [store.has(0, trials) for trials in (1, 4, 5, 10)] == [True, True, False, False]
    store.write({0: Part(3, new_ledger(3, 2), 0.0)})
    assert [store.has(0, trials) for trials in (10, 11)] == [True, False]


def test_a_finished_sweep_asks_for_no_program(asked, tmp_path):
    points = {"dim": [2, 3], "policies": POLICIES, "checkpoint": tmp_path}
    eq.sweep(SCENARIO, trials=6, **points)
    before = sorted(tmp_path.iterdir())
    eq.sweep(SCENARIO, trials=6, device="cuda", **points)
    assert asked == []
    assert sorted(tmp_path.iterdir()) == before
    eq.sweep(SCENARIO, trials=6, device="cuda", **{**points, "dim": [2, 3, 4]})
    assert set(asked) == {(4, policy) for policy in POLICIES}


class Workshop:
    """In place of helpers, which take too long: what is done, and tasks that wait until they are let go."""

    def __init__(self, monkeypatch):
        self.done, self.held, self.dies = [], {}, False
        self._kept = {}
        monkeypatch.setattr(ahead, "_processors", lambda: 4)
        monkeypatch.setattr(ahead._Helpers, "start", lambda helpers: contextlib.nullcontext())
        monkeypatch.setattr(ahead, "_does", lambda helper, task: self._do(task))
        monkeypatch.setattr(ahead.storage, "read", self._kept.get)

    def _do(self, task):
        held = self.held.get(task["scenario"]["dim"])
        if held is not None:
            held.wait(PATIENCE)
        if self.dies:
            return False
        time.sleep(0.02)
        self.done.append(task["kind"])
        self._kept[ahead._done(ahead.open_device(), task)] = b""
        return True


PATIENCE = 30.0  # seconds


@pytest.fixture
def workshop(monkeypatch):
    with emulated_gpu():
        yield Workshop(monkeypatch)


def points(*dims):
    return [(SCENARIO.replace(dim=dim), POLICIES) for dim in dims]


def test_threads_that_need_the_same_programs_compile_them_once(workshop):
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda _: ahead.compile_ahead(points(2, 3), "cuda"), range(3)))
    assert len(workshop.done) == len(set(workshop.done)) == 14
    assert ahead._ROUNDS == []


def test_who_asks_meanwhile_waits_for_what_it_needs_alone(workshop):
    workshop.held[3] = threading.Event()
    with ahead.compiled_meanwhile(points(2, 3), "cuda") as wait:
        ahead.compile_ahead(points(2), "cuda")
        assert len(workshop.done) == 8  # and nothing of three features, which is held
        with ThreadPoolExecutor(1) as pool:
            asked = pool.submit(ahead.compile_ahead, points(3), "cuda")
            time.sleep(0.1)
            assert not asked.done()
            workshop.held[3].set()
            asked.result(PATIENCE)
        wait()
    assert len(workshop.done) == len(set(workshop.done)) == 14


def test_nobody_waits_for_a_helper_that_has_died(workshop):
    workshop.dies = True
    ahead.compile_ahead(points(2, 3), "cuda")
    assert workshop.done == []
    assert ahead._ROUNDS == []


def test_nobody_waits_where_no_helper_can_be_started(workshop, monkeypatch):
    def start(helpers):
        raise OSError("no more processes")

    monkeypatch.setattr(ahead._Helpers, "start", start)
    ahead.compile_ahead(points(2, 3), "cuda")
    assert workshop.done == []


def test_a_round_that_cannot_begin_keeps_nobody_waiting(workshop, monkeypatch):
    workshop.held[2] = threading.Event()
    start, started = threading.Thread.start, []

    def some_start(thread):
        started.append(thread)
        if len(started) == 3:
            raise RuntimeError("can't start new thread")
        start(thread)

    def end(helpers):
        workshop.dies = True
        workshop.held[2].set()

    monkeypatch.setattr(ahead._Helpers, "end", end)
    monkeypatch.setattr(threading.Thread, "start", some_start)
    with pytest.raises(RuntimeError, match="can't start"):
        ahead.compile_ahead(points(2, 3), "cuda")
    assert ahead._ROUNDS == []
    assert len(started) == 3


def test_who_waits_for_a_round_that_is_given_up_goes_on(workshop, monkeypatch):
    workshop.held[2] = workshop.held[3] = threading.Event()

    def end(helpers):
        workshop.dies = True
        workshop.held[2].set()

    monkeypatch.setattr(ahead._Helpers, "end", end)
    with ThreadPoolExecutor(1) as pool:
        with ahead.compiled_meanwhile(points(2, 3), "cuda"):
            asked = pool.submit(ahead.compile_ahead, points(3), "cuda")
            time.sleep(0.1)
            assert not asked.done()
        asked.result(PATIENCE)
    assert ahead._ROUNDS == []


def test_small_gpus_have_no_memory_for_helpers(workshop, monkeypatch):
    device = ahead.open_device()
    monkeypatch.setattr(device, "free_bytes", lambda: 7 * 2**30)
    ahead.compile_ahead(points(2, 3), "cuda")
    assert workshop.done == []
    monkeypatch.setattr(device, "free_bytes", lambda: 8 * 2**30)
    ahead.compile_ahead(points(2, 3), "cuda")
    assert len(workshop.done) == 14


def test_what_is_not_there_in_the_end_is_given_up(workshop, monkeypatch):
    workshop.held[3] = threading.Event()
    before = threading.active_count()

    def end(helpers):  # helpers that are killed answer no more
        workshop.dies = True
        workshop.held[3].set()

    monkeypatch.setattr(ahead._Helpers, "end", end)
    with pytest.raises(KeyboardInterrupt), ahead.compiled_meanwhile(points(3), "cuda"):
        raise KeyboardInterrupt
    assert workshop.done == []
    assert ahead._ROUNDS == []
    assert threading.active_count() == before


def test_without_a_folder_all_is_asked_for(asked):
    eq.sweep(SCENARIO, dim=[2], policies=["uniform"], trials=2, device="cuda")
    assert set(asked) == {(2, "uniform")}
