"""Starting clients, killing them, and judging what is left."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import numpy as np

import equipoise as eq
from torture.histories import check_history, read_archive
from torture.journal import calls_in, errors_in
from torture.worker import Job, context_of, outcome_of

ARMS = ("a", "b", "c")
POLICY = "trace-gain:chance=0.3"
SEED = 11
LINE = 250
"""Bytes that a call and its answer take in a journal, about."""
PATIENCE = 10.0
"""Seconds to wait for clients that make no progress."""


class Nursery:
    """Where workers come from; see :mod:`torture.nursery`."""

    def __init__(self, process):
        self._process = process

    def start(self, job):
        return self._ask("start", asdict(job))

    def wait(self, pid):
        return self._ask("wait", pid)

    def _ask(self, *command):
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())


@contextmanager
def a_nursery():
    process = subprocess.Popen(
        [sys.executable, "-m", "torture.nursery", POLICY],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    try:
        assert process.stdout.readline() == "ready\n"
        yield Nursery(process)
    finally:
        process.stdin.close()
        process.stdout.close()
        process.wait(timeout=60)


class Torture:
    """One experiment, processes that work on it, and a folder for what their clients saw."""

    def __init__(self, nursery, url, name, folder, *, workers, threads=1, units=100_000, seconds=300.0):
        self.nursery, self.url, self.name, self.folder = nursery, url, name, Path(folder)
        self.problem = eq.Problem(arms=ARMS, dim=3, budget=10**6, moment=np.eye(3))
        eq.create_experiment(store=url, name=name, problem=self.problem, policy=POLICY, seed=SEED).close()
        self.jobs = [
            Job(url, name, str(folder), tuple(f"c{k}t{i}" for i in range(threads)), units, seconds)
            for k in range(workers)
        ]
        self.running = {}
        self.random = random.Random(SEED)

    def start(self):
        self.running = {job: self.nursery.start(job) for job in self.jobs}

    def kill_and_restart(self, job):
        """Kill a worker where it stands; another one goes on with its work."""
        os.kill(self.running[job], signal.SIGKILL)
        status = self.nursery.wait(self.running[job])
        assert status == -signal.SIGKILL, f"{job.clients} had ended with {status}: {self._failures()}"
        self.running[job] = self.nursery.start(job)

    def kill_some(self, kills, apart):
        """Kill workers at random moments, about ``apart`` calls of all clients after each other."""
        for _ in range(kills):
            self.let_work(self.random.expovariate(1 / apart))
            self.kill_and_restart(self.random.choice(self.jobs))

    def let_work(self, calls):
        """Wait until clients have made about so many calls, and a moment more."""
        wanted, late = self._written() + calls * LINE, time.monotonic() + PATIENCE
        while self._written() < wanted and time.monotonic() < late:
            time.sleep(0.002)
        time.sleep(self.random.uniform(0.0, 0.01))

    def _written(self):
        return sum(path.stat().st_size for path in self.journals())

    def stop(self):
        """Let everybody finish the call they are at."""
        (self.folder / "stop").touch()
        self.finish()

    def finish(self):
        """Wait until everybody has ended."""
        statuses = [self.nursery.wait(pid) for pid in self.running.values()]
        self.running = {}
        assert statuses == [0] * len(statuses), f"{statuses}\n{self._failures()}"

    def journals(self):
        return sorted(self.folder.glob("*.journal"))

    def calls(self):
        return [call for path in self.journals() for call in calls_in(path)]

    def errors(self):
        return [error for path in self.journals() for error in errors_in(path)]

    def judge(self):
        """All that must hold at the end; gives the calls, and the rows of the log."""
        calls = self.calls()
        archive = self.folder / "log.jsonl.gz"
        with eq.load_experiment(store=self.url, name=self.name) as live:
            live.archive(archive)
            verified = live.verify()
            name, rows = read_archive(archive)
            check_history(name, calls, rows)
            memory = uninterrupted(self.problem, rows)
            assert verified.rows == len(rows)
            assert verified.decided == memory.asked == live.asked
            assert bits(live.in_memory()) == bits(memory)
        return calls, rows

    def _failures(self):
        """What workers have left behind: errors, and where they were stuck."""
        left = [*self.folder.glob("*.failed"), *self.folder.glob("*.stacks")]
        return "\n".join(f"{path.name}\n{path.read_text()}" for path in left if path.stat().st_size)


def uninterrupted(problem, rows):
    """The same units in the same order, in memory, where nobody was killed; all answers must be the same."""
    memory = eq.Experiment(problem, POLICY, SEED)
    for row in rows[1:]:
        event = json.loads(row.payload)
        if event["kind"] == "asked":
            given = memory.ask(context_of(event["unit"]), unit=event["unit"])
            scores = [float(score) for score in event["scores"]]
            there = given.id, given.arm, list(given.scores.values())
            assert (event["id"], event["arm"], scores) == there, f"row {row.sequence}"
        else:
            memory.tell(event["unit"], outcome_of(event["unit"]))
    return memory


def bits(experiment):
    """Everything that an experiment knows."""
    return {name: array.tobytes() for name, array in experiment.snapshot().items()}
