"""Programs that will be needed, compiled by several processes at once.

A program takes some seconds to compile, and a study may need dozens. Each helper is a Python of its own that
reads tasks, a line each, compiles what is not on disk yet, and answers with a line. They hand programs over
on disk alone: where nothing can be kept there, and for policies that are not the package's own, nothing is
done here, and programs are compiled when they are needed. So are those that a helper did not manage.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Lock
from typing import Any

from equipoise.core.jit import storage
from equipoise.core.jit.sources import is_stamped
from equipoise.core.policies.base.design import Design
from equipoise.core.policies.base.policy import Policy, parse_policy
from equipoise.lab.arena import Arena
from equipoise.lab.gpu.driver import open_device
from equipoise.lab.gpu.offers import CPU, split
from equipoise.lab.scenario import Scenario

_WORTH_A_HELPER = 4
"""Tasks that are compiled sooner here than a helper has started."""
_MOST_HELPERS = 16
"""Each has a context of its own on the GPU."""
_ONE_AT_A_TIME = Lock()
_SETTINGS = ("width", "bound", "delta", "caution")
"""Options of policies that are numbers in memory, and no part of a program."""


def compile_ahead(points: Iterable[tuple[Arena, Sequence[Policy | str]]], device: str) -> None:
    """Compile the programs of some policies in some arenas, as far as they will run on a GPU."""
    if device == CPU or storage.writable_folder() is None:
        return
    tasks = _not_done(_tasks(points, device))
    if _helpers_for(tasks):
        # Another thread may compile the same: when it has ended, that is done.
        with _ONE_AT_A_TIME:
            _share_out(_not_done(tasks))


def _not_done(tasks: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return [task for task in tasks if storage.read(_done(task)) is None]


def _helpers_for(tasks: list[dict[str, Any]]) -> int:
    """How many helpers are worth it."""
    count = min(_processors(), _MOST_HELPERS, len(tasks))
    return count if count >= _WORTH_A_HELPER else 0


def _share_out(tasks: list[dict[str, Any]]) -> None:
    """Have tasks done by helpers, if these are worth it."""
    count = _helpers_for(tasks)
    if not count:
        return
    # Those with many features take longest.
    tasks.sort(key=lambda task: task["scenario"]["dim"])
    waiting: SimpleQueue[dict[str, Any]] = SimpleQueue()
    for task in reversed(tasks):
        waiting.put(task)
    helpers = _Helpers()
    with ThreadPoolExecutor(count) as pool:
        try:
            for done in [pool.submit(_work_off, waiting, helpers) for _ in range(count)]:
                done.result()
        except BaseException:
            # An interrupt waits for nothing: what is half done is not kept.
            helpers.end()
            raise


class _Helpers:
    """Processes that compile, which end together."""

    def __init__(self) -> None:
        self._lock, self._started, self._ended = Lock(), list[subprocess.Popen[str]](), False

    def start(self) -> subprocess.Popen[str]:
        """One more, unless they have been ended."""
        command, pipe = [sys.executable, "-m", "equipoise.lab.gpu.ahead"], subprocess.PIPE
        with self._lock:
            if self._ended:
                raise ChildProcessError("no more helpers are wanted")
            # A Ctrl-C of the terminal reaches them, too: what they say of it is for nobody.
            one = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True)
            self._started.append(one)
        return one

    def end(self) -> None:
        """End them at once."""
        with self._lock:
            self._ended = True
            for one in self._started:
                one.kill()


def _processors() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _tasks(points: Iterable[tuple[Arena, Sequence[Policy | str]]], device: str) -> Iterator[dict[str, Any]]:
    """What helpers are told, each once."""
    seen: set[str] = set()
    for arena, policies in points:
        if not policies:
            continue
        named = {policy.spec: policy for policy in map(parse_policy, policies)}
        for name in split(arena, named, device, elsewhere=False):
            policy = named[name]
            if not isinstance(arena, Scenario) or not _is_known_to_helpers(policy):
                continue
            world, dim, arms = _kind_of(arena.to_dict()), arena.dim, len(arena.noise)
            options = {key: value for key, value in vars(policy).items() if key not in _SETTINGS}
            mine = policy.name, _kind_of(options)
            for what, kind in (("draws", ()), ("trials", mine), ("judged", mine)):
                text = repr((what, world, dim, arms, kind))
                if text not in seen:
                    seen.add(text)
                    yield {"scenario": arena.to_dict(), "policy": name, "what": what, "kind": text}


def _is_known_to_helpers(policy: Policy) -> bool:
    """Whether all of a policy's functions are the package's own."""
    kind = type(policy)
    others = (kind.weigh, kind.remember) if issubclass(kind, Design) else ()
    return all(is_stamped(function) for function in (kind.score, *others))


def _kind_of(value: object) -> object:
    """Plain values without their sizes, on which most programs do not depend, in some order."""
    if isinstance(value, Mapping):
        return sorted((name, _kind_of(item)) for name, item in value.items())
    if isinstance(value, list | tuple):
        return sorted({repr(_kind_of(item)) for item in value})
    return value if value is None or isinstance(value, bool | str) else value != 0


def _done(task: dict[str, Any]) -> str:
    """Under which name the disk says that a task was done."""
    return f"compiled ahead {open_device().description} {task['kind']}"


def _work_off(waiting: SimpleQueue[dict[str, Any]], helpers: _Helpers) -> None:
    """Let a helper do tasks until none is left, or it breaks off."""
    # Nothing is left to do, the helper has died, or none could be started.
    with suppress(Empty, OSError), helpers.start() as helper:
        assert helper.stdin is not None
        assert helper.stdout is not None
        while True:
            helper.stdin.write(json.dumps(waiting.get_nowait()) + "\n")
            helper.stdin.flush()
            if not helper.stdout.readline():
                return


def _help() -> None:
    """Be a helper."""
    from equipoise.lab.gpu.bench import compile_program

    # Compiling makes millions of objects that stay: looking for garbage among them takes long.
    gc.disable()
    for line in sys.stdin:
        task = json.loads(line)
        try:
            compile_program(Scenario.from_dict(task["scenario"]), parse_policy(task["policy"]), task["what"])
            storage.write(_done(task), b"")
            print("done", flush=True)
        except Exception as error:  # whoever needs the program will say what is wrong
            print(f"not done: {error!r}", flush=True)


if __name__ == "__main__":
    _help()
