"""A log that grows long: whether calls get slower, how long opening and verifying take, what memory it needs.

Run with a URL and a name it opens that experiment in this process, and prints seconds and megabytes.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import equipoise as eq
from clients import batch, create, pairs, seconds

SIZE = 1000
"""Units that are asked for together while the log grows."""


def grow(url: str, events: int, measured: int, singles: int, warming: int) -> dict[str, float]:
    """Grow a log to so many events; gives rates at its beginning and at its end, and what it costs.

    Some calls come first and are not timed, as long as the file's write-ahead log grows: what is slow then
    would make the end look quick.
    """
    with create(url, budget=events) as live:
        pairs(live, warming // 2, "w")
        found = {"single, first": _pair_rate(live, singles), "batch, first": _batch_rate(live, measured)}
        while live.store.head(live.name).sequence < events - measured - 2 * singles:
            batch(live, SIZE)
        found |= {"batch, last": _batch_rate(live, measured), "single, last": _pair_rate(live, singles)}
        found["events"] = live.store.head(live.name).sequence
        name = live.name
    return found | opening(url, name)


def verifying(url: str, units: int) -> dict[str, float]:
    """Events a second that are verified, by the chain alone and with every decision made anew."""
    with create(url) as live:
        while live.asked < units:
            batch(live, min(SIZE, units))
        pairs(live, units, "v")
        events = live.store.head(live.name).sequence
        chain = seconds(lambda: live.verify(decisions=False))
        return {"chain": events / chain, "decisions": events / seconds(live.verify), "verified": events}


def opening(url: str, name: str) -> dict[str, float]:
    """Open an experiment in a new process."""
    done = subprocess.run([sys.executable, __file__, url, name], capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _pair_rate(live: eq.LiveExperiment, number: int) -> float:
    return number / seconds(lambda: pairs(live, number, "s"))


def _batch_rate(live: eq.LiveExperiment, events: int) -> float:
    rounds = max(events // (2 * SIZE), 1)

    def act() -> None:
        for _ in range(rounds):
            batch(live, SIZE)

    return rounds * SIZE / seconds(act)


def _open_here(url: str, name: str) -> dict[str, Any]:
    before = _megabytes("VmRSS")
    begin = time.perf_counter()
    live = eq.load_experiment(store=url, name=name)
    opened = time.perf_counter() - begin
    begin = time.perf_counter()
    live.ask([1.0, 0.5, 0.25], unit=f"after-{time.time_ns()}")
    asked = time.perf_counter() - begin
    live.close()
    return {"open": opened, "first ask": asked, "imported MB": before, "open MB": _megabytes("VmHWM")}


def _megabytes(which: str) -> float:
    """Memory of this process, by the name that Linux has for it: ``VmRSS`` now, ``VmHWM`` at most."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(which)).split()[1]) / 1024


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    print(json.dumps(_open_here(*sys.argv[1:])))
