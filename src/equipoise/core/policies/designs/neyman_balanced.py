"""Units by the noise, as Neyman would have them, and every direction of the contexts by the same shares."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from equipoise.core.arithmetic.exponential import exp
from equipoise.core.arithmetic.logarithm import log
from equipoise.core.arms.widths import is_number, need, pooled_bound
from equipoise.core.arrays import Matrix, Vector
from equipoise.core.jit.decorators import inlined
from equipoise.core.policies.base.design import Design
from equipoise.core.policies.base.policy import register
from equipoise.core.problem.problem import Problem
from equipoise.errors import InvalidPolicy


@register("neyman-balanced")
@dataclass(frozen=True, kw_only=True)
class NeymanBalanced(Design):
    """Draw arms towards shares by noise, counted in the direction of the context (after Hu and Zhang 2004).

    π are the shares that the noise variances found so far make best. The doubly adaptive biased coin draws
    arm i in proportion to πᵢ·(πᵢ/its share of the units)^γ. Here its share is that of the information in the
    direction of x, xᵀS⁻¹x/xᵀSᵢ⁻¹x with S all units' XᵀX, so that units are balanced in every direction, and
    not only in number. The first d + 1 units of every arm go by direction alone.

    Parameters
    ----------
    gamma
        γ: how strongly arms that lack units are favoured; 0 draws by π alone.
    caution
        As in Trace-Gain: what is added to a variance for degrees of freedom that are missing.

    >>> NeymanBalanced(gamma=2).spec
    'neyman-balanced:gamma=2'
    """

    gamma: float = 30.0
    caution: float = 3.0

    looks = True
    pools = True
    forced_start = True
    contrasts = {"gamma": ({}, {"gamma": 0.0}), "caution": ({}, {"caution": 50.0})}

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, value in (("gamma", self.gamma), ("caution", self.caution)):
            if not is_number(value) or not 0.0 <= value < math.inf:
                raise InvalidPolicy(f"{name}={value!r} is not a number of at least 0")

    def settings(self, problem: Problem) -> Vector:
        return np.array([float(self.gamma), float(self.caution)])

    @staticmethod
    def weigh(
        arms: Any, trial: Any, settings: Vector, context: Vector, memory: Matrix, turns: Any, weights: Vector
    ) -> None:
        # πᵢ·(πᵢ·xᵀSᵢ⁻¹x)^γ over the largest of them, by logarithms: γ may be large.
        highest = -np.inf
        for i in range(weights.shape[0]):
            if weights[i] >= 0.0:
                highest = max(highest, _log_weight(arms[i], trial, settings))
        for i in range(weights.shape[0]):
            if weights[i] >= 0.0:
                weights[i] = (
                    exp(_log_weight(arms[i], trial, settings) - highest) if highest > -np.inf else 1.0
                )

    @staticmethod
    def score(arm: Any, trial: Any, settings: Vector) -> float:
        return _share(arm, trial, settings) * arm.trace


@inlined
def _share(arm: Any, trial: Any, settings: Vector) -> float:
    """What the arm's share of the units is to be proportional to."""
    return need(arm, trial, pooled_bound(arm, trial, settings[1]))


@inlined
def _log_weight(arm: Any, trial: Any, settings: Vector) -> float:
    share = _share(arm, trial, settings)
    lacks = share * arm.leverage
    if not (share > 0.0 and lacks > 0.0):
        return -np.inf
    return log(share) + settings[0] * log(lacks)
