"""Tasks shared out among helpers: to each about as long, and few families."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import Lock

from equipoise.lab.gpu.ahead.tasks import Task


class Stock:
    """Tasks that helpers have not begun with: a batch for each, of which others take when theirs is done."""

    def __init__(self, tasks: Sequence[Task], helpers: int) -> None:
        self._lock, self._left = Lock(), helpers
        self._batches = batches(tasks, helpers)

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


def batches(tasks: Sequence[Task], helpers: int) -> list[list[Task]]:
    """What each helper does, in the order of the tasks.

    Numba's part of programs is the same in a family, and is done once by whoever has several of them. A
    family is taken apart where all is done sooner for it.
    """
    families: dict[str, list[Task]] = {}
    for task in tasks:
        families.setdefault(task["family"], []).append(task)
    pieces = dict.fromkeys(families, 1)
    found = _dealt(families, pieces, helpers)
    while True:
        _, busiest = max(found, key=_seconds)
        finer = [
            {**pieces, family: pieces[family] + 1}
            for family in {task["family"]: None for task in busiest}
            if pieces[family] < min(helpers, len(families[family]))
        ]
        others = [(each, _dealt(families, each, helpers)) for each in finer]
        sooner = [each for each in others if _longest_first(each[1]) < _longest_first(found)]
        if not sooner:
            break
        pieces, found = min(sooner, key=lambda each: _longest_first(each[1]))
    order = {task["kind"]: place for place, task in enumerate(tasks)}
    return [sorted(batch, key=lambda task: order[task["kind"]]) for _, batch in found]


_Batch = tuple[float, list[Task]]
"""Seconds, and tasks."""


def _dealt(families: Mapping[str, list[Task]], pieces: Mapping[str, int], helpers: int) -> list[_Batch]:
    """Families in so many pieces each, the longest first, each to who has least."""
    parts: list[_Batch] = []
    for family, tasks in families.items():
        drafting, finishing = tasks[0]["seconds"]
        for place in range(pieces[family]):
            mine = tasks[place :: pieces[family]]
            parts.append((drafting + finishing * len(mine), mine))
    found: list[_Batch] = [(0.0, []) for _ in range(helpers)]
    for seconds, mine in sorted(parts, key=_seconds, reverse=True):
        least = min(range(helpers), key=lambda helper: found[helper][0])
        before, others = found[least]
        found[least] = before + seconds, [*others, *mine]
    return found


def _seconds(batch: _Batch) -> float:
    return batch[0]


def _longest_first(found: Sequence[_Batch]) -> list[float]:
    return sorted((seconds for seconds, _ in found), reverse=True)


def _seconds_left(batch: Sequence[Task]) -> float:
    return sum(task["seconds"][1] for task in batch)
