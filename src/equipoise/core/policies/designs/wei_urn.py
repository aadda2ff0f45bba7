"""Wei's urn: balance that is strong in the beginning and fades."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from equipoise.core.arms.widths import is_number
from equipoise.core.arrays import Matrix, Vector
from equipoise.core.policies.base.design import Design
from equipoise.core.policies.base.policy import register
from equipoise.core.problem.problem import Problem
from equipoise.errors import InvalidPolicy


@register("wei-urn")
@dataclass(frozen=True, kw_only=True)
class WeiUrn(Design):
    """Draw balls from an urn: after each unit every other arm gets balls (UD(α, β), Wei 1978).

    An arm's weight is α + β·(units of the other arms). While the urn is empty all arms are alike.

    Parameters
    ----------
    alpha
        Balls of every arm in the beginning.
    beta
        Balls that every other arm gets when a unit is assigned.

    >>> WeiUrn(alpha=1).spec
    'wei-urn:alpha=1'
    """

    alpha: float = 0.0
    beta: float = 1.0

    contrasts = {"alpha": ({}, {"alpha": 50.0}), "beta": ({"alpha": 1.0}, {"alpha": 1.0, "beta": 0.01})}

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, value in (("alpha", self.alpha), ("beta", self.beta)):
            if not is_number(value) or not 0.0 <= value < math.inf:
                raise InvalidPolicy(f"{name}={value!r} is not a number of balls", hint="e.g. 0 or 1")

    def settings(self, problem: Problem) -> Vector:
        return np.array([float(self.alpha), float(self.beta)])

    @staticmethod
    def weigh(
        arms: Any, trial: Any, settings: Vector, context: Vector, memory: Matrix, turns: Any, weights: Vector
    ) -> None:
        for i in range(weights.shape[0]):
            if weights[i] >= 0.0:
                weights[i] = settings[0] + settings[1] * (trial.step - arms[i].assigned)
