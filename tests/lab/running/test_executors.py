"""Results depend on scenario, policies, trials and seed: not on who runs them, nor in which pieces."""

from __future__ import annotations

import json
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import equipoise as eq
from equipoise.errors import BudgetTooSmall, InvalidArgument
from equipoise.lab.running import simulate as module
from equipoise.lab.trial.ledger import Ledger

SCENARIO = eq.GaussianScenario(noise=[0.5, 1.0, 3.0], dim=3, budget=60)
LATE = SCENARIO.replace(delay=eq.lab.Delay(mean=5.0), lost=0.1, moment="learned")
POLICIES = ["uniform", "trace-ucb", "var-ucb:width=2"]
RUN = {"trials": 90, "seed": 8}


def chunks_of(monkeypatch, trials: int) -> None:
    monkeypatch.setattr(module, "_DECISIONS_A_CHUNK", trials * SCENARIO.budget)


def assert_same(result, expected):
    assert list(result.policies) == list(expected.policies)
    for name in expected.policies:
        for field in Ledger._fields:
            np.testing.assert_array_equal(
                getattr(result[name].ledger, field), getattr(expected[name].ledger, field), field
            )


@given(st.integers(1, 9), st.integers(1, 40_000), st.integers(1, 3_000_000))
def test_chunks_cover_all_trials_and_are_neither_too_short_nor_too_long(policies, trials, budget):
    chunks = list(module.cut_trials(policies, trials, budget))
    starts = [chunk.first for chunk in chunks]
    ends = [chunk.first + chunk.trials for chunk in chunks]
    assert starts == [0, *ends[:-1]]
    assert ends[-1] == trials
    decisions = [chunk.trials * policies * budget for chunk in chunks]
    assert max(decisions) <= max(module._DECISIONS_A_CHUNK, policies * budget)
    worth = module._WORTH_A_CHUNK - policies * budget
    assert len(chunks) <= module._CHUNKS or min(decisions[:-1]) > worth
    assert len(chunks) >= min(module._CHUNKS, sum(decisions) // module._WORTH_A_CHUNK, trials) // 2


class Inline(Executor):
    """Runs everything at once, in the caller's thread, and remembers what."""

    def __init__(self):
        self.submitted = []

    def submit(self, function, /, *arguments, **settings):
        self.submitted.append(arguments)
        future = Future()
        try:
            future.set_result(function(*arguments, **settings))
        except BaseException as error:
            future.set_exception(error)
        return future


class Held(Executor):
    """Runs nothing until asked for a result that nobody has: then the newest first."""

    def __init__(self):
        self.waiting = []

    def submit(self, function, /, *arguments, **settings):
        future = Future()
        self.waiting.append((future, function, arguments))
        return future

    def run_newest(self):
        future, function, arguments = self.waiting.pop()
        if future.set_running_or_notify_cancel():
            future.set_result(function(*arguments))


@pytest.fixture(scope="module", params=[SCENARIO, LATE], ids=["prompt", "late"])
def case(request):
    return request.param, eq.simulate(request.param, POLICIES, **RUN, workers=1)


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("trials", [1, 7, 1_000])
def test_workers_and_chunks_do_not_matter(case, workers, trials, monkeypatch):
    scenario, expected = case
    chunks_of(monkeypatch, trials)
    assert_same(eq.simulate(scenario, POLICIES, **RUN, workers=workers), expected)


def test_processes(monkeypatch):
    expected = eq.simulate(LATE, POLICIES, **RUN)
    chunks_of(monkeypatch, 40)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        assert_same(eq.simulate(LATE, POLICIES, **RUN, executor=pool), expected)
        # The executor is the caller's, and goes on.
        assert pool.submit(abs, -3).result() == 3


def test_threads_of_the_callers_own(case):
    scenario, expected = case
    with ThreadPoolExecutor(3) as pool:
        assert_same(eq.simulate(scenario, POLICIES, **RUN, executor=pool), expected)
        assert pool.submit(abs, -3).result() == 3


def test_order_does_not_matter(case, monkeypatch):
    scenario, expected = case
    chunks_of(monkeypatch, 10)
    pool = Held()
    first = []

    def wait(running, return_when):
        pool.run_newest()
        done = {future for future in running if future.done()}
        first.extend(running[future].first for future in done)
        return done, set(running) - done

    monkeypatch.setattr(module, "wait", wait)
    assert_same(eq.simulate(scenario, POLICIES, **RUN, executor=pool), expected)
    assert first != sorted(first)


def test_order_of_policies_does_not_matter(case):
    scenario, expected = case
    other = eq.simulate(scenario, POLICIES[::-1], **RUN)
    assert list(other.policies) == POLICIES[::-1]
    for name in POLICIES:
        for one, whole in zip(other[name].ledger, expected[name].ledger, strict=True):
            np.testing.assert_array_equal(one, whole)


def test_a_trial_alone_gives_what_it_gave_in_the_batch(case):
    scenario, expected = case
    for name in POLICIES:
        for trial in (0, 17, 89):
            [(alone, seconds)] = module.run_chunk(
                scenario, [eq.parse_policy(name)], seed=8, first=trial, trials=1
            )
            for field in Ledger._fields:
                whole = getattr(expected[name].ledger, field)
                np.testing.assert_array_equal(getattr(alone, field)[0], whole[trial], field)
            assert seconds > 0


def test_more_trials_begin_with_the_same(case):
    scenario, expected = case
    more = eq.simulate(scenario, POLICIES, trials=120, seed=8)
    for name in POLICIES:
        np.testing.assert_array_equal(more[name].ledger.errors[:90], expected[name].ledger.errors)
        assert len(np.unique(more[name].ledger.errors[:, 0])) == 120


def test_seeds_matter(case):
    scenario, expected = case
    other = eq.simulate(scenario, POLICIES, trials=90, seed=9)
    assert not np.any(other["uniform"].ledger.errors == expected["uniform"].ledger.errors)


# Progress and failure


@pytest.mark.parametrize("trials", [1, 40, 1_000])
def test_progress_is_monotone_and_complete(trials, monkeypatch):
    chunks_of(monkeypatch, trials)
    calls = []
    eq.simulate(SCENARIO, POLICIES, **RUN, progress=lambda *call: calls.append(call))
    done = [d for d, _ in calls]
    assert {total for _, total in calls} == {270}
    assert done == sorted(set(done))
    assert done[-1] == 270
    assert len(done) == -(-90 // max(trials // 3, 1))  # all three policies in one


def test_progress_is_called_where_simulate_was():
    import threading

    threads = set()
    eq.simulate(SCENARIO, POLICIES, **RUN, progress=lambda *_: threads.add(threading.current_thread()))
    assert threads == {threading.current_thread()}


def test_a_failure_in_a_worker_surfaces_once_and_ends_the_rest(monkeypatch):
    chunks_of(monkeypatch, 1)
    calls = []
    original = module.run_chunk

    def fails(scenario, policies, seed, first, trials):
        calls.append(first)
        if first == 4:
            raise ZeroDivisionError("in trial 4")
        return original(scenario, policies, seed, first, trials)

    monkeypatch.setattr(module, "run_chunk", fails)
    with pytest.raises(ZeroDivisionError, match="in trial 4") as caught:
        eq.simulate(SCENARIO, ["uniform"], trials=5_000, seed=1, workers=1)
    assert caught.value.__context__ is None
    assert len(calls) < 100


@pytest.mark.parametrize("many", [True, False])
def test_how_many_chunks_are_handed_out_at_once(many, monkeypatch):
    """Enough for a cluster of any size; never all of a long run, whose results memory would have to hold."""
    chunks_of(monkeypatch, 1)
    pool = Held()

    def wait(running, return_when):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "wait", wait)
    with pytest.raises(KeyboardInterrupt):
        eq.simulate(SCENARIO, ["uniform"], trials=20_000 if many else 50, seed=1, executor=pool)
    if many:
        assert 500 <= len(pool.waiting) <= 5_000
    else:
        assert len(pool.waiting) == 50
    assert all(future.cancelled() for future, *_ in pool.waiting)


# Arguments


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"trials": 0}, "trials=0 is not a whole number of at least 1"),
        ({"trials": -3}, "trials=-3"),
        ({"trials": 2.5}, "trials=2.5"),
        ({"trials": True}, "trials=True"),
        ({"trials": "ten"}, "trials='ten'"),
        ({"seed": -1}, "seed=-1"),
        ({"seed": 0.5}, "seed=0.5"),
        ({"seed": 2**63}, f"seed={2**63}"),
        ({"seed": None}, "seed=None"),
        ({"workers": 0}, "workers=0"),
        ({"workers": 1.5}, "workers=1.5"),
        ({"policies": []}, "no policies to simulate"),
        ({"policies": ["uniform", "uniform"]}, "'uniform' is given twice"),
        ({"policies": ["trace-usb"]}, "did you mean 'trace-ucb'"),
        ({"policies": [3]}, "3 is not a policy"),
        ({"scenario": {"noise": [1.0]}}, "not a scenario"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_bad_arguments_are_refused_before_any_work(change, message):
    run = {"scenario": SCENARIO, "policies": POLICIES, **RUN, **change}
    pool = Inline()
    with pytest.raises(eq.EquipoiseError, match=message.replace("(", r"\(")):
        eq.simulate(run.pop("scenario"), run.pop("policies"), executor=pool, **run)
    assert pool.submitted == []


def test_zero_trials_are_an_invalid_argument():
    with pytest.raises(InvalidArgument):
        eq.simulate(SCENARIO, POLICIES, trials=0)


def test_a_small_budget_runs_static_policies_only():
    small = SCENARIO.replace(budget=11)  # m(d+1) = 12
    with pytest.raises(BudgetTooSmall, match=r"trace-ucb needs a budget of at least m\(d\+1\) = 12, not 11"):
        eq.simulate(small, ["uniform", "trace-ucb"], **RUN)
    result = eq.simulate(small, ["uniform", "oracle"], **RUN)
    assert np.all(np.isfinite(result["uniform"].ledger.errors))
    assert np.all(result["uniform"].ledger.counts.sum(axis=1) == 11)


def test_the_largest_seed():
    result = eq.simulate(SCENARIO, ["uniform"], trials=2, seed=2**63 - 1)
    assert np.all(np.isfinite(result["uniform"].ledger.errors))


def test_numpy_integers_are_whole_numbers(tmp_path):
    run = {"trials": np.int64(90), "seed": np.uint32(8), "workers": np.int32(2)}
    result = eq.simulate(SCENARIO, POLICIES, **run, checkpoint=tmp_path)
    assert_same(result, eq.simulate(SCENARIO, POLICIES, **RUN))
    assert json.loads(json.dumps(result.record()))["seed"] == 8


def test_one_policy_needs_no_list():
    assert list(eq.simulate(SCENARIO, "uniform", trials=2).policies) == ["uniform"]
