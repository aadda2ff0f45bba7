"""What a replay's result says about the table and how it was used; plain data, without the rows."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from equipoise.core.estimates.defaults import DEFAULT
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
    rows, dropped, filled
        Complete rows, those left out because a cell was missing, and cells that were filled.
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
        Variance of every target around its best linear model over the whole table; of standardised targets
        the share of the variance.
    scale
        ``"targets"``: every target is divided by its standard deviation, for policies and losses alike;
        ``"none"``: as they are.
    spreads
        Standard deviation of every target in the table, in its own unit.
    group, order
        Columns by which rows are kept apart, if any.
    notes
        What was done to make numbers of the table.
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
    scale: str = "none"
    spreads: tuple[float, ...] = ()
    group: str | None = None
    order: str | None = None
    filled: int = 0
    notes: tuple[str, ...] = ()

    @property
    def arms(self) -> tuple[str, ...]:
        """Names of the arms: the targets."""
        return self.targets

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features, ``1`` for the intercept, or ``(intercept)`` where a column has that name."""
        names = [name or f"column {place + 1}" for place, name in enumerate(self.contexts)]
        if self.center == "intercept":
            names.insert(0, "(intercept)" if "1" in names else "1")
        return tuple(name if names.count(name) == 1 else f"{name} [{j}]" for j, name in enumerate(names))

    @property
    def split_words(self) -> str | None:
        """How rows are kept apart, in a sentence; None where they are dealt one by one."""
        if self.group is None and self.order is None:
            return None
        read = "A trial reads random rows of the first half"
        if self.order is None:
            read = (
                f"Rows with the same {self.group!r} stay together: a trial reads random rows of half of them"
            )
        elif self.group is None:
            read += f" by {self.order!r}, in that order,"
        else:
            read += f" of {self.group!r} by first {self.order!r}, in the order of {self.order!r},"
        return f"{read} and judges on all rows of the other half."

    @property
    def variances(self) -> tuple[float, ...]:
        """What an error of every target is to be divided by to be a share of its variance."""
        if self.scale == "targets":
            return tuple(1.0 if spread > 0.0 else 0.0 for spread in self.spreads)
        return tuple(spread * spread for spread in self.spreads)

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
            features=self.feature_names,
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
        for name in ("weights", "ridge", "group", "order"):
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
