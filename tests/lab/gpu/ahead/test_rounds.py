"""Programs compiled by several helpers at once: nothing twice, and nobody waits in vain."""

import contextlib
import dataclasses
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from emulation.device import emulated_gpu
from emulation.programs import why_not

import equipoise as eq
from equipoise.lab.gpu.ahead import compile_ahead, compiled_meanwhile, rounds
from equipoise.lab.gpu.ahead.helpers import Helpers
from equipoise.lab.gpu.ahead.tasks import done_name
from equipoise.studies.runner import Runner

pytestmark = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))

SCENARIO = eq.GaussianScenario(noise=[0.5, 2.0], dim=2, budget=30, estimator="ridge")
POLICIES = ["uniform", "trace-ucb"]


class Workshop:
    """In place of helpers, which take too long: what is done, and tasks that wait until they are let go."""

    def __init__(self, monkeypatch):
        self.drafted, self.done, self.held, self.dies = [], [], {}, False
        self._kept = {}
        # One for every task: a helper that is held keeps no other task waiting.
        monkeypatch.setattr(rounds, "_processors", lambda: 16)
        monkeypatch.setattr(Helpers, "start", lambda helpers: contextlib.nullcontext())
        monkeypatch.setattr(rounds, "does", lambda helper, step: self._do(*step))
        monkeypatch.setattr(rounds, "family_of", lambda task, device: named(task))
        monkeypatch.setattr(rounds.storage, "read", self._kept.get)

    def _do(self, task, is_draft):
        if is_draft:
            self.drafted.append(named(task))
            return not self.dies
        assert named(task) in self.drafted
        held = self.held.get(task["scenario"]["dim"])
        if held is not None and task["what"] not in OF_ALL_SIZES:
            held.wait(PATIENCE)
        if self.dies:
            return False
        time.sleep(0.02)
        self.done.append(task["kind"])
        self._kept[done_name(rounds.open_device(), task)] = b""
        return True


def named(task):
    """What it is and for whom, in place of its family."""
    return f"{task['what']} {task['policy']}"


PATIENCE = 30.0  # seconds
OF_ALL_SIZES = "turns", "elasticities"  # programs that serve all numbers of features


@pytest.fixture
def workshop(monkeypatch):
    with emulated_gpu() as device:
        monkeypatch.setattr(device, "free_bytes", lambda: 2**37)
        yield Workshop(monkeypatch)


def points(*dims):
    return [(SCENARIO.replace(dim=dim), POLICIES) for dim in dims]


def test_threads_that_need_the_same_programs_compile_them_once(workshop):
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda _: compile_ahead(points(2, 3), "cuda"), range(3)))
    assert len(workshop.done) == len(set(workshop.done)) == 14
    assert rounds._ROUNDS == []


def test_who_asks_meanwhile_waits_for_what_it_needs_alone(workshop):
    workshop.held[3] = threading.Event()
    with compiled_meanwhile(points(2, 3), "cuda") as programs:
        compile_ahead(points(2), "cuda")
        assert len(workshop.done) == 8  # and nothing of three features, which is held
        with ThreadPoolExecutor(1) as pool:
            asked = pool.submit(compile_ahead, points(3), "cuda")
            time.sleep(0.1)
            assert not asked.done()
            workshop.held[3].set()
            asked.result(PATIENCE)
        programs.wait()
    assert len(workshop.done) == len(set(workshop.done)) == 14


def test_points_whose_programs_are_there_come_first(workshop):
    workshop.held[3] = threading.Event()
    with compiled_meanwhile(points(3, 2, 3, 2), "cuda") as programs:
        order = programs.ready_first()
        assert [next(order), next(order)] == [1, 3]
        with ThreadPoolExecutor(1) as pool:
            coming = pool.submit(list, order)
            time.sleep(0.1)
            assert not coming.done()
            workshop.held[3].set()
            assert coming.result(PATIENCE) == [0, 2]


def test_points_that_nobody_compiles_for_come_as_they_are(workshop):
    with compiled_meanwhile([*points(3, 2), (SCENARIO, [])], "cpu") as programs:
        assert list(programs.ready_first()) == [0, 1, 2]
    workshop.dies = True
    with compiled_meanwhile([*points(3, 2), (SCENARIO, [])], "cuda") as programs:
        assert sorted(programs.ready_first()) == [0, 1, 2]
    assert workshop.done == []


