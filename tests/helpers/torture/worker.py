"""Clients in one process, a thread each, that ask and tell until they are stopped or killed.

What a client does is a list that follows from its name, so one that was killed goes on where its journal
ends: it repeats the call that it has no answer to. Contexts and outcomes follow from the unit's key.
"""

from __future__ import annotations

import faulthandler
import os
import threading
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

import equipoise as eq
from equipoise.errors import CommitUnknown, EquipoiseError
from torture.journal import Journal

LATE = 3
"""Units that are assigned before an outcome comes."""
SHARED = 5
"""Of so many units one is asked for and told of by all clients, at about the same moment."""

STUCK = 15.0
"""Seconds without a call or an answer after which a worker writes down where its threads are."""


@dataclass(frozen=True)
class Job:
    """What a worker is to do."""

    url: str
    name: str
    folder: str
    """Where the journals are; a file ``stop`` in it ends the work."""
    clients: tuple[str, ...]
    units: int
    """Units of each client."""
    seconds: float
    """After which a worker gives up."""


def context_of(unit):
    code = crc32(unit.encode())
    return [1.0, (code % 199) / 99 - 1.0, (code // 199 % 211) / 105 - 1.0]


def outcome_of(unit):
    return crc32(unit.encode(), 17) % 1009 / 100 - 5.0


def steps(client, units):
    """What a client does, in order."""
    keys = [f"all-{i}" if i % SHARED == 0 else f"{client}-{i}" for i in range(units)]
    for i in range(units + LATE):
        if i < units:
            yield "ask", keys[i], context_of(keys[i])
        if i >= LATE:
            yield "tell", keys[i - LATE], outcome_of(keys[i - LATE])


def work(job):
    """Do a job; gives the exit status."""
    end, failed = time.monotonic() + job.seconds, []
    threading.Thread(target=_watch, args=(job,), daemon=True).start()
    live = _patiently(lambda: eq.load_experiment(store=job.url, name=job.name), end)
    threads = [
        threading.Thread(target=_serve, args=(job, live, client, end, failed)) for client in job.clients
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    live.close()
    if failed:
        (Path(job.folder) / f"{job.clients[0]}.failed").write_text("\n".join(failed))
    return len(failed)


def _watch(job):
    """Where it hangs, if it does: the harness shows it.

    Only a worker that gets nowhere is looked at: looking at threads that run may crash the process.
    """
    folder, before = Path(job.folder), -1
    stacks = (folder / f"{job.clients[0]}-{os.getpid()}.stacks").open("w")
    while True:
        journals = [folder / f"{client}.journal" for client in job.clients]
        written = sum(path.stat().st_size for path in journals if path.exists())
        if written != before:
            faulthandler.dump_traceback_later(STUCK, repeat=True, file=stacks)
        before = written
        time.sleep(STUCK / 10)


def _serve(job, live, client, end, failed):
    try:
        with live.acting(client):
            _go_on(job, live, client, end)
    except BaseException:
        failed.append(traceback.format_exc())


def _go_on(job, live, client, end):
    journal, stop = Journal(Path(job.folder) / f"{client}.journal"), Path(job.folder) / "stop"
    for number, step in enumerate(steps(client, job.units)):
        if number < journal.done:
            continue
        if stop.exists():
            break
        _patiently(lambda step=step: _do(live, journal, *step), end)
    journal.close()


def _do(live, journal, act, unit, value):
    journal.begin(act, unit, value)
    try:
        if act == "ask":
            given = live.ask(value, unit=unit)
            answer = {"arm": given.arm, "id": given.id, "receipt": str(given.receipt)}
        else:
            live.tell(unit, value)
            answer = {"receipt": str(live.receipt)}
    except EquipoiseError as error:
        journal.failed(error, unknown=isinstance(error, CommitUnknown))
        raise
    journal.acknowledged(answer)


def _patiently(act, end):
    """Try again where the store is away or busy for a while."""
    while True:
        try:
            return act()
        except (CommitUnknown, eq.errors.StoreUnavailable, eq.errors.StoreBusy):
            if time.monotonic() > end:
                raise
            time.sleep(0.02)
