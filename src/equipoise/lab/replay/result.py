"""What a replay found: losses on held-out rows with their errors, and units saved."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, overload

import numpy as np

from equipoise.core.tables.tidy import TidyTable
from equipoise.errors import InvalidArgument
from equipoise.lab.arena import Setting
from equipoise.lab.replay.saved import UnitsSaved
from equipoise.lab.replay.scale import NOTABLE, ratio_words, spread_ratio
from equipoise.lab.replay.scenario import ReplayScenario
from equipoise.lab.results.estimate import Estimate, finite, mean_estimate
from equipoise.lab.results.simulation import SimulationResult

NOT_ASKED = "it was not asked for"


@dataclass(frozen=True, eq=False)
class ReplayResult(SimulationResult):
    """Policies compared on the same rows in the same order.

    Losses are mean squared errors of predictions on rows that no policy saw: shares of each target's
    variance, or squared units of the targets (``table.scale``). They contain what no linear model could
    predict, so they do not fall to zero.
    """

    saved: Mapping[str, UnitsSaved] = field(default_factory=dict)
    unsaved: str | None = None
    """Why nothing can be said about units saved; None where it can."""
    reading: Mapping[str, Any] = field(default_factory=dict)
    file: str | None = None
    """Where the table came from and how it was read: as in :class:`~equipoise.ReplayTable`."""

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

    @property
    def unit(self) -> str:
        """What losses are measured in."""
        if self.table.scale == "targets":
            return "shares of each target's variance"
        return "squared units of the targets"

    def by_target(self) -> TidyTable:
        """Tidy table: policy, target, error, stderr, share, rmse, spread.

        ``error`` is the mean over trials as losses have it, without weights; ``share`` the same as a share of
        the target's variance, so that 1 − share is R² on rows that were not read; ``rmse`` its root in the
        target's own unit, beside the target's standard deviation ``spread``.
        """
        rows = []
        for name, policy in self.policies.items():
            for i, target in enumerate(self.table.targets):
                error, spread = mean_estimate(policy.ledger.errors[:, i]), self.table.spreads[i]
                variance = self.table.variances[i]
                share = error.value / variance if variance > 0.0 else math.nan
                rmse = math.sqrt(share) * spread if variance > 0.0 else math.sqrt(error.value)
                rows.append((name, target, error.value, error.stderr, share, rmse, spread))
        columns = ["policy", "target", "error", "stderr", "share", "rmse", "spread"]
        return TidyTable(columns, rows, self.metadata)

    def worst_target(self, name: str) -> tuple[str, float]:
        """The target that most often has the largest error under a policy, and in what share of trials."""
        worst = np.bincount(self[name].errors.argmax(axis=1), minlength=len(self.table.targets))
        return self.table.targets[int(worst.argmax())], float(worst.max() / self.trials)

    @property
    def warning(self) -> str | None:
        """What to know before believing the losses of targets that were compared as they are."""
        table = self.table
        if table.scale == "targets" or spread_ratio(table.spreads) <= NOTABLE or table.objective != "max":
            return None
        first = next(iter(self.policies))
        target, share = self.worst_target(first)
        return (
            f"{ratio_words(table.targets, table.spreads)}, and errors are compared as they are: {target} is "
            f"the worst target in {100 * share:.0f} % of {first}'s trials, and what is saved is saved on it. "
            "If targets are in different units, standardise them (--scale targets)."
        )

    @property
    def caution(self) -> str | None:
        """Which targets no policy's models predict better than their mean would; None where all are."""
        least: dict[str, float] = {}
        for row in self.by_target():
            least[row["target"]] = min(row["share"], least.get(row["target"], math.inf))
        worse = {target: share for target, share in least.items() if share >= 1.0}
        if not worse:
            return None
        left = ", ".join(f"{100 * share:.3g} %" for share in worse.values())
        mean = "its mean" if len(worse) == 1 else "their means"
        return (
            f"With {self.table.budget:,} units no policy's models predict {', '.join(worse)} better than "
            f"{mean} would (at best {left} of the variance is left): what is saved here is saved on models "
            "that are not worth having yet."
        )

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
        values["targets"] = {
            row["target"]: {key: finite(row[key]) for key in ("error", "stderr", "share", "rmse")}
            for row in self.by_target()
            if row["policy"] == name
        }
        return values

    def record(self) -> dict[str, Any]:
        """The object that ``--json`` prints."""
        return {**super().record(), "units": self.unit, "units_saved_unknown": self.unsaved}

    def _header(self) -> dict[str, Any]:
        saved = {name: asdict(saved) for name, saved in self.saved.items()}
        return {
            **super()._header(),
            "saved": saved,
            "unsaved": self.unsaved,
            "reading": dict(self.reading),
            "file": self.file,
        }

    @classmethod
    def _check_kind(cls, path: str | Path, values: Mapping[str, Any]) -> None:
        if "targets" not in values:
            raise InvalidArgument(
                f"{path} holds a simulation, not a replay", hint="read it with eq.SimulationResult.load"
            )

    @classmethod
    def _read_rest(cls, header: Mapping[str, Any]) -> dict[str, Any]:
        saved = {name: UnitsSaved.from_dict(values) for name, values in header.get("saved", {}).items()}
        return {
            "saved": saved,
            "unsaved": header.get("unsaved"),
            "reading": header.get("reading", {}),
            "file": header.get("file"),
        }

    @classmethod
    def _read_scenario(cls, values: Mapping[str, Any]) -> Setting:
        return ReplayScenario.from_dict(values)


class ReplayResults(Sequence[ReplayResult]):
    """Replays of one table at several budgets, in the order in which they were asked for."""

    def __init__(self, results: Sequence[ReplayResult]) -> None:
        self._results = tuple(results)

    @overload
    def __getitem__(self, key: int) -> ReplayResult: ...
    @overload
    def __getitem__(self, key: slice) -> ReplayResults: ...
    def __getitem__(self, key: int | slice) -> ReplayResult | ReplayResults:
        found = self._results[key]
        return ReplayResults(found) if isinstance(found, tuple) else found

    def __len__(self) -> int:
        return len(self._results)

    def at(self, budget: int) -> ReplayResult:
        """The result of one budget."""
        for result in self._results:
            if result.table.budget == budget:
                return result
        known = ", ".join(str(result.table.budget) for result in self._results)
        raise InvalidArgument(f"no replay has a budget of {budget}", hint=f"budgets: {known}")

    def losses(self) -> TidyTable:
        """Tidy table: budget, policy, loss, value, stderr."""
        return self._together([result.losses() for result in self._results])

    def units_saved(self) -> TidyTable:
        """Tidy table: budget, policy, loss, saved, stderr, uniform_budget."""
        return self._together([result.units_saved() for result in self._results])

    def by_target(self) -> TidyTable:
        """Tidy table: budget, and what :meth:`ReplayResult.by_target` has."""
        return self._together([result.by_target() for result in self._results])

    def record(self) -> dict[str, Any]:
        """The object that ``--json`` prints."""
        return {"runs": [result.record() for result in self._results]}

    def _together(self, tables: Sequence[TidyTable]) -> TidyTable:
        first = self._results[0]
        rows = [
            (result.table.budget, *row.values())
            for result, table in zip(self._results, tables, strict=True)
            for row in table
        ]
        budgets = [result.table.budget for result in self._results]
        metadata = {**first.metadata, "budgets": budgets}
        return TidyTable(["budget", *tables[0].columns], rows, metadata)

    def __str__(self) -> str:
        return str(self.losses())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.losses()._repr_html_()
