"""A plan: budgets that reach a target, or errors that a budget gives, side by side."""

from __future__ import annotations

import math
from dataclasses import dataclass
from textwrap import fill
from typing import Any, Protocol

from equipoise.core.problem.objective import Objective
from equipoise.core.text_tables import html_table, text_table
from equipoise.errors import InvalidArgument

# Of the arms' names in a table.
_LONGEST_HEADING = 50


@dataclass(frozen=True)
class PlannedBudget:
    """What one allocation expects: of the smallest budget that reaches the target, or of the one given."""

    policy: str
    budget: float
    """Units; with costs, money, in steps of the cheapest arm's cost."""
    counts: tuple[int, ...]
    """Units of every arm, those included whose outcome is lost."""
    expected_error: float
    """The objective's expected value at that budget."""
    budget_range: tuple[float, float]
    """Budgets at the lowest and at the highest guessed noise; the same number without guesses."""
    error_range: tuple[float, float]
    """Errors at the lowest and at the highest guessed noise; the same number where budgets differ instead."""
    duration: float | None = None
    """About the time until the last outcome; None without an accrual."""


class Simulated(Protocol):
    """What a simulation adds to a plan for one policy."""

    @property
    def policy(self) -> str:
        """The policy as it was typed."""

    @property
    def estimator(self) -> str:
        """How its trials were judged."""

    def record(self) -> dict[str, Any]:
        """Plain values."""

    def headings(self) -> list[str]:
        """Of a table of them."""

    def cells(self) -> list[str]:
        """Its row."""


