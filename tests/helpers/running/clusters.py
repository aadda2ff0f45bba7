"""A real Dask cluster on loopback, of processes of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PATIENCE = 30.0  # seconds; starting an interpreter on a busy machine takes a few


@dataclass
class Cluster:
    address: str
    workers: list[subprocess.Popen]


def start(module: str, *arguments: str) -> subprocess.Popen:
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    # Workers may use what tests share.
    paths = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]).strip(
        os.pathsep
    )
    command = [sys.executable, "-m", f"distributed.cli.{module}", *arguments]
    return subprocess.Popen(command, env={**os.environ, "PYTHONPATH": paths}, **quiet)


def end(process: subprocess.Popen) -> None:
    process.kill()
    process.wait(timeout=PATIENCE)


@contextmanager
def clusters(folder: Path) -> Iterator[Callable[[int], Cluster]]:
    """Start schedulers, each with some worker processes; all are gone in the end."""
    started = []

    def make(workers: int, *options: str) -> Cluster:
        file = folder / f"scheduler-{len(started)}.json"
        here = ("--host", "127.0.0.1", "--no-dashboard")
        started.append(start("dask_scheduler", *here, "--port", "0", "--scheduler-file", str(file)))
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                address = json.loads(file.read_text())["address"]
                break
            except (FileNotFoundError, ValueError):
                assert time.monotonic() < deadline
                time.sleep(0.05)
        one_thread = ("--nthreads", "1", "--no-nanny", "--local-directory", str(folder), *options)
        running = [
            start("dask_worker", address, *here, *one_thread, "--name", f"worker-{k}") for k in range(workers)
        ]
        started.extend(running)
        return Cluster(address, running)

    try:
        yield make
    finally:
        for process in reversed(started):
            end(process)
