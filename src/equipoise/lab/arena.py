"""Where trials happen: anything that can be opened for the trials of a policy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from equipoise.core.arrays import Vector
from equipoise.core.policies.base.policy import Policy
from equipoise.core.problem.objective import Objective
from equipoise.core.problem.problem import Problem
from equipoise.lab.trial.ledger import Ledger

Bench = Callable[[int, Sequence[Ledger]], Vector]
"""Runs trials ``first``, ``first`` + 1, … of some policies until their ledgers are full; seconds of each."""


class Setting(Protocol):
    """What a result says about where its trials happened; plain data."""

    @property
    def arms(self) -> tuple[str, ...]:
        """Names of the arms."""

    @property
    def noise(self) -> tuple[float, ...]:
        """Noise variance of every arm, as the oracle is told."""

    @property
    def dim(self) -> int:
        """Features d."""

    @property
    def budget(self) -> float:
        """Units, or money where arms have costs."""

    @property
    def units(self) -> int:
        """n: the largest number of units that the budget buys."""

    @property
    def costs(self) -> tuple[float, ...] | None:
        """What a unit of every arm costs, if not 1."""

    @property
    def objective(self) -> Objective:
        """What policies make small."""

    @property
    def weights(self) -> tuple[float, ...] | None:
        """Importance of every arm."""

    def problem(self) -> Problem:
        """The problem as the policy sees it."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""

    def to_toml(self) -> str:
        """The same as a TOML document."""


class Arena(Setting, Protocol):
    """A setting with everything that its trials need: a scenario, or a table that is replayed."""

    def open(self, policies: Sequence[Policy], seed: int) -> Bench:
        """A bench of its own for trials of ``policies`` on the same draws; two of them share nothing."""
