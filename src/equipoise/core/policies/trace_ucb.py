"""Trace-UCB: pull the arm whose error bound is largest (Algorithm 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from equipoise.core.arms.spread import CONSTANT, UNEQUAL, check_spread
from equipoise.core.arms.widths import need, noise_bound
from equipoise.core.arrays import Vector
from equipoise.core.policies.base.policy import register
from equipoise.core.policies.base.ucb import BoundedPolicy


@register("trace-ucb")
@dataclass(frozen=True, kw_only=True)
class TraceUCB(BoundedPolicy):
    """Score (σ̂² + Δ)·Tr(ΣS⁻¹), eq. (12): noise and context balance together.

    For objectives other than "max" the bound is raised to p/(p+1).

    Parameters
    ----------
    width, bound, delta
        The bound, as for all UCB policies.
    spread
        ``"constant"``, or ``"unequal"``: each arm's error is multiplied by what noise that depends on the
        context does to it, see :mod:`equipoise.core.arms.spread`.

    >>> TraceUCB(width="chi-square", delta=0.1).spec
    'trace-ucb:width=chi-square:delta=0.1'
    """

    spread: str = CONSTANT

    contrasts = {**BoundedPolicy.contrasts, "spread": ({}, {"spread": UNEQUAL})}

    def __post_init__(self) -> None:
        super().__post_init__()
        check_spread(self.spread)

    def keeps_spread(self) -> bool:
        return self.spread == UNEQUAL

    @staticmethod
    def score(arm: Any, trial: Any, settings: Vector) -> float:
        return need(arm, trial, noise_bound(arm, trial, settings)) * arm.trace
