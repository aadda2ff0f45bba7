"""A process that has loaded the library and its machine code, and forks workers in no time.

It reads commands, one a line: ``["start", {job}]`` gives the id of a new process, ``["wait", id]`` the
status that a process has ended with, negative for a signal. When its input ends it ends its
workers.
"""

from __future__ import annotations

import json
import os
import signal
import sys

import numpy as np

import equipoise as eq
from torture.worker import Job, context_of, work


def main():
    _warm_up()
    print("ready", flush=True)
    living = set()
    try:
        for line in sys.stdin:
            command, argument = json.loads(line)
            if command == "start":
                living.add(answer := _start(Job(**{**argument, "clients": tuple(argument["clients"])})))
            else:
                answer = os.waitstatus_to_exitcode(os.waitpid(argument, 0)[1])
                living.discard(argument)
            print(answer, flush=True)
    finally:
        for pid in living:
            os.kill(pid, signal.SIGKILL)


def _start(job):
    pid = os.fork()
    if pid:
        return pid
    status = 70
    try:
        status = work(job)
    except BaseException as error:
        print(f"{job.clients}: {error!r}", file=sys.stderr, flush=True)
    finally:
        os._exit(status)


def _warm_up():
    """Load what a worker needs; a fork shares it."""
    problem = eq.Problem(arms=["a", "b", "c"], dim=3, budget=60, moment=np.eye(3))
    with eq.open_store("memory:") as store:
        live = eq.create_experiment(store=store, name="warm", problem=problem, policy=sys.argv[1])
        for i in range(12):
            live.ask(context_of(f"u{i}"), unit=f"u{i}")
            live.tell(f"u{i}", 0.5 * i)
        eq.load_experiment(store=store, name="warm").close()


if __name__ == "__main__":
    main()
