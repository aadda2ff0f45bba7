"""Batches and redactions whose processes are killed: each is in the log whole, or not at all.

Every round of a worker is a batch of units of its own, outcomes of some, losses, withdrawals and one erasure.
"""

import itertools
import json
import os
import random
import signal
import time
import traceback

import numpy as np
import pytest
from storing.processes import forked
from torture.harness import bits

import equipoise as eq
from equipoise.errors import AssignmentNotFound

KILLS = int(os.environ.get("EQUIPOISE_KILLS", "270")) // 3
WORKERS = 3
TOLD, LOST, WITHDRAWN, ERASED = slice(0, 20), slice(20, 25), slice(25, 28), 0
UNITS = 30


def keys(number, k):
    return [f"w{number}-{k}-{i}" for i in range(UNITS)]


def work(url, name, folder, number):
    try:
        go_on(url, name, folder, number)
    except BaseException:
        (folder / f"{number}.failed").write_text(traceback.format_exc())
        raise


def go_on(url, name, folder, number):
    """Go from round to round until killed or told to stop, with a journal of what was acknowledged."""
    with (folder / f"{number}.journal").open("w", buffering=1) as journal:

        def done(what, k, arms=None):
            journal.write(json.dumps([what, k, arms]) + "\n")

        live = eq.load_experiment(store=url, name=name, actor=f"w{number}")
        for k in itertools.count(1):
            if (folder / "stop").exists():
                return
            mine = keys(number, k)
            asked = live.ask_many([[1.0, number + i / UNITS] for i in range(UNITS)], mine)
            done("asked", k, [unit.arm for unit in asked])
            live.tell_many([(unit, float(i)) for i, unit in enumerate(mine[TOLD])])
            done("told", k)
            live.lose_many(mine[LOST], reason="gone")
            done("lost", k)
            live.withdraw_many(mine[WITHDRAWN], reason="wish")
            done("withdrawn", k)
            live.redact(mine[ERASED], reason="wish")
            done("redacted", k)


def tortured(url, folder, kills):
    """Kill workers at random moments; gives the experiment, and what workers have noted."""
    problem = eq.Problem(arms=["a", "b", "c"], dim=2, budget=10**6, moment=np.eye(2))
    name = f"killed-{kills}-times"  # a server is shared with other tests
    live = eq.create_experiment(store=url, name=name, problem=problem)
    numbers, draw, running = itertools.count(1), random.Random(5), []

    def start():
        number = next(numbers)
        running.append(forked(lambda: work(url, name, folder, number)))

    for _ in range(WORKERS):
        start()
    for _ in range(kills):
        time.sleep(draw.expovariate(1 / 0.05) + 0.05)
        pid, wait = running.pop(draw.randrange(len(running)))
        os.kill(pid, signal.SIGKILL)
        assert wait() == -signal.SIGKILL, failures(folder)
        start()
    (folder / "stop").touch()
    assert [wait() for _, wait in running] == [0] * WORKERS, failures(folder)
    noted = {}
    for path in folder.glob("*.journal"):
        for line in path.read_text().splitlines(keepends=True):
            if line.endswith("\n"):  # who was killed may have left half of one
                what, k, arms = json.loads(line)
                noted.setdefault((int(path.stem), k), {})[what] = arms
    return live, noted


def failures(folder):
    return "\n".join(path.read_text() for path in folder.glob("*.failed"))


def judge(live, noted):
    """Every step of every round is there if it was acknowledged, and whole if it is there."""
    units = {unit: (arm, status) for unit, arm, status in zip(*columns(live), strict=True) if unit}
    last = {}
    for number, k in noted:
        last[number] = max(last.get(number, 0), k)
    for number, rounds in last.items():
        for k in (*range(1, rounds + 1), rounds + 1):
            mine, seen = keys(number, k), noted.get((number, k), {})
            arms = [units.get(unit, (None, None))[0] for unit in mine]
            statuses = [units.get(unit, (None, None))[1] for unit in mine]
            if "asked" not in seen and not any(arms):
                continue
            assert None not in arms[ERASED + 1 :]
            if "asked" in seen:
                assert arms[ERASED + 1 :] == seen["asked"][ERASED + 1 :]
            for what, part in (("told", TOLD), ("lost", LOST), ("withdrawn", WITHDRAWN)):
                found = set(statuses[part]) - {None}
                assert len(found) == 1, (number, k, what, found)
                assert found == {what} or what not in seen
            assert statuses[ERASED] is None or "redacted" not in seen
    return sum(len(seen) for seen in noted.values())


def columns(live):
    table = live.units()
    return (table.column(name) for name in ("unit", "arm", "status"))


def check(url, folder, kills):
    live, noted = tortured(url, folder, kills)
    done = judge(live, noted)
    verified = live.verify()
    assert verified.units == live.asked
    assert verified.redacted_units == sum(status == "redacted" for status in list(columns(live))[2])
    with pytest.raises(AssignmentNotFound):
        live[keys(1, 10**6)[0]]
    # What was folded call by call, from a snapshot, and from the first row has the same bits.
    live.store.drop_snapshots(live.name)
    again = eq.load_experiment(store=url, name=live.name)
    assert bits(again.in_memory()) == bits(live.in_memory())
    again.close()
    live.close()
    return done


def test_a_few_kills(url, tmp_path):
    assert check(url, tmp_path, 6) > 20


@pytest.mark.slow
def test_many_kills(url, tmp_path):
    assert check(url, tmp_path, KILLS) > 5 * KILLS
