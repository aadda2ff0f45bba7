"""Forecasts among threads, forks and interrupts."""

from __future__ import annotations

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from experiments.half_way import half_way

import equipoise as eq


def test_threads_forecast_one_experiment_and_read_one_forecast(tmp_path):
    experiment, _ = half_way(awaited=2)
    alone = eq.forecast(experiment, trials=40, policies=["uniform"], target=0.5, workers=1)
    with ThreadPoolExecutor(6) as pool:
        made = [
            pool.submit(eq.forecast, experiment, trials=40, policies=["uniform"], target=0.5)
            for _ in range(6)
        ]
        assert {each.result().to_json() for each in made} == {alone.to_json()}
        shared = eq.forecast(experiment, trials=40, policies=["uniform"], target=0.5)
        reads = [
            pool.submit(read) for read in (shared.to_json, shared.__str__, shared.bands) for _ in range(4)
        ]
        saved = [pool.submit(shared.save, tmp_path / f"{k}.npz") for k in range(4)]
        assert {each.result() for each in reads[:4]} == {alone.to_json()}
        assert {each.result() for each in reads[4:8]} == {str(alone)}
        for each in saved:
            each.result()
    assert {eq.Forecast.load(tmp_path / f"{k}.npz").to_json() for k in range(4)} == {alone.to_json()}


def test_a_fork_in_the_middle_of_a_forecast():
    experiment, _ = half_way()
    wanted = eq.forecast(experiment, trials=60, workers=2)
    codes = []

    def fork(done, expected):
        if codes:
            return
        child = os.fork()
        if child == 0:
            status = 1
            try:
                again = eq.forecast(experiment, trials=60, workers=2)
                status = 0 if np.array_equal(again.courses[0].errors, wanted.courses[0].errors) else 2
            finally:
                os._exit(status)
        codes.append(os.waitstatus_to_exitcode(waited(child)))

    found = eq.forecast(experiment, trials=60, workers=2, progress=fork)
    assert codes == [0]
    assert np.array_equal(found.courses[0].errors, wanted.courses[0].errors)


def waited(child, seconds=60.0):
    """The status of a child; one that hangs is ended, and fails the test."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return status
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    return os.waitpid(child, 0)[1]


@pytest.mark.parametrize("target", [None, 1e-6])
def test_an_interrupt_ends_a_forecast_soon_and_leaves_nothing_running(target):
    experiment, _ = half_way()
    before = eq.forecast(experiment, trials=30)
    running = threading.active_count()

    def interrupt(*_):
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        eq.forecast(
            experiment,
            trials=20_000 if target is None else 5_000,
            target=target,
            budgets=[3_000],
            progress=interrupt,
        )
    stopped = time.monotonic()
    while threading.active_count() > running and time.monotonic() < stopped + 5.0:
        time.sleep(0.01)
    assert threading.active_count() <= running
    assert eq.forecast(experiment, trials=30).to_json() == before.to_json()