def test_no_gpu_is_opened_for_nothing(workshop, monkeypatch):
    monkeypatch.setattr(rounds, "open_device", None)
    with compiled_meanwhile([(SCENARIO, []), (SCENARIO, [])], "auto") as programs:
        assert list(programs.ready_first()) == [0, 1]


def test_a_sweep_runs_first_what_can_run(workshop, monkeypatch):
    workshop.held[2], ran = threading.Event(), []
    run = Runner.result

    def watched(runner, scenario, *arguments, **options):
        ran.append(scenario.dim)
        workshop.held[2].set()
        return run(dataclasses.replace(runner, device="cpu"), scenario, *arguments, **options)

    monkeypatch.setattr(Runner, "result", watched)
    found = eq.sweep(SCENARIO, dim=[2, 3], policies=POLICIES, trials=2, device="cuda")
    assert ran == [3, 2]
    assert [at["dim"] for at, _ in found] == [2, 3]
    assert [result.scenario.dim for _, result in found] == [2, 3]


def test_nobody_waits_for_a_helper_that_has_died(workshop):
    workshop.dies = True
    compile_ahead(points(2, 3), "cuda")
    assert workshop.done == []
    assert rounds._ROUNDS == []


def test_nobody_waits_where_no_helper_can_be_started(workshop, monkeypatch):
    def start(helpers):
        raise OSError("no more processes")

    monkeypatch.setattr(Helpers, "start", start)
    compile_ahead(points(2, 3), "cuda")
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

    monkeypatch.setattr(Helpers, "end", end)
    monkeypatch.setattr(threading.Thread, "start", some_start)
    with pytest.raises(RuntimeError, match="can't start"):
        compile_ahead(points(2, 3), "cuda")
    assert rounds._ROUNDS == []
    assert len(started) == 3


def test_who_waits_for_a_round_that_is_given_up_goes_on(workshop, monkeypatch):
    workshop.held[2] = workshop.held[3] = threading.Event()

    def end(helpers):
        workshop.dies = True
        workshop.held[2].set()

    monkeypatch.setattr(Helpers, "end", end)
    with ThreadPoolExecutor(1) as pool:
        with compiled_meanwhile(points(2, 3), "cuda"):
            asked = pool.submit(compile_ahead, points(3), "cuda")
            time.sleep(0.1)
            assert not asked.done()
        asked.result(PATIENCE)
    assert rounds._ROUNDS == []


def test_small_gpus_have_no_memory_for_helpers(workshop, monkeypatch):
    device = rounds.open_device()
    monkeypatch.setattr(device, "free_bytes", lambda: 7 * 2**30)
    compile_ahead(points(2, 3), "cuda")
    assert workshop.done == []
    monkeypatch.setattr(device, "free_bytes", lambda: 8 * 2**30)
    compile_ahead(points(2, 3), "cuda")
    assert len(workshop.done) == 14


def test_what_is_not_there_in_the_end_is_given_up(workshop, monkeypatch):
    workshop.held[3] = threading.Event()
    before = threading.active_count()

    def end(helpers):  # helpers that are killed answer no more
        workshop.dies = True
        workshop.held[3].set()

    monkeypatch.setattr(Helpers, "end", end)
    with pytest.raises(KeyboardInterrupt), compiled_meanwhile(points(3), "cuda"):
        raise KeyboardInterrupt
    assert len(workshop.done) <= len(OF_ALL_SIZES)
    assert rounds._ROUNDS == []
    assert threading.active_count() == before


def test_nobody_waits_where_nothing_can_be_planned(workshop, monkeypatch):
    def fail():
        raise RuntimeError("it does not compile")

    monkeypatch.setattr(rounds.ways, "chosen", fail)
    compile_ahead(points(2, 3), "cuda")
    assert workshop.done == []


def test_what_is_given_up_is_planned_no_further(workshop, monkeypatch):
    planned, begun = [], threading.Event()

    def family(task, device):
        planned.append(task)
        begun.set()
        time.sleep(0.1)

    monkeypatch.setattr(rounds, "family_of", family)
    with compiled_meanwhile(points(2, 3), "cuda"):
        assert begun.wait(PATIENCE)
    assert len(planned) < 4
    assert workshop.done == []
    assert rounds._ROUNDS == []
