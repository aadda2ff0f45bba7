"""Programs that will be needed, compiled by several processes at once.

A program takes some seconds to compile, and a study may need dozens. Each helper is a Python of its own that
reads tasks, a line each, compiles what is not on disk yet, and answers with a line. Programs that differ in
the numbers of arms and features alone are left to one helper where that is possible: Numba's part of them is
the same. They hand programs over on disk alone: where nothing can be kept there, and for policies that are
not the package's own, nothing is done here, and programs are compiled when they are needed. So are those
that a helper did not manage.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from threading import Event, Lock, Thread
from typing import Any

from equipoise.core.choice.ties import tie_order
from equipoise.core.jit import storage, ways
from equipoise.core.jit.sources import is_stamped
from equipoise.core.policies.base.design import Design
from equipoise.core.policies.base.policy import Policy, parse_policy
from equipoise.errors import DeviceUnavailable
from equipoise.lab.arena import Arena
from equipoise.lab.gpu.awaited import facts_of
from equipoise.lab.gpu.driver import Device, open_device
from equipoise.lab.gpu.offers import CPU, split
from equipoise.lab.gpu.turns.known import are_turns_known
from equipoise.lab.scenario import Scenario

_WORTH_A_HELPER = 4
"""Fewer tasks are compiled sooner here than helpers have started, and fewer helpers are not worth it."""
_MOST_HELPERS = 16
"""Each has a context of its own on the GPU."""
_SHARE_OF_MEMORY, _HELPERS_MEMORY = 0.25, 2**29
"""What contexts of helpers may take of the GPU's memory, beside trials, and about the bytes of one."""
_ANSWERS = ("equipoise: done", "equipoise: not done")
"""What a helper says when it has looked at a task."""
_SECONDS = {
    **{"trials": (2.4, 1.5), "judged": (1.1, 1.4), "draws": (1.1, 0.4), "opened": (1.0, 1.1)},
    **{"turns": (0.6, 0.3), "elasticities": (1.1, 0.4)},
}
_SECONDS_IF_LOOKS = {"trials": (3.7, 3.3)}
"""What Numba's part of programs takes, about, and then each of them; only ratios matter."""
_OF_ARMS_ALONE = "turns", "elasticities"
"""Programs that serve all numbers of features."""
_SETTINGS = ("width", "bound", "delta", "caution")
"""Options of policies that are numbers in memory, and no part of a program."""

Points = Iterable[tuple[Arena, Sequence[Policy | str]]]
Task = dict[str, Any]
"""What a helper is told."""

_ROUNDS: list[_Round] = []
_CHANGING = Lock()
"""Held while rounds begin and end."""


def compile_ahead(points: Points, device: str) -> None:
    """Have the programs of some policies in some arenas, as far as they will run on a GPU."""
    with compiled_meanwhile(points, device) as wait:
        wait()


@contextmanager
def compiled_meanwhile(points: Points, device: str) -> Iterator[Callable[[], None]]:
    """Compile them while something else is done; gives a function that waits until they are there.

    Who asks for some of them meanwhile waits for these alone. What is not there in the end is given up.
    """
    if device == CPU or storage.writable_folder() is None:
        yield lambda: None
        return
    tasks, mine = list(_tasks(points, device)), _Round()
    try:
        with _CHANGING:
            tasks = [task for task in tasks if storage.read(_done(open_device(), task)) is None]
            begun = {kind: ready for each in _ROUNDS for kind, ready in each.ready.items()}
            _ROUNDS.append(mine)
            mine.start([task for task in tasks if task["kind"] not in begun])
        events = [begun.get(task["kind"]) or mine.ready.get(task["kind"]) for task in tasks]
        yield lambda: _wait_for(events)
    finally:
        with _CHANGING:
            if mine in _ROUNDS:
                _ROUNDS.remove(mine)
        mine.end()


