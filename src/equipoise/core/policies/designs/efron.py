"""Efron's biased coin: the arm that is behind is favoured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from equipoise.core.arrays import Matrix, Vector
from equipoise.core.policies.base.design import Design
from equipoise.core.policies.base.policy import register
from equipoise.core.policies.designs.favouring import check_favour, favour_least
from equipoise.core.problem.problem import Problem


@register("efron")
@dataclass(frozen=True, kw_only=True)
class Efron(Design):
    """Favour the arm with the fewest units, with probability p (Efron 1971).

    With more than two arms the arm that is behind has p, and the others share 1 − p equally; arms that tie
    share what they have together.

    Parameters
    ----------
    p
        Probability of the arm that is behind; 2/3 in the source. 1 is round robin in random order.

    >>> Efron(p=0.75).spec
    'efron:p=0.75'
    """

    p: float = 2 / 3

    contrasts = {"p": ({}, {"p": 0.95})}

    def __post_init__(self) -> None:
        super().__post_init__()
        check_favour("efron", self.p)

    def settings(self, problem: Problem) -> Vector:
        check_favour(self.label, self.p, problem)
        return np.array([float(self.p)])

    @staticmethod
    def weigh(
        arms: Any, trial: Any, settings: Vector, context: Vector, memory: Matrix, turns: Any, weights: Vector
    ) -> None:
        for i in range(weights.shape[0]):
            if weights[i] >= 0.0:
                weights[i] = float(arms[i].assigned)
        favour_least(weights, settings[0])
