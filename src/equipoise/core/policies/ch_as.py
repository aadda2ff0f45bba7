"""CH-AS (Carpentier et al. 2011): a Chernoff–Hoeffding bound on the variance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from equipoise.core.arithmetic.logarithm import log
from equipoise.core.arms.widths import need, noise_bound
from equipoise.core.arrays import Vector
from equipoise.core.policies.base.policy import register
from equipoise.core.policies.base.published import PublishedWidthPolicy
from equipoise.core.problem.problem import Problem


@register("ch-as")
@dataclass(frozen=True, kw_only=True)
class CHAS(PublishedWidthPolicy):
    """Score (σ̂² + 5·scale·√(log(1/δ)/(2·dof)))/k with δ = n^(−5/2) unless given.

    For linear arms σ̂² is the residual variance and dof = k − d takes the place of the number of
    pulls in the width, as the paper does for Var-UCB. The source assumes outcomes in [0, 1]; here
    the scale is the arms' mean σ̂².

    >>> CHAS(width=0.1).spec
    'ch-as:width=0.1'
    """

    recommended_power = -2.5

    def settings(self, problem: Problem) -> Vector:
        factor = 5.0 * math.sqrt(log(1.0 / self.chosen_delta(problem)) / 2.0)
        return factor * np.array([*self.scales(), 0.0])

    @staticmethod
    def score(arm: Any, trial: Any, settings: Vector) -> float:
        return need(arm, trial, noise_bound(arm, trial, settings)) / arm.count