def _wait_for(events: Iterable[Event | None]) -> None:
    for event in events:
        if event is not None:  # or nobody does it ahead
            event.wait()


class _Round:
    """Tasks that helpers do at the same time, if these are worth it."""

    def __init__(self) -> None:
        self.ready: dict[str, Event] = {}
        """Set when a task is done, or nobody will do it here."""
        self._helpers, self._threads = _Helpers(), list[Thread]()

    def start(self, tasks: Sequence[Task]) -> None:
        """Begin."""
        count = min(_processors(), _MOST_HELPERS, len(tasks))
        if count >= _WORTH_A_HELPER:
            count = min(count, int(_SHARE_OF_MEMORY * open_device().free_bytes() / _HELPERS_MEMORY))
        if count < _WORTH_A_HELPER:
            return
        self.ready = {task["kind"]: Event() for task in tasks}
        stock = _Stock(tasks, count)
        for helper in range(count):
            thread = Thread(target=self._work_off, args=(stock, helper), daemon=True)
            thread.start()
            self._threads.append(thread)
        # All of them need next how to compile, and the order of arms that tie: while they start it is
        # compiled here, and they find it on disk.
        ways.chosen()
        tie_order(("",), 0)

    def end(self) -> None:
        """Give up what is not done; what is half done is not kept, and nobody waits for it."""
        self._helpers.end()
        for thread in self._threads:
            thread.join()
        for event in self.ready.values():
            event.set()

    def _work_off(self, stock: _Stock, number: int) -> None:
        """Have tasks done by a helper; one that it does not manage is done by nobody here."""
        task = None
        try:
            # None could be started, or it has died: others take what is left.
            with suppress(OSError), self._helpers.start() as helper:
                while (task := stock.take(number)) is not None and _does(helper, task):
                    self.ready[task["kind"]].set()
        finally:
            for undone in (*([task] if task else []), *stock.leave()):
                self.ready[undone["kind"]].set()


def _does(helper: subprocess.Popen[str], task: Task) -> bool:
    """Have a task done; whether the helper lives."""
    assert helper.stdout is not None
    _say(helper, task)
    # Libraries may print something, too.
    return any(line.startswith(_ANSWERS) for line in iter(helper.stdout.readline, ""))


def _say(helper: subprocess.Popen[str], what: Mapping[str, Any]) -> None:
    assert helper.stdin is not None
    helper.stdin.write(json.dumps(what) + "\n")
    helper.stdin.flush()


class _Stock:
    """Tasks that helpers have not begun with: a batch for each, of which others take when theirs is done."""

    def __init__(self, tasks: Sequence[Task], helpers: int) -> None:
        self._lock, self._left = Lock(), helpers
        self._batches = _batches(tasks, helpers)

    def take(self, helper: int) -> Task | None:
        """The next task of a helper's batch, or the last one of whoever has most to do, if any."""
        with self._lock:
            if self._batches[helper]:
                return self._batches[helper].pop(0)
            longest = max(self._batches, key=_seconds_left)
            return longest.pop() if longest else None

    def leave(self) -> list[Task]:
        """One helper less; what nobody will do if that was the last one."""
        with self._lock:
            self._left -= 1
            return [] if self._left else [task for batch in self._batches for task in batch]


def _seconds_left(batch: Sequence[Task]) -> float:
    return sum(task["seconds"][1] for task in batch)


