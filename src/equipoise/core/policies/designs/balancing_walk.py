"""The balancing walk: sums of contexts, arms against arms, are kept small."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from equipoise.core.arms.widths import is_number
from equipoise.core.arrays import Matrix, Vector
from equipoise.core.policies.base.design import Design
from equipoise.core.policies.base.policy import register
from equipoise.core.policies.designs.shares import SHARES, SPARE, count_unit, find_shares, memory_rows
from equipoise.core.problem.problem import Problem
from equipoise.errors import InvalidPolicy


@register("balancing-walk")
@dataclass(frozen=True, kw_only=True)
class BalancingWalk(Design):
    """Draw against the sum of signed contexts so far, so that it stays small (Alweiss, Liu, Sawhney 2021).

    With two arms and signs ±1, w is the sum of the signed rows (1, x), and a unit with row f goes to the
    first arm with probability ½ − ½⟨w, f⟩/(slack·q), cut to [0, 1]. The product is taken in the metric in
    which the contexts seen have moment identity, so that ⟨f, f⟩ is q = d + 1 on average. More arms are the
    leaves of a binary tree, each node of which is such a walk between its halves (Arbour et al. 2022).

    Parameters
    ----------
    slack
        The larger, the nearer to complete randomisation; the smaller, the more even and the easier to guess.

    >>> BalancingWalk(slack=2).spec
    'balancing-walk:slack=2'
    """

    slack: float = 1.0

    contrasts = {"slack": ({}, {"slack": 10.0})}

    def __post_init__(self) -> None:
        super().__post_init__()
        if not is_number(self.slack) or not 0.0 < self.slack < math.inf:
            raise InvalidPolicy(f"slack={self.slack!r} is not a positive number", hint="e.g. 1.0")

    def settings(self, problem: Problem) -> Vector:
        return np.array([float(self.slack)])

    def memory(self, problem: Problem) -> tuple[int, int]:
        rows, width = memory_rows(problem)
        return rows, max(width, len(problem.arms) + 1)

    @staticmethod
    def weigh(
        arms: Any, trial: Any, settings: Vector, context: Vector, memory: Matrix, turns: Any, weights: Vector
    ) -> None:
        m, q = trial.arms, trial.dim + 1
        find_shares(memory, context, m, trial.step)
        shares, sums = memory[q + m + SHARES], memory[q + m + SPARE]
        # Sums of shares over the first arms that may be chosen, in the seed's order.
        leaves = 0
        sums[0] = 0.0
        for t in range(m):
            if weights[turns[t]] >= 0.0:
                sums[leaves + 1] = sums[leaves] + shares[turns[t]]
                leaves += 1
        scale = trial.step / (settings[0] * q)
        leaf = 0
        for t in range(m):
            if weights[turns[t]] >= 0.0:
                low, high, weight = 0, leaves, 1.0
                while high - low > 1:
                    middle = (low + high) // 2
                    part = (middle - low) / (high - low)
                    left, right = sums[middle] - sums[low], sums[high] - sums[middle]
                    walk = scale * ((1.0 - part) * left - part * right)
                    first = min(max(part - walk, 0.0), 1.0)
                    if leaf < middle:
                        high, weight = middle, weight * first
                    else:
                        low, weight = middle, weight * (1.0 - first)
                weights[turns[t]] = weight
                leaf += 1

    @staticmethod
    def remember(
        trial: Any, settings: Vector, context: Vector, memory: Matrix, stream: Any, row: int, arm: int
    ) -> None:
        count_unit(memory, context, trial.arms, arm)
