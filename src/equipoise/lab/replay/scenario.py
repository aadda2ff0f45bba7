"""What a replay's result says about the table and how it was used; plain data, without the rows."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from equipoise.core.estimates.estimators import DEFAULT
from equipoise.core.problem.objective import Objective
from equipoise.core.problem.problem import Problem
from equipoise.errors import InvalidScenario


@dataclass(frozen=True, kw_only=True)
class ReplayScenario:
    """A table and the way it was replayed.

    Parameters
    ----------
    table, digest
        Name of the table and a hash of its numbers and column names.
    rows, dropped
        Complete rows, and those left out because a cell was missing.
    contexts, redundant, targets
        Columns that were used as features, columns that said nothing new, and the arms.
    budget
        Rows that every trial feeds to the policy; the others measure errors.
    moment
        ``"table"``: policies are told Σ of the whole table; ``"online"``: they learn it.
    center
        ``"intercept"``, ``"table"`` or ``"none"``.
    estimator, ridge
        How the arms' models are estimated, as ``Experiment.estimates`` takes them.
    noise
        Variance of every target around its best linear model over the whole table.
    """

    table: str
    digest: str
    rows: int
    dropped: int
    contexts: tuple[str, ...]
    redundant: tuple[str, ...]
    targets: tuple[str, ...]
    budget: int
    moment: str
    center: str
    noise: tuple[float, ...]
    estimator: str = DEFAULT
    ridge: float | None = None
    objective: Objective = "max"
    weights: tuple[float, ...] | None = None

    @property
    def arms(self) -> tuple[str, ...]:
        """Names of the arms: the targets."""
        return self.targets

    @property
    def dim(self) -> int:
        """Features, the intercept included."""
        return len(self.contexts) + (self.center == "intercept")

    @property
    def units(self) -> int:
        """n, which is the budget."""
        return self.budget

    @property
    def costs(self) -> None:
        """Every row costs the same."""

    def problem(self) -> Problem:
        """The problem, but for Σ, which only the table has."""
        weights = None if self.weights is None else dict(zip(self.targets, self.weights, strict=True))
        return Problem(
            self.targets,
            self.dim,
            budget=self.budget,
            moment=None,
            objective=self.objective,
            weights=weights,
            allow_small_budget=True,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        plain = {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
        for name in ("weights", "ridge"):
            if plain[name] is None:
                del plain[name]
        return {**plain, "dim": self.dim}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> ReplayScenario:
        """What :meth:`to_dict` wrote."""
        known = {field.name for field in dataclasses.fields(cls)}
        fields: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in values.items()
            if name in known
        }
        try:
            return cls(**fields)
        except TypeError:
            raise InvalidScenario("these values do not describe a replay") from None

    def to_toml(self) -> str:
        """The description as a TOML document."""
        from equipoise.lab.plain import dump_toml

        return dump_toml(self.to_dict())
