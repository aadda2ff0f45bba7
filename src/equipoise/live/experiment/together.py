"""Calls about many units: each is one request, so that all of it is in one commit, or nothing."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from equipoise.core.experiment.reading import ExperimentReader
from equipoise.errors import InvalidArgument
from equipoise.live.experiment.actors import demanded
from equipoise.live.experiment.redacting import Redaction
from equipoise.live.experiment.requests.answer import Answer
from equipoise.live.experiment.requests.turn import Turn
from equipoise.live.experiment.state.fold import Fold
from equipoise.live.stores.store import Store


class TogetherRequests(ExperimentReader):
    """Corrections, losses, withdrawals, other arms and redactions of many units at once."""

    def correct_many(
        self, outcomes: Mapping[Any, float] | Iterable[tuple[str | int, float]], reason: str | None = None
    ) -> int:
        """Set many outcomes in one commit: all, or none if one cannot be; needs a reason.

        Gives how many were new: units that have that outcome already keep it.
        """
        why = demanded(reason, "correct outcomes")
        pairs = list(outcomes.items() if isinstance(outcomes, Mapping) else outcomes)
        return int(self._do(lambda turn: turn.experiment.correct_many(pairs), why).value)

    def lose_many(self, units: Iterable[str | int], reason: str | None = None) -> int:
        """Declare many units lost in one commit: all, or none if one cannot be; needs a reason.

        Gives how many were new: units that are lost already stay so.
        """
        why = demanded(reason, "declare units lost")
        listed = units if isinstance(units, str) else list(units)
        return int(self._do(lambda turn: turn.experiment.lose_many(listed), why).value)

    def withdraw_many(self, units: Iterable[str | int], reason: str | None = None) -> int:
        """Remove many units in one commit: all, or none if one cannot be; needs a reason.

        Gives how many were new: units that are withdrawn already stay so.
        """
        why = demanded(reason, "withdraw units")
        listed = units if isinstance(units, str) else list(units)
        return int(self._do(lambda turn: turn.experiment.withdraw_many(listed), why).value)

    def received_many(
        self, arms: Mapping[Any, str] | Iterable[tuple[str | int, str]], reason: str | None = None
    ) -> int:
        """Note the arms that many units received, in one commit: of all, or of none; needs a reason.

        Gives how many were new: units that count in that arm already stay there.
        """
        why = demanded(reason, "note that units received other arms")
        pairs = list(arms.items() if isinstance(arms, Mapping) else arms)
        return int(self._do(lambda turn: turn.experiment.received_many(pairs), why).value)

    def redact_many(self, units: Iterable[str | int], reason: str | None = None) -> int:
        """Erase the data of many units for good, in one commit: of all, or of none; needs a reason.

        What stays is as with :meth:`redact`, as sums over all of them, not of each. Gives how many were new:
        units that are redacted already stay so, and are named by their ids, as their keys are gone.
        """
        why = demanded(reason, "redact units")
        if isinstance(units, str):
            raise InvalidArgument(f"units={units!r} is one key", hint="give a list of keys")
        return self._redact(list(units), why)

    # Helpers

    def _redact(self, units: Sequence[str | int], why: str) -> int:
        if not units:
            return 0
        with self._lock:
            redaction = Redaction.of(self._current_fold(), [self._row(unit) for unit in units])
        redaction.scan(self.store)
        self.store.drop_snapshots(self.name)
        new = int(self._do(redaction.act, why).value)
        redaction.clear(self.store)
        return new

    @property
    @abstractmethod
    def name(self) -> str:
        """The experiment, with its project."""

    @property
    @abstractmethod
    def store(self) -> Store:
        """Where its log is."""

    @abstractmethod
    def _current_fold(self) -> Fold: ...

    @abstractmethod
    def _do(self, act: Callable[[Turn], Any], reason: str | None = None) -> Answer: ...