@dataclass(frozen=True)
class Plan:
    """Budgets or errors by closed form, exact for OLS and Gaussian contexts: errors are dσ²/(k−d−1).

    Where outcomes get lost, k is the number that is expected to come.
    """

    target: float | None
    """The error to be reached; None where a budget was given."""
    budget: float | None
    """The budget that was given; None where a target was."""
    noise: tuple[float, ...]
    """Noise variances planned for; the geometric middle of a guessed range."""
    noise_range: tuple[tuple[float, float], ...]
    """Guessed ends of every arm's noise variance; twice the same number where it was given."""
    weights: tuple[float, ...]
    costs: tuple[float, ...]
    dim: int
    objective: Objective
    budgets: tuple[PlannedBudget, ...]
    saving: float
    """What the optimal allocation saves against a uniform one that errs as little."""
    outcomes: tuple[float, ...]
    """Share of every arm's outcomes that come."""
    arms: tuple[str, ...]
    time: str | None = None
    """What the unit of time is called; None without an accrual."""
    unknown: tuple[str, ...] = ()
    """Fields of the scenario that the closed form does not know."""
    simulated: tuple[Simulated, ...] = ()
    """What simulations found, one a policy."""

    def __getitem__(self, policy: str) -> PlannedBudget:
        for planned in self.budgets:
            if planned.policy == policy:
                return planned
        raise InvalidArgument(
            f"no budget was planned for {policy!r}",
            hint=f"planned: {', '.join(p.policy for p in self.budgets)}",
        )

    def record(self) -> dict[str, Any]:
        """Plain values."""
        found: dict[str, Any] = {
            "target": self.target,
            "budget": self.budget,
            "arms": list(self.arms),
            "noise": list(self.noise),
            "noise_range": [list(ends) for ends in self.noise_range],
            "weights": list(self.weights),
            "costs": list(self.costs),
            "outcomes": list(self.outcomes),
            "dim": self.dim,
            "objective": self.objective,
            "saving": _finite(self.saving),
            "policies": {planned.policy: _planned_record(planned) for planned in self.budgets},
        }
        if self.time is not None:
            found["time"] = self.time
        if self.unknown:
            found["unknown"] = list(self.unknown)
        if self.simulated:
            found["simulated"] = {each.policy: each.record() for each in self.simulated}
        return found

    @property
    def has_costs(self) -> bool:
        """Whether budgets are money."""
        return any(cost != 1.0 for cost in self.costs)

    @property
    def title(self) -> str:
        """What was asked, in a line."""
        goal = f"({_objective_text(self.objective)})"
        what = "Budget" if self.has_costs else "Units"
        if self.target is not None:
            asked = f"{what} for an expected error of {self.target:g} {goal}"
        else:
            given = f"a budget of {self.budget:.10g}" if self.has_costs else f"{self.budget} units"
            asked = f"Expected error of {given} {goal}"
        return f"{asked}, {len(self.noise)} arms, {self.dim} features"

    @property
    def conclusion(self) -> str:
        """What the optimal allocation saves, in a sentence."""
        unit = "" if self.has_costs else " units"
        if not math.isfinite(self.saving):
            return "The budget is just enough for a model of every arm, and no error can be promised."
        needed = self["oracle"].budget + self.saving
        share = f"{self.saving:.10g}{unit} ({100.0 * self.saving / needed:.0f} %)"
        if self.target is not None:
            return f"The optimal allocation saves {share}."
        return f"To err as little, a uniform allocation needs {needed:.10g}{unit}: the optimal saves {share}."

    @property
    def remarks(self) -> list[str]:
        """What else is to be said of the numbers by closed form."""
        found = []
        if any(share < 1.0 for share in self.outcomes):
            found.append(f"Outcomes that are counted on: {self._counted_on()}.")
        if self.unknown:
            found.append(f"The closed form does not know {', '.join(self.unknown)}; a simulation does.")
        return found

    @property
    def simulation_remarks(self) -> list[str]:
        """What simulated errors are of: not of least squares, as those by closed form are."""
        kinds = {each.estimator for each in self.simulated} - {"ridge"}
        if not kinds:
            return []
        beside = "" if any(each.policy == "uniform" for each in self.simulated) else "; simulate uniform, too"
        return [
            f"Simulated errors are of shrunk estimates ({', '.join(sorted(kinds))}), those by closed form of "
            f"least squares: only policies that are both simulated can be compared{beside}."
        ]

    def _counted_on(self) -> str:
        groups: dict[str, list[str]] = {}
        for arm, share in zip(self.arms, self.outcomes, strict=True):
            groups.setdefault(f"{100 * share:.3g} %", []).append(arm)
        if len(groups) == 1:
            return next(iter(groups))
        return ", ".join(f"{share} of {' and '.join(arms)}" for share, arms in groups.items())

    def __str__(self) -> str:
        parts = [self.title, text_table(*self.table()), self.conclusion, *self.remarks]
        if self.simulated:
            parts += ["", text_table(self.simulated[0].headings(), [each.cells() for each in self.simulated])]
            parts += [fill(remark, 100) for remark in self.simulation_remarks]
        return "\n".join(parts)

    def _repr_html_(self) -> str:
        return html_table(*self.table())

    @property
    def guessed(self) -> bool:
        """Whether some noise was given as a range."""
        return any(low != high for low, high in self.noise_range)

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Headings and rows, one an allocation."""
        ranges = [each.budget_range if self.budget is None else each.error_range for each in self.budgets]
        guessed = any(low != high for low, high in ranges)
        timed = self.time is not None
        header = ["allocation", "budget" if self.has_costs else "units", "error"]
        if guessed:
            header.insert(2 if self.budget is None else 3, "if noise is low – high")
        if self.budget is not None:
            header.append("root")
        named = ", ".join(self.arms)
        plain = self.arms[0] == "arm-1" or len(named) > _LONGEST_HEADING
        header += ["units an arm" if plain else f"units of {named}"]
        header += [f"about {self.time}"] if timed else []
        rows = []
        for planned, (low, high) in zip(self.budgets, ranges, strict=True):
            row = [planned.policy, f"{planned.budget:.10g}", f"{planned.expected_error:.4g}"]
            if guessed and self.budget is None:
                row.insert(2, f"{low:.10g} – {high:.10g}")
            elif guessed:
                row.insert(3, f"{low:.3g} – {high:.3g}")
            if self.budget is not None:
                row.append(f"{math.sqrt(planned.expected_error):.3g}")
            row.append(" ".join(map(str, planned.counts)))
            rows.append([*row, *([f"{planned.duration:.3g}"] if planned.duration is not None else [])])
        return header, rows


def _planned_record(planned: PlannedBudget) -> dict[str, Any]:
    found = {
        "budget": planned.budget,
        "budget_range": list(planned.budget_range),
        "counts": list(planned.counts),
        "expected_error": _finite(planned.expected_error),
        "error_range": [_finite(end) for end in planned.error_range],
    }
    return found if planned.duration is None else {**found, "duration": planned.duration}


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def _objective_text(objective: Objective) -> str:
    if objective == "max":
        return "worst arm"
    return "mean of the arms" if objective == "mean" else f"{objective:g}-norm of the arms"
