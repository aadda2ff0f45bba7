"""Uniform: round robin, the baseline that learns nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from equipoise.core.arrays import Vector
from equipoise.core.policies.base.policy import Policy, register


@register("uniform")
@dataclass(frozen=True, kw_only=True)
class Uniform(Policy):
    """Pull the arm with the fewest units.

    >>> Uniform().spec
    'uniform'
    """

    forced_start = False
    counts_alone = True

    @staticmethod
    def score(arm: Any, trial: Any, settings: Vector) -> float:
        return -float(arm.count)
