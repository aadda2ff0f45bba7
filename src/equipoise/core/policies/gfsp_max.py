"""GFSP-MAX (Antos et al. 2008): greedy allocation with forced selections in phases."""

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


@register("gfsp-max")
@dataclass(frozen=True, kw_only=True)
class GFSPMax(Policy):
    """In phase p pull every arm once, then give ``greedy``·p pulls to the largest σ̂²/k.

    Phases start after the m(d+1) pulls of the start. Forced pulls then number about √(2t/greedy) an
    arm, the order of growth that GAFS-MAX forces; the lengths of the phases are a choice of this
    package.

    >>> GFSPMax(greedy=7).spec
    'gfsp-max:greedy=7'
    """

    greedy: int = 1

    contrasts = {"greedy": ({}, {"greedy": 20})}

    def __post_init__(self) -> None:
        super().__post_init__()
        if not is_number(self.greedy) or not 1 <= self.greedy < math.inf or self.greedy != int(self.greedy):
            raise InvalidPolicy(f"greedy={self.greedy!r} is not a whole number of at least 1")

    def settings(self, problem: Problem) -> Vector:
        return np.array([float(self.greedy)])

    @staticmethod
    def score(arm: Any, trial: Any, settings: Vector) -> float:
        greedy = settings[0]
        elapsed = max(trial.step - trial.arms * (trial.dim + 1), 0)
        # P whole phases take mP + greedy·P(P+1)/2 pulls; the root may be off by one through rounding.
        half = trial.arms / greedy + 0.5
        phases = np.floor(np.sqrt(half * half + 2.0 * elapsed / greedy) - half)
        if phases * trial.arms + greedy * phases * (phases + 1.0) / 2.0 > elapsed:
            phases -= 1.0
        offset = elapsed - phases * trial.arms - greedy * phases * (phases + 1.0) / 2.0
        if offset >= trial.arms + greedy * (phases + 1.0):
            offset -= trial.arms + greedy * (phases + 1.0)
        if offset < trial.arms:
            return np.inf if arm.order == offset else -1.0
        return need(arm, trial, arm.noise_variance) / arm.count