def _batches(tasks: Sequence[Task], helpers: int) -> list[list[Task]]:
    """What each helper does, in the order of the tasks: few families each, and about as long."""
    families: dict[str, list[Task]] = {}
    for task in tasks:
        families.setdefault(task["family"], []).append(task)
    pieces = dict.fromkeys(families, 1)

    def seconds(family: str) -> float:
        drafting, finishing = families[family][0]["seconds"]
        return drafting + finishing * len(families[family]) / pieces[family]

    while sum(pieces.values()) < min(helpers, len(tasks)):
        pieces[max((name for name in families if pieces[name] < len(families[name])), key=seconds)] += 1
    # The longest first, each to who has least.
    batches: list[tuple[float, list[str]]] = [(0.0, []) for _ in range(helpers)]
    for family in sorted(families, key=seconds, reverse=True):
        for place in range(pieces[family]):
            batches.sort(key=lambda batch: batch[0])
            before, kinds = batches[0]
            mine = [task["kind"] for task in families[family][place :: pieces[family]]]
            batches[0] = before + seconds(family), [*kinds, *mine]
    return [[task for task in tasks if task["kind"] in kinds] for _, kinds in batches]


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
        _say(one, facts_of(open_device()))
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


def _tasks(points: Points, device: str) -> Iterator[Task]:
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
            shared = mine if type(policy).weighs else _outline(policy)
            found: list[tuple[str, object]] = [("draws", ())]
            # Where turns are known, nothing of a policy is in programs that follow them.
            if are_turns_known(arena, policy):
                found += [("turns", mine), ("opened", "known turns"), ("trials", "known turns")]
            else:
                found += [("opened", shared)] if _may_open(policy) else []
                found += [("trials", mine), ("elasticities", mine)]
            for what, kind in (*found, ("judged", shared)):
                family = repr((what, world, kind))
                size = (arms,) if what in _OF_ARMS_ALONE else (dim, arms)
                seconds = (_SECONDS_IF_LOOKS if type(policy).looks else {}).get(what, _SECONDS[what])
                task: Task = {
                    "what": what,
                    "kind": repr((family, *size)),
                    "family": family,
                    "seconds": seconds,
                }
                if task["kind"] not in seen:
                    seen.add(task["kind"])
                    yield {"scenario": arena.to_dict(), "policy": name, **task}


def _is_known_to_helpers(policy: Policy) -> bool:
    """Whether all of a policy's functions are the package's own."""
    kind = type(policy)
    others = (kind.weigh, kind.remember) if issubclass(kind, Design) else ()
    return all(is_stamped(function) for function in (kind.score, *others))


def _may_open(policy: Policy) -> bool:
    """Whether a program of its own may begin a policy's trials."""
    kind = type(policy)
    return kind.forced_start and not kind.looks and not kind.weighs


def _outline(policy: Policy) -> tuple[bool, ...]:
    """What programs depend on that have nothing else of a policy: how much is kept of arms and units."""
    return type(policy).looks, policy.keeps_spread(), policy.lots() > 0.0


def _kind_of(value: object) -> object:
    """Plain values without their sizes, on which most programs do not depend, in some order."""
    if isinstance(value, Mapping):
        return sorted((name, _kind_of(item)) for name, item in value.items())
    if isinstance(value, list | tuple):
        return sorted({repr(_kind_of(item)) for item in value})
    return value if value is None or isinstance(value, bool | str) else value != 0


def _done(device: Device, task: Task) -> str:
    """Under which name the disk says that a task was done."""
    return f"compiled ahead {device.description} {task['kind']}"


def _help() -> None:
    """Be a helper: the first line says for which GPU."""
    from equipoise.lab.gpu.awaited import AwaitedDevice

    device = AwaitedDevice(json.loads(sys.stdin.readline()))
    from equipoise.lab.gpu.bench import compile_program

    # Compiling makes millions of objects that stay: looking for garbage among them takes long.
    gc.disable()
    for line in sys.stdin:
        task = json.loads(line)
        try:
            scenario, policy = Scenario.from_dict(task["scenario"]), parse_policy(task["policy"])
            compile_program(device, scenario, policy, task["what"])
            storage.write(_done(device, task), b"")
            print(_ANSWERS[0], flush=True)
        except DeviceUnavailable:
            return  # nothing that it compiles can be kept: others, or nobody, do what is left
        except Exception:  # whoever needs the program will say what is wrong
            print(_ANSWERS[1], flush=True)


if __name__ == "__main__":
    _help()
