"""Minimisation: the arm that leaves the margins of chosen categories most even is favoured."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from equipoise.core.arrays import Matrix, Vector
from equipoise.core.jit.decorators import compiled
from equipoise.core.policies.base.design import Design
from equipoise.core.policies.base.policy import register
from equipoise.core.policies.designs import strata
from equipoise.core.policies.designs.favouring import check_favour, favour_least
from equipoise.core.policies.designs.strata import level
from equipoise.core.problem.problem import Problem
from equipoise.errors import InvalidPolicy

_HEADER = 2


@register("minimisation")
@dataclass(frozen=True, kw_only=True)
class Minimisation(Design):
    """Favour the arm that keeps the margins of the categories even (Pocock and Simon 1975).

    For every column, the units before with this unit's level are counted an arm. Each arm is tried: with the
    unit in it, how uneven are the counts, summed over columns? The arm with the smallest sum gets the unit
    with probability p; the others share 1 − p equally, and arms that tie share what they have together.

    Parameters
    ----------
    p
        Probability of the best arm; 1 leaves only ties to chance.
    measure
        How uneven counts are: ``"range"``, largest minus smallest, or ``"variance"``.
    columns
        Columns of the contexts, counted from 0; all unless given.
    cuts
        Numbers that divide a column into levels; or a tuple of them for every column.

    >>> Minimisation(p=0.9, columns=(0, 1)).spec
    'minimisation:p=0.9:columns=0,1'
    """

    p: float = 0.8
    measure: str = "variance"
    columns: tuple[int, ...] | None = None
    cuts: tuple[Any, ...] = (0.0,)

    categorises = True
    contrasts = {
        "p": ({}, {"p": 1.0}),
        "measure": ({}, {"measure": "range"}),
        "columns": ({}, {"columns": (0,)}),
        "cuts": ({}, {"cuts": (-1.0, 1.0)}),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        check_favour("minimisation", self.p)
        if self.measure not in ("range", "variance"):
            raise InvalidPolicy(f"measure={self.measure!r} is neither 'range' nor 'variance'")
        columns = self.columns if self.columns is None else strata.checked_columns(self.columns)
        if columns == ():
            raise InvalidPolicy("minimisation without a column", hint="efron balances the arms' counts alone")
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "cuts", strata.checked_cuts(self.cuts, columns))

    def settings(self, problem: Problem) -> Vector:
        check_favour(self.label, self.p, problem)
        columns = strata.columns_of(self.label, self.columns, problem)
        by_range = float(self.measure == "range")
        return np.array([float(self.p), by_range, *strata.pack(columns, self.cuts)])

    def memory(self, problem: Problem) -> tuple[int, int]:
        """Units an arm of every level of every column."""
        columns = strata.columns_of(self.label, self.columns, problem)
        levels = [len(own) + 1 for own in strata.cuts_of(columns, self.cuts)]
        return int(np.add.accumulate(levels)[-1]), len(problem.arms)

    def recut(self, factors: Sequence[float]) -> Minimisation:
        columns = tuple(range(len(factors))) if self.columns is None else self.columns
        cuts = strata.recut(columns, self.cuts, factors)
        return dataclasses.replace(self, columns=columns, cuts=cuts)

    @staticmethod
    def weigh(
        arms: Any, trial: Any, settings: Vector, context: Vector, memory: Matrix, turns: Any, weights: Vector
    ) -> None:
        for i in range(weights.shape[0]):
            weights[i] = min(weights[i], 0.0)
        place, row = _HEADER + 1, 0
        for _ in range(int(settings[_HEADER])):
            counts = memory[row + level(settings, place, context)]
            if settings[1] > 0.0:
                _add_ranges(counts, weights)
            else:
                _add_variances(counts, weights)
            row += int(settings[place + 1]) + 1
            place += int(settings[place + 1]) + 2
        favour_least(weights, settings[0])

    @staticmethod
    def remember(
        trial: Any, settings: Vector, context: Vector, memory: Matrix, stream: Any, row: int, arm: int
    ) -> None:
        place, begin = _HEADER + 1, 0
        for _ in range(int(settings[_HEADER])):
            memory[begin + level(settings, place, context), arm] += 1.0
            begin += int(settings[place + 1]) + 1
            place += int(settings[place + 1]) + 2


@compiled
def _add_ranges(counts: Vector, weights: Vector) -> None:
    """Largest minus smallest count, were the unit in each arm; arms that may not be chosen do not count."""
    largest, least, second, mark = -1.0, np.inf, np.inf, -1
    for i in range(counts.shape[0]):
        if weights[i] >= 0.0:
            largest = max(largest, counts[i])
            if counts[i] < least:
                least, second, mark = counts[i], least, i
            else:
                second = min(second, counts[i])
    for i in range(counts.shape[0]):
        if weights[i] >= 0.0:
            low = min(second, counts[i] + 1.0) if i == mark else least
            weights[i] += max(largest, counts[i] + 1.0) - low


@compiled
def _add_variances(counts: Vector, weights: Vector) -> None:
    """m² times the variance, were the unit in each arm: in whole numbers, so that ties are exact."""
    candidates, total, squares = 0, 0.0, 0.0
    for i in range(counts.shape[0]):
        if weights[i] >= 0.0:
            candidates += 1
            total += counts[i]
            squares += counts[i] * counts[i]
    for i in range(counts.shape[0]):
        if weights[i] >= 0.0:
            more = squares + 2.0 * counts[i] + 1.0
            weights[i] += candidates * more - (total + 1.0) * (total + 1.0)
