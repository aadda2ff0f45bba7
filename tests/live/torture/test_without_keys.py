"""Units without keys, which nobody can ask for again: processes that share commits do each call at most once.

Every call has a context of its own, by which it is found in the log. Processes are killed, and stopped for a
while in the middle of what they do, also of what they do for others.
"""

import itertools
import json
import os
import random
import signal
import time

import numpy as np
import pytest
from storing.processes import forked

import equipoise as eq
from equipoise.errors import CommitUnknown, StoreBusy

KILLS = int(os.environ.get("EQUIPOISE_KILLS", "270"))
WORKERS = 4
WAIT = 0.5
"""Seconds that a call waits for the lock: some are stopped for longer."""
STOPPED = 0.7


def work(url, folder, number):
    """Ask until killed or told to stop, with a journal of what was begun and what came of it."""
    with (folder / f"{number}.journal").open("w", buffering=1) as journal:
        live = eq.load_experiment(store=eq.open_store(url, wait=WAIT), name="trial", actor=f"w{number}")
        for k in itertools.count(1):
            if (folder / "stop").exists():
                return
            x = [1.0, number + k / 10**6]
            journal.write(json.dumps(["begun", x]) + "\n")
            try:
                unit = live.ask(x)
                journal.write(json.dumps(["done", x, unit.id, unit.arm, unit.receipt.sequence]) + "\n")
            except CommitUnknown:
                journal.write(json.dumps(["unknown", x]) + "\n")
            except StoreBusy:
                journal.write(json.dumps(["busy", x]) + "\n")


def tortured(url, folder, hits):
    """Kill and stop workers; gives what they have noted, and the rows of the log by context."""
    problem = eq.Problem(arms=["a", "b", "c"], dim=2, budget=10**6, moment=np.eye(2))
    live = eq.create_experiment(store=url, name="trial", problem=problem)
    live.ask([1.0, 0.0])
    numbers, draw, running = itertools.count(1), random.Random(7), []

    def start():
        number = next(numbers)
        running.append(forked(lambda: work(url, folder, number)))

    for _ in range(WORKERS):
        start()
    for hit in range(hits):
        time.sleep(draw.expovariate(1 / 0.05) + 0.02)
        if hit % 10 == 9:
            pid = draw.choice(running)[0]
            os.kill(pid, signal.SIGSTOP)
            time.sleep(STOPPED)
            os.kill(pid, signal.SIGCONT)
        else:
            pid, wait = running.pop(draw.randrange(len(running)))
            os.kill(pid, signal.SIGKILL)
            assert wait() == -signal.SIGKILL
            start()
    (folder / "stop").touch()
    assert [wait() for _, wait in running] == [0] * WORKERS
    assert live.verify().decided == live.asked
    rows = {}
    for entry in live.log(after=2):
        rows.setdefault(tuple(entry.event["x"]), []).append(entry)
    live.close()
    noted = []
    for path in folder.glob("*.journal"):
        for line in path.read_text().splitlines(keepends=True):
            if line.endswith("\n"):  # who was killed may have left half of one
                noted.append((f"w{path.stem}", *json.loads(line)))
    return noted, rows


def judge(noted, rows):
    """What is wrong, and how much was done."""
    wrong, begun, done = [], {}, 0
    for actor, what, x, *answer in noted:
        found = rows.get(tuple(x), [])
        if what == "begun":
            begun[tuple(x)] = actor
        elif what == "done":
            done += 1
            told = [[row.event["id"], row.event["arm"], row.sequence] for row in found]
            if told != [answer]:
                wrong.append((actor, x, answer, told))
        elif what == "busy" and found:
            wrong.append((actor, x, "nothing was stored", found))
    for x, found in rows.items():
        if len(found) > 1 or begun.get(x) != found[0].actor:
            wrong.append((x, begun.get(x), found))
    return wrong, done


def test_a_few_kills_without_keys(file_url, tmp_path):
    wrong, done = judge(*tortured(file_url, tmp_path, 12))
    assert wrong == []
    assert done > 50


@pytest.mark.slow
def test_hundreds_of_kills_without_keys(file_url, tmp_path):
    wrong, done = judge(*tortured(file_url, tmp_path, KILLS))
    assert wrong == []
    assert done > 10 * KILLS
