"""Three studies of Sparse-Trace-UCB: how the support is found, what that gains, what L costs.

Ten arms share eight features out of many, with coefficients ±1; contexts are white. A study knows what it
costs and how it is measured; what it found knows its verdicts, its tables and its numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from equipoise.core.policies.base.policy import parse_policy
from equipoise.errors import BudgetTooSmall
from equipoise.lab.pieces import SparseTruth
from equipoise.lab.scenario import GaussianScenario, Scenario
from equipoise.studies.losses import Measured
from equipoise.studies.runner import Runner
from equipoise.studies.verdicts import Finding

FEATURES = 8
EQUAL = (1.0,) * 10
UNEQUAL = (0.1, 0.1, 0.2, 0.3, 0.5, 1.0, 1.0, 2.0, 2.0, 3.0)
UNITS = "squared units of the outcome"


@dataclass(frozen=True)
class TextTable:
    """Numbers as text, for a page or a terminal."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def markdown(self) -> list[str]:
        """Lines of Markdown."""
        lines = ["| " + " | ".join(self.columns) + " |", "|---" * len(self.columns) + "|"]
        return [*lines, *("| " + " | ".join(row) + " |" for row in self.rows), "", f"{self.title}.", ""]


class SparseResult(Protocol):
    """What a study found."""

    @property
    def name(self) -> str:
        """The panel's name."""

    @property
    def policies(self) -> tuple[str, ...]:
        """Policies that were run."""

    @property
    def trials(self) -> dict[str, int]:
        """Trials a point, by what they are trials of."""

    def findings(self) -> tuple[Finding, ...]:
        """Claims and verdicts."""

    def explanation(self) -> list[str]:
        """What was found, a sentence a line."""

    def tables(self) -> list[TextTable]:
        """All numbers."""

    def record(self) -> dict[str, Any]:
        """Plain values."""


class Study(Protocol):
    """What is to be measured."""

    def work(self, scale: float) -> float:
        """Seconds on one core, roughly, with trials multiplied by ``scale``."""

    def measure(self, runner: Runner, scale: float) -> SparseResult:
        """Measure it, or read it where it is finished."""


def sparse_scenario(noise: Sequence[float], dim: int, budget: int, features: int) -> Scenario:
    """White contexts; ``features`` of ``dim`` features matter, in every arm."""
    return GaussianScenario(noise, dim, budget, truth=SparseTruth(features=features), estimator="ridge")


def affordable(policies: Sequence[str], scenario: Scenario) -> list[str]:
    """The policies that do not refuse the scenario's budget."""
    problem, kept = scenario.problem(), []
    for name in policies:
        try:
            parse_policy(name).informed(scenario.noise).check(problem)
        except BudgetTooSmall:
            continue
        kept.append(name)
    return kept


def share_of(exact: float, trials: int, *, at: float) -> Measured:
    """A share of trials at a place on an axis.

    Half a trial is added on each side for its standard error, which is never 0 then.
    """
    smooth = (exact + 0.5) / (trials + 1.0)
    return Measured(at, exact / trials, math.sqrt(smooth * (1.0 - smooth) / trials))


def plain(measured: Measured) -> dict[str, float | None]:
    """A number and its error for JSON."""
    pair = {"value": measured.value, "stderr": measured.stderr}
    return {name: value if math.isfinite(value) else None for name, value in pair.items()}
