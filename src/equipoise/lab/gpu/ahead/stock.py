"""Tasks shared out among helpers: to each about as long, and few families."""

from __future__ import annotations

from collections.abc import Sequence
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
    """What each helper does, in the order of the tasks: few families each, and about as long.

    Numba's part of programs is the same in a family, and is done once by whoever has several of them.
    """
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
    found: list[tuple[float, list[str]]] = [(0.0, []) for _ in range(helpers)]
    for family in sorted(families, key=seconds, reverse=True):
        for place in range(pieces[family]):
            found.sort(key=lambda batch: batch[0])
            before, kinds = found[0]
            mine = [task["kind"] for task in families[family][place :: pieces[family]]]
            found[0] = before + seconds(family), [*kinds, *mine]
    return [[task for task in tasks if task["kind"] in kinds] for _, kinds in found]


def _seconds_left(batch: Sequence[Task]) -> float:
    return sum(task["seconds"][1] for task in batch)
