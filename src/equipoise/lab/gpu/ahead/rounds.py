"""Tasks that helpers do at the same time, and who waits for which of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, InvalidStateError, wait
from contextlib import contextmanager, suppress
from functools import partial
from threading import Lock, Thread

from equipoise.core.choice.ties import tie_order
from equipoise.core.jit import storage, ways
from equipoise.core.policies.base.policy import Policy
from equipoise.lab.arena import Arena
from equipoise.lab.gpu.ahead.helpers import Helpers, does
from equipoise.lab.gpu.ahead.recipes import family_of
from equipoise.lab.gpu.ahead.stock import Step, Stock
from equipoise.lab.gpu.ahead.tasks import Task, done_name, each_once, tasks_of
from equipoise.lab.gpu.driver import Device, open_device
from equipoise.lab.gpu.offers import CPU

_WORTH_A_HELPER = 4
"""Fewer tasks are compiled sooner here than helpers have started, and fewer helpers are not worth it."""
_MOST_HELPERS = 16
"""Each has a context of its own on the GPU."""
_SHARE_OF_MEMORY, _HELPERS_MEMORY = 0.25, 2**29
"""What contexts of helpers may take of the GPU's memory, beside trials, and about the bytes of one."""

Points = Iterable[tuple[Arena, Sequence[Policy | str]]]

_ROUNDS: list[_Round] = []
_CHANGING = Lock()
"""Held while rounds begin and end."""


class ComingPrograms:
    """Programs of some points, of which some may still be missing."""

    def __init__(self, awaited: Sequence[Sequence[Future[None]]]) -> None:
        self._awaited = awaited
        """What each point waits for."""

    def wait(self) -> None:
        """Until all are there."""
        wait([program for each in self._awaited for program in each])

    def ready_first(self) -> Iterator[int]:
        """The places of all points; the next one is the first of those whose programs are there."""
        left = dict(enumerate(self._awaited))
        while left:
            ready = (place for place, each in left.items() if all(program.done() for program in each))
            place = next(ready, None)
            if place is None:
                missing = {program for each in left.values() for program in each if not program.done()}
                wait(missing, return_when=FIRST_COMPLETED)
            else:
                del left[place]
                yield place


def compile_ahead(points: Points, device: str) -> None:
    """Have the programs of some policies in some arenas, as far as they will run on a GPU."""
    with compiled_meanwhile(points, device) as programs:
        programs.wait()


@contextmanager
def compiled_meanwhile(points: Points, device: str) -> Iterator[ComingPrograms]:
    """Compile them while something else is done.

    Who asks for some of them meanwhile waits for these alone. What is not there in the end is given up.
    """
    hand_over = device != CPU and storage.writable_folder() is not None
    needed = [tasks_of(*point, device) if hand_over else [] for point in points]
    tasks = each_once(needed)
    if not tasks:
        yield ComingPrograms([()] * len(needed))
        return
    gpu = open_device()
    mine = _Round(gpu)
    try:
        with _CHANGING:
            lacking = [task for task in tasks if storage.read(done_name(gpu, task)) is None]
            begun = {kind: ready for each in _ROUNDS for kind, ready in each.ready.items()}
            _ROUNDS.append(mine)
            mine.start([task for task in lacking if task["kind"] not in begun])
        coming = {**mine.ready, **begun}
        yield ComingPrograms(
            [[coming[task["kind"]] for task in each if task["kind"] in coming] for each in needed]
        )
    finally:
        with _CHANGING:
            if mine in _ROUNDS:
                _ROUNDS.remove(mine)
        mine.end()


class _Round:
    """Tasks that helpers do at the same time, if these are worth it."""

    def __init__(self, device: Device) -> None:
        self.ready: dict[str, Future[None]] = {}
        """Over when a task is done, or nobody will do it here."""
        self._device, self._helpers, self._threads = device, Helpers(device), list[Thread]()
        self._stock = Stock(0)

    def start(self, tasks: Sequence[Task]) -> None:
        """Begin."""
        count = min(_processors(), _MOST_HELPERS, len(tasks))
        if count >= _WORTH_A_HELPER:
            count = min(count, int(_SHARE_OF_MEMORY * self._device.free_bytes() / _HELPERS_MEMORY))
        if count < _WORTH_A_HELPER:
            return
        self._stock = Stock(count)
        self.ready = {task["kind"]: Future() for task in tasks}
        for _ in range(count):
            self._begin(self._work_off)
        self._begin(partial(self._share_out, tasks))

    def _begin(self, work: Callable[[], None]) -> None:
        thread = Thread(target=work, daemon=True)
        thread.start()
        self._threads.append(thread)

    def end(self) -> None:
        """Give up what is not done; what is half done is not kept, and nobody waits for it."""
        self._stock.close()
        self._helpers.end()
        for thread in self._threads:
            thread.join()
        for kind in self.ready:
            self._is_over(kind)

    def _share_out(self, tasks: Sequence[Task]) -> None:
        """Say what there is to do.

        All helpers need how to compile, the order of arms that tie, and what planning a policy's programs
        takes: while they start it is compiled here, and they find it on disk. In a thread of its own: where
        Numba tidies up, a Ctrl-C would be lost.
        """
        undone = tasks
        try:
            with suppress(Exception):  # whoever needs the programs will say what is wrong
                ways.chosen()
                tie_order(("",), 0)
                families = list[str | None]()
                for task in tasks:
                    if not self._stock.is_open:
                        return
                    families.append(family_of(task, self._device))
                undone = self._stock.fill(tasks, families)
        finally:
            self._stock.close()
            for task in undone:
                self._is_over(task["kind"])

    def _work_off(self) -> None:
        """Have tasks done by a helper; one that it does not manage is done by nobody here."""
        step: Step | None = None
        try:
            # None could be started, or it has died: others take what is left.
            with suppress(OSError), self._helpers.start() as helper:
                while (step := self._stock.take()) is not None and does(helper, step):
                    self._end(step)
        finally:
            if step is not None:
                self._end(step)
            for undone in self._stock.leave():
                self._is_over(undone["kind"])

    def _end(self, step: Step) -> None:
        self._stock.is_over(step)
        if not step.is_draft:
            self._is_over(step.task["kind"])

    def _is_over(self, kind: str) -> None:
        with suppress(InvalidStateError):  # it was over before
            self.ready[kind].set_result(None)


def _processors() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
