"""A table with a budget: runs trials of policies, as a scenario does."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from equipoise.core.arrays import Vector
from equipoise.core.estimates.defaults import DEFAULT
from equipoise.core.estimates.estimators import check_estimator
from equipoise.core.policies.base.policy import Policy
from equipoise.core.problem.objective import Objective
from equipoise.core.problem.problem import Problem
from equipoise.errors import BudgetTooLarge, InvalidArgument, InvalidTable
from equipoise.lab.arena import Bench
from equipoise.lab.replay.fit import CENTERS, TableFit, column_spreads, fit_table, redundant_columns
from equipoise.lab.replay.scale import check_scale, resolved, standardised
from equipoise.lab.replay.scenario import ReplayScenario
from equipoise.lab.replay.split import most_read
from equipoise.lab.replay.table import ReplayTable
from equipoise.lab.replay.trials import ReplayBench

MOMENTS = ("table", "online")


@dataclass(frozen=True, eq=False)
class ReplayArena:
    """Rows, moments and settings of a replay."""

    scenario: ReplayScenario
    rows: ReplayTable = field(repr=False)
    fit: TableFit = field(repr=False)

    @property
    def arms(self) -> tuple[str, ...]:
        """Names of the arms."""
        return self.scenario.arms

    @property
    def noise(self) -> tuple[float, ...]:
        """Residual variances, as the oracle is told."""
        return self.scenario.noise

    @property
    def dim(self) -> int:
        """Features."""
        return self.scenario.dim

    @property
    def budget(self) -> int:
        """Units of a trial."""
        return self.scenario.budget

    @property
    def units(self) -> int:
        """The same."""
        return self.scenario.units

    @property
    def costs(self) -> None:
        """Every row costs the same."""

    @property
    def objective(self) -> Objective:
        """What policies make small."""
        return self.scenario.objective

    @property
    def weights(self) -> tuple[float, ...] | None:
        """Importance of every arm."""
        return self.scenario.weights

    def to_dict(self) -> dict[str, Any]:
        """Plain values, without the rows."""
        return self.scenario.to_dict()

    def to_toml(self) -> str:
        """The same as a TOML document."""
        return self.scenario.to_toml()

    def problem(self) -> Problem:
        """The problem as the policy sees it."""
        scenario = self.scenario
        weights = (
            None if scenario.weights is None else dict(zip(scenario.arms, scenario.weights, strict=True))
        )
        moment = self.fit.moment if scenario.moment == "table" else None
        return Problem(
            scenario.arms,
            features=scenario.feature_names,
            budget=scenario.budget,
            moment=moment,
            objective=scenario.objective,
            weights=weights,
            allow_small_budget=True,  # policies that cannot run on one are refused by name
        )

    def open(self, policies: Sequence[Policy], seed: int) -> Bench:
        """A bench for trials of ``policies``."""
        return ReplayBench(self, policies, seed)

    def with_budget(self, budget: int) -> ReplayArena:
        """The same table with another number of units."""
        _check_budget(budget, self.rows)
        changed = dataclasses.replace(self.scenario, budget=int(budget))
        return dataclasses.replace(self, scenario=changed)


def new_arena(
    table: ReplayTable,
    budget: int,
    *,
    moment: str = "table",
    center: str = "intercept",
    scale: str = "none",
    estimator: str = DEFAULT,
    ridge: float | None = None,
    objective: Objective = "max",
    weights: Mapping[str, float] | None = None,
) -> ReplayArena:
    """Check the settings and find the table's moments."""
    check_estimator(estimator, ridge)
    for name, value, known in (("moment", moment, MOMENTS), ("center", center, CENTERS)):
        if value not in known:
            raise InvalidArgument(f"{name}={value!r}", hint=f"use {', '.join(map(repr, known))}")
    check_scale(scale)
    _check_budget(budget, table)
    spreads = column_spreads(table.targets)
    scale = resolved(scale, spreads.tolist())
    if scale == "targets":
        table = standardised(table, spreads)
    fit = fit_table(table, center)
    if fit.dim == 0:
        raise InvalidTable(
            "no context column varies",
            hint="give other contexts, or center='intercept' to learn means alone",
        )
    redundant = redundant_columns(table, fit)
    scenario = ReplayScenario(
        table=table.name,
        digest=table.digest,
        rows=table.rows,
        dropped=table.dropped,
        contexts=tuple(name for name in table.context_names if name not in set(redundant)),
        redundant=redundant,
        targets=table.target_names,
        budget=int(budget),
        moment=moment,
        center=center,
        estimator=estimator,
        ridge=None if ridge is None else float(ridge),
        noise=tuple(fit.noise.tolist()),
        objective=objective,
        weights=_weights(table.target_names, weights),
        scale=scale,
        spreads=tuple(spreads.tolist()),
        group=table.group,
        order=table.order,
        filled=table.filled,
        notes=(*table.notes, *_constant_notes(table.target_names, spreads)),
    )
    arena = ReplayArena(scenario, table, fit)
    arena.problem()  # refuses what a problem refuses
    return arena


def _constant_notes(targets: Sequence[str], spreads: Vector) -> list[str]:
    """What to say of targets that are always the same."""
    return [
        f"Target {name!r} is always the same: nothing is to be learned of it, and units saved mean nothing."
        for name, spread in zip(targets, spreads.tolist(), strict=True)
        if spread == 0.0
    ]


def _check_budget(budget: int, table: ReplayTable) -> None:
    if isinstance(budget, bool) or not isinstance(budget, int | np.integer) or budget < 1:
        raise InvalidArgument(f"budget={budget!r} is not a whole number of at least 1")
    most = most_read(table)
    if budget <= most:
        return
    if table.labels is None:
        raise BudgetTooLarge(
            f"a budget of {budget} leaves none of the table's {table.rows} rows to measure errors on",
            hint=f"give a budget below {table.rows}; half of the rows is plenty",
        )
    apart = f"groups of {table.group!r}" if table.group is not None else f"times of {table.order!r}"
    raise BudgetTooLarge(
        f"a budget of {budget} leaves no {apart} to measure errors on: the table has {table.rows} rows",
        hint=f"give a budget of at most {most}; half of the rows is plenty",
    )


def _weights(targets: tuple[str, ...], weights: Mapping[str, float] | None) -> tuple[float, ...] | None:
    if weights is None:
        return None
    vector = Problem(targets, 1, budget=1, weights=weights, allow_small_budget=True).weights
    return tuple(vector.tolist())
