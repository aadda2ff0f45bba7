"""Tasks that helpers have not begun with, and which of them comes next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median
from threading import Condition
from typing import NamedTuple

from equipoise.lab.gpu.ahead.tasks import Task

_MUCH = 2.0
"""How many times as long as most a program takes that comes first."""


class Step(NamedTuple):
    """What a helper does at a time: Numba's part of a family's programs, or what is left of one program."""

    task: Task
    is_draft: bool


class Stock:
    """Tasks, of which each helper takes one after the other.

    Numba's part of programs is the same in a family: one helper does it, and meanwhile the others do what is
    not of that family. What takes longest comes first among these parts, since programs wait for them; then
    come programs, in the order of the tasks, but those that take much longer than most before all others: in
    the end everybody would wait for them.
    """

    def __init__(self, helpers: int) -> None:
        self._changed, self._helpers = Condition(), helpers
        self._drafts, self._programs = list[Step](), list[Step]()
        self._families: dict[str, str | None] = {}
        self._drafted: set[str | None] = {None}
        self.is_open = True
        """Whether there may be more tasks."""

    def fill(self, tasks: Sequence[Task], families: Sequence[str | None]) -> list[Task]:
        """These are all tasks, and their families; a task that has none needs nothing before.

        Gives what nobody will do, since all helpers have left.
        """
        found: dict[str, Task] = {}
        for task, family in zip(tasks, families, strict=True):
            if family is not None:
                found.setdefault(family, task)
        with self._changed:
            self._families = {task["kind"]: family for task, family in zip(tasks, families, strict=True)}
            self._programs = [Step(task, is_draft=False) for task in sorted(tasks, key=_is_usual(tasks))]
            longest_first = sorted(found.values(), key=lambda task: -task["seconds"][0])
            self._drafts = [Step(task, is_draft=True) for task in longest_first]
            self.close()
            return self._abandoned()

    def close(self) -> None:
        """Nothing more comes: nobody waits for it."""
        with self._changed:
            self.is_open = False
            self._changed.notify_all()

    def take(self) -> Step | None:
        """The next step, if there will be one: it may have to wait for those of others."""
        with self._changed:
            while True:
                if self._drafts:
                    return self._drafts.pop(0)
                for place, step in enumerate(self._programs):
                    if self._families[step.task["kind"]] in self._drafted:
                        return self._programs.pop(place)
                if not (self._programs or self.is_open):
                    return None
                self._changed.wait()

    def is_over(self, step: Step) -> None:
        """A step was done, or will not be."""
        if step.is_draft:
            with self._changed:
                self._drafted.add(self._families[step.task["kind"]])
                self._changed.notify_all()

    def leave(self) -> list[Task]:
        """One helper less; what nobody will do if that was the last one."""
        with self._changed:
            self._helpers -= 1
            return self._abandoned()

    def _abandoned(self) -> list[Task]:
        if self._helpers:
            return []
        left = [step.task for step in self._programs]
        self._drafts, self._programs = [], []
        return left


def _is_usual(tasks: Sequence[Task]) -> Callable[[Task], bool]:
    """Whether a program takes about as long as most."""
    usual = median(task["seconds"][1] for task in tasks) if tasks else 0.0
    return lambda task: task["seconds"][1] < _MUCH * usual
