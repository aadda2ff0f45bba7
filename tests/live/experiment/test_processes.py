"""Several processes on one experiment: exact counts, first asks at the same moment, one history."""

import json
import subprocess
import sys

import numpy as np
import pytest

import equipoise as eq

WORK = """
import json, sys
import numpy as np
import equipoise as eq

url, name, k, n = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
answers = {}
with eq.load_experiment(store=url, name=name, actor=f"host-{k}") as live:
    print("ready", flush=True)
    sys.stdin.readline()
    for i in range(n):
        # All hosts ask for the same units, at the same moment.
        unit = live.ask([1.0, float(i % 7)], unit=f"u{i}")
        answers[unit.unit] = [unit.id, unit.arm, str(unit.receipt)]
        if i % 3 == k:
            live.tell(unit.unit, float(i))
    print(json.dumps(answers))
"""


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, file_url):
    return file_url if request.param == "sqlite" else request.getfixturevalue("postgres_url")


def test_two_hosts_ask_for_the_same_units(url, name):
    problem = eq.Problem(arms=["a", "b", "c"], dim=2, budget=200, moment=np.eye(2))
    live = eq.create_experiment(store=url, name=name, problem=problem, policy="trace-gain:chance=0.5")
    hosts = [
        subprocess.Popen(
            [sys.executable, "-c", WORK, url, name, str(k), "40"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for k in range(2)
    ]
    for host in hosts:
        assert host.stdout.readline() == "ready\n"
    for host in hosts:
        host.stdin.write("go\n")
        host.stdin.flush()
    answers = [json.loads(host.communicate(timeout=120)[0]) for host in hosts]
    assert [host.returncode for host in hosts] == [0, 0]
    assert answers[0] == answers[1]
    assert live.asked == 40
    verified = live.verify(answers[0]["u39"][2])
    assert verified.decided == 40
    kinds = [entry.kind for entry in live.log()]
    assert (kinds.count("asked"), kinds.count("told")) == (40, 27)
    assert {entry.actor for entry in live.log(after=1)} <= {"host-0", "host-1"}
    live.close()
