"""What a request may use while it is carried out, under the store's lock."""

from __future__ import annotations

from collections.abc import Sequence

from equipoise.core.experiment.experiment import Experiment
from equipoise.errors import EquipoiseError
from equipoise.live.experiment.state.fold import Fold
from equipoise.live.stores.store import Row, Writer


class Turn:
    """The state, and what is to be stored of it."""

    __slots__ = ("_writer", "erased", "events", "experiment", "failures", "fold", "now")

    def __init__(self, fold: Fold, writer: Writer) -> None:
        self._writer = writer
        self.fold = fold
        """The log so far, what requests before have done in the same commit included."""
        self.experiment: Experiment = fold.experiment
        self.now = writer.now
        """Microseconds, by the store's clock."""
        self.events = fold.events
        """What this request has done so far; calls of the experiment append to it."""
        self.erased: list[int] = []
        """Rows whose payloads are erased in the same commit."""
        self.failures: list[Exception] = []
        """What the database itself has raised, whichever request it was that read."""

    def newer(self, after: int, upto: int | None = None) -> Sequence[Row]:
        """The rows after a number, up to another if one is given."""
        try:
            return self._writer.newer(after, upto)
        except EquipoiseError:
            raise
        except Exception as error:
            self.failures.append(error)
            raise
