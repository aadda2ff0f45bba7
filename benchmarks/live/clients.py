"""Clients of a live experiment: one after the other, in threads, in processes."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np

import equipoise as eq

DIM = 3
PATIENCE = 300.0
"""Seconds that processes wait for each other."""
WARMING = 8
"""Pairs of calls of a process before its time is taken."""
_numbers = count()


def problem(budget: int = 10**7) -> eq.Problem:
    """Three arms, three features."""
    return eq.Problem(arms=["a", "b", "c"], dim=DIM, budget=budget, moment=np.eye(DIM))


def create(store: Any, budget: int = 10**7) -> eq.LiveExperiment:
    """A new experiment in a store."""
    return eq.create_experiment(
        store=store, name=f"speed-{next(_numbers)}", problem=problem(budget), policy="trace-gain"
    )


def pairs(live: eq.LiveExperiment | eq.Experiment, number: int, who: str) -> None:
    """Ask for units and tell their outcomes, call by call.

    Every unit is a new one: processes that are forked one after the other count from the same number, and
    asking for a unit again only reads.
    """
    begin = f"{os.getpid()}-{next(_numbers)}"
    for i in range(number):
        unit = f"{who}-{begin}-{i}"
        live.ask([1.0, i % 7 - 3.0, i % 11 - 5.0], unit=unit)
        live.tell(unit, float(i % 13))


def batch(live: eq.LiveExperiment | eq.Experiment, size: int) -> None:
    """Ask for units together, and tell their outcomes together."""
    begin = next(_numbers)
    units = [f"b-{begin}-{i}" for i in range(size)]
    contexts = np.stack([np.ones(size), np.arange(size) % 7 - 3.0, np.arange(size) % 11 - 5.0], axis=1)
    live.ask_many(contexts, units)
    live.tell_many([(unit, float(i % 13)) for i, unit in enumerate(units)])


def seconds(act: Callable[[], object]) -> float:
    """How long something takes."""
    begin = time.perf_counter()
    act()
    return time.perf_counter() - begin


def in_threads(live: eq.LiveExperiment, threads: int, each: int) -> float:
    """Seconds that threads need together, each with pairs of its own; calls that fail are not counted."""
    ready = threading.Barrier(threads + 1)
    failures: list[BaseException] = []

    def work(k: int) -> None:
        ready.wait()
        try:
            pairs(live, each, f"t{k}")
        except BaseException as error:
            failures.append(error)

    started = [threading.Thread(target=work, args=(k,)) for k in range(threads)]
    for thread in started:
        thread.start()
    ready.wait()

    def join() -> None:
        for thread in started:
            thread.join()

    took = seconds(join)
    if failures:
        raise SystemExit(f"{len(failures)} of {threads} clients failed: {failures[0]!r}")
    return took


def in_processes(processes: int, prepare: Callable[[int], Callable[[], object]]) -> float:
    """Seconds from the moment when all processes have prepared themselves until the last is done.

    ``prepare`` gets the number of the process and gives what is timed. Processes are forked, so they have
    what is loaded here; they open connections of their own.
    """
    context = multiprocessing.get_context("fork")
    ready = context.Barrier(processes + 1)
    done = context.Barrier(processes + 1)

    def work(k: int) -> None:
        try:
            act = prepare(k)
            ready.wait(PATIENCE)
            act()
            done.wait(PATIENCE)
        except BaseException:
            ready.abort()  # or the others would wait for it
            done.abort()
            raise

    started = [context.Process(target=work, args=(k,)) for k in range(processes)]
    for process in started:
        process.start()
    ready.wait(PATIENCE)
    took = seconds(lambda: done.wait(PATIENCE))
    for process in started:
        process.join()
        if process.exitcode:
            raise SystemExit(f"a client ended with {process.exitcode}")
    return took


def working_on(url: str, names: list[str], each: int) -> Callable[[int], Callable[[], object]]:
    """For :func:`in_processes`: single calls, in turn on every experiment, ``each`` pairs in all.

    A few calls come first and are not timed: a process loads compiled code when it asks, tells and catches
    up with others for the first time, which takes about as long as a hundred calls.
    """

    def prepare(k: int) -> Callable[[], object]:
        store = eq.open_store(url)
        opened = [eq.load_experiment(store=store, name=name) for name in names]
        pairs(opened[0], WARMING, f"w{k}")

        def act() -> None:
            for i in range(each):
                # Every client goes its own way through the experiments.
                pairs(opened[(i * (2 * k + 1) + k) % len(opened)], 1, f"p{k}-{i}")

        return act

    return prepare
