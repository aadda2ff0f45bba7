"""GAFS-MAX (Antos et al. 2008): greedy allocation with forced selections."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from equipoise.core.arms.widths import is_number, need
from equipoise.core.arrays import Vector
from equipoise.core.policies.base.policy import Policy, register
from equipoise.core.problem.problem import Problem
from equipoise.errors import InvalidPolicy


@register("gafs-max")
@dataclass(frozen=True, kw_only=True)
class GAFSMax(Policy):
    """Pull the least pulled arm while it has fewer than ``forcing``·√t pulls; else score σ̂²/k.

    For linear arms the forced pulls are counted beyond the d that the coefficients use up: an arm is
    forced while k − d < forcing·√t. There is no width; the forcing alone guards against a σ̂² that
    came out too low.

    >>> GAFSMax(forcing=0.5).spec
    'gafs-max:forcing=0.5'
    """

    forcing: float = 1.0

    contrasts = {"forcing": ({}, {"forcing": 0.25})}

    def __post_init__(self) -> None:
        super().__post_init__()
        if not is_number(self.forcing) or not 0.0 <= self.forcing < math.inf:
            raise InvalidPolicy(f"forcing={self.forcing!r} is not a number of at least 0")

    def settings(self, problem: Problem) -> Vector:
        return np.array([float(self.forcing)])

    @staticmethod
    def score(arm: Any, trial: Any, settings: Vector) -> float:
        if arm.count - trial.dim < settings[0] * np.sqrt(trial.step):
            return np.inf
        return need(arm, trial, arm.noise_variance) / arm.count
