"""What a request may use while it is carried out, under the store's lock."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from equipoise.core.experiment.experiment import Experiment
from equipoise.live.experiment.state.fold import Fold
from equipoise.live.stores.store import Row


class Turn(NamedTuple):
    """The state, and what is to be stored of it."""

    fold: Fold
    now: int
    """Microseconds, by the store's clock."""
    newer: Callable[[int], Iterable[Row]]
    """The rows after a number."""
    events: list[dict[str, Any]]
    """What has happened in this commit so far; calls of the experiment append to it."""
    erased: list[int]
    """Rows whose payloads are erased in the same commit."""

    @property
    def experiment(self) -> Experiment:
        """The state."""
        return self.fold.experiment
