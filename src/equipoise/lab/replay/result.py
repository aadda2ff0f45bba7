"""What a replay found: losses on held-out rows with their errors, and units saved."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from equipoise.core.tables.tidy import TidyTable
from equipoise.errors import InvalidArgument
from equipoise.lab.arena import Setting
from equipoise.lab.replay.saved import UnitsSaved
from equipoise.lab.replay.scenario import ReplayScenario
from equipoise.lab.results.estimate import Estimate
from equipoise.lab.results.simulation import SimulationResult


@dataclass(frozen=True, eq=False)
class ReplayResult(SimulationResult):
    """Policies compared on the same rows in the same order.

    Losses are mean squared errors of predictions on rows that no policy saw. They contain what no
    linear model could predict, so they do not fall to zero.
    """

    saved: Mapping[str, UnitsSaved] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    file: str | None = None
    """Where the table came from: as in :class:`~equipoise.ReplayTable`."""

    @property
    def table(self) -> ReplayScenario:
        """The table and how it was used."""
        assert isinstance(self.scenario, ReplayScenario)
        return self.scenario

    def regret(self, name: str) -> Estimate:
        """L_n minus that of the replayed oracle; not a number if it was not replayed."""
        oracle = self._oracle()
        if oracle is None:
            return Estimate(math.nan, math.nan, self.trials)
        return self.difference(name, oracle)

    def units_saved(self) -> TidyTable:
        """Tidy table: policy, loss, saved, stderr, uniform_budget."""
        rows = [
            (name, saved.loss, saved.saved.value, saved.saved.stderr, saved.uniform_budget.value)
            for name, saved in self.saved.items()
        ]
        return TidyTable(["policy", "loss", "saved", "stderr", "uniform_budget"], rows, self.metadata)

    def losses_of(self, name: str) -> dict[str, Estimate]:
        """All losses of one policy, by name."""
        losses = super().losses_of(name)
        del losses["coverage"]  # nobody knows the true coefficients
        if self._oracle() is None:
            del losses["regret"]
        return losses

    def _record_of(self, name: str) -> dict[str, Any]:
        values = super()._record_of(name)
        del values["coverage"]
        if name in self.saved:
            values["units_saved"] = self.saved[name].record()
        return values

    def _header(self) -> dict[str, Any]:
        saved = {name: asdict(saved) for name, saved in self.saved.items()}
        return {**super()._header(), "saved": saved, "columns": self.columns, "file": self.file}

    @classmethod
    def _check_kind(cls, path: str | Path, values: Mapping[str, Any]) -> None:
        if "targets" not in values:
            raise InvalidArgument(
                f"{path} holds a simulation, not a replay", hint="read it with eq.SimulationResult.load"
            )

    @classmethod
    def _read_rest(cls, header: Mapping[str, Any]) -> dict[str, Any]:
        saved = {name: UnitsSaved.from_dict(values) for name, values in header.get("saved", {}).items()}
        return {"saved": saved, "columns": tuple(header.get("columns", ())), "file": header.get("file")}

    @classmethod
    def _read_scenario(cls, values: Mapping[str, Any]) -> Setting:
        return ReplayScenario.from_dict(values)
