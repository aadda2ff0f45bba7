"""Permuted blocks: after every block all arms have the same number of units, in every stratum."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from equipoise.core.arrays import Matrix, Vector
from equipoise.core.draws.streams import LOT, start, uniform
from equipoise.core.policies.base.design import Design
from equipoise.core.policies.base.features import checked_count
from equipoise.core.policies.base.policy import register
from equipoise.core.policies.designs import strata
from equipoise.core.policies.designs.strata import stratum
from equipoise.core.problem.problem import Problem
from equipoise.errors import InvalidPolicy

# Draws of a unit: the first is its arm.
_SIZE_OF_BLOCK = 1


@register("permuted-blocks")
@dataclass(frozen=True, kw_only=True)
class PermutedBlocks(Design):
    """Draw arms without replacement from blocks, in which every arm stands equally often, within strata.

    A unit of an arm that its block has no place left for, because it was told or the others are closed,
    begins a new block.

    Parameters
    ----------
    per_arm
        How often every arm stands in a block: 2 makes blocks of 2m units. Several numbers, as (1, 2, 3):
        each block draws one of them, which makes its end hard to guess.
    columns
        Columns of the contexts, counted from 0, whose levels make the strata; none: one list for all.
    cuts
        Numbers that divide a column into levels; or a tuple of them for every column.

    >>> PermutedBlocks(per_arm=(1, 2), columns=(0, 2)).spec
    'permuted-blocks:per_arm=1,2:columns=0,2'
    """

    per_arm: int | tuple[int, ...] = 2
    columns: tuple[int, ...] = ()
    cuts: tuple[Any, ...] = (0.0,)

    categorises = True
    contrasts = {
        "per_arm": ({}, {"per_arm": (1, 3)}),
        "columns": ({}, {"columns": (0, 1)}),
        "cuts": ({"columns": (0,)}, {"columns": (0,), "cuts": (-1.0, 1.0)}),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        sizes = self.per_arm if isinstance(self.per_arm, tuple) else (self.per_arm,)
        if not sizes:
            raise InvalidPolicy("per_arm= is empty", hint="e.g. per_arm=2, or per_arm=(1, 2, 3)")
        for size in sizes:
            checked_count("per_arm", size, least=1)
        object.__setattr__(self, "columns", strata.checked_columns(self.columns))
        object.__setattr__(self, "cuts", strata.checked_cuts(self.cuts, self.columns))

    def settings(self, problem: Problem) -> Vector:
        columns = strata.columns_of(self.label, self.columns, problem)
        strata.check_strata(self.label, columns, self.cuts)
        sizes = self.per_arm if isinstance(self.per_arm, tuple) else (self.per_arm,)
        return np.array([float(len(sizes)), *map(float, sizes), *strata.pack(columns, self.cuts)])

    def memory(self, problem: Problem) -> tuple[int, int]:
        """Places left for every arm in the open block of every stratum."""
        return strata.check_strata(self.label, self.columns, self.cuts), len(problem.arms)

    def recut(self, factors: Sequence[float]) -> PermutedBlocks:
        return dataclasses.replace(self, cuts=strata.recut(self.columns, self.cuts, factors))

    @staticmethod
    def weigh(
        arms: Any, trial: Any, settings: Vector, context: Vector, memory: Matrix, turns: Any, weights: Vector
    ) -> None:
        # Weights that are all 0 make arms alike: that is how a new block begins.
        block = memory[stratum(settings, 1 + int(settings[0]), context)]
        for i in range(weights.shape[0]):
            if weights[i] >= 0.0:
                weights[i] = block[i]

    @staticmethod
    def remember(
        trial: Any, settings: Vector, context: Vector, memory: Matrix, stream: Any, row: int, arm: int
    ) -> None:
        sizes = int(settings[0])
        block = memory[stratum(settings, 1 + sizes, context)]
        if block[arm] < 1.0:
            start(stream, trial.seed, trial.number, LOT, row, _SIZE_OF_BLOCK)
            size = settings[1 + int(uniform(stream) * sizes)]
            for i in range(trial.arms):
                block[i] = size
        block[arm] -= 1.0
