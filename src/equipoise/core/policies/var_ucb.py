"""Var-UCB: the same noise bound, blind to the contexts (Remark 2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from equipoise.core.arms.widths import need, noise_bound
from equipoise.core.arrays import Vector
from equipoise.core.policies.base.policy import register
from equipoise.core.policies.base.ucb import BoundedPolicy


@register("var-ucb")
@dataclass(frozen=True, kw_only=True)
class VarUCB(BoundedPolicy):
    """Score (σ̂² + Δ)/k, eq. (16).

    >>> VarUCB(width=0.5).spec
    'var-ucb:width=0.5'
    """

    @staticmethod
    def score(arm: Any, trial: Any, settings: Vector) -> float:
        return need(arm, trial, noise_bound(arm, trial, settings)) / arm.count
