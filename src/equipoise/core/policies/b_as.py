"""B-AS (Carpentier et al. 2011): a Bernstein bound on the standard deviation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from equipoise.core.arithmetic.logarithm import log
from equipoise.core.arms.widths import need
from equipoise.core.arrays import Vector
from equipoise.core.policies.base.policy import register
from equipoise.core.policies.base.published import PublishedWidthPolicy
from equipoise.core.problem.problem import Problem


@register("b-as")
@dataclass(frozen=True, kw_only=True)
class BAS(PublishedWidthPolicy):
    """Score (σ̂ + 2a·√(log(2/δ)/dof))²/k with δ = n^(−9/2) unless given.

    a is the source's constant for sub-Gaussian outcomes with c₁ = 2·scale, c₂ = 1, which is what it
    takes for Gaussian noise. As in CH-AS, dof = k − d takes the place of the number of pulls and the
    scale is the arms' mean σ̂².

    >>> BAS(width=0.1).spec
    'b-as:width=0.1'
    """

    recommended_power = -4.5

    def settings(self, problem: Problem) -> Vector:
        delta = self.chosen_delta(problem)
        depth = log(1.0 / delta)
        spread = 2.0 * math.sqrt(2.0 * depth) + math.sqrt(2.0 * delta * (2.0 + depth) * problem.units) / (
            (1.0 - delta) * math.sqrt(2.0 * log(2.0 / delta))
        )
        factor = 2.0 * spread * math.sqrt(log(2.0 / delta))
        return factor * np.sqrt(self.scales())

    @staticmethod
    def score(arm: Any, trial: Any, settings: Vector) -> float:
        width = settings[0] * np.sqrt(trial.mean_variance) + settings[1]
        deviation = np.sqrt(arm.noise_variance) + width * arm.inverse_root_dof
        return need(arm, trial, deviation * deviation) / arm.count
