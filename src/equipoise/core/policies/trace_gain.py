"""Trace-Gain: send each unit to the arm whose prediction for it is the least certain."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from equipoise.core.arms.spread import CONSTANT, UNEQUAL, check_spread
from equipoise.core.arms.widths import Width, is_number, need, noise_bound, pooled_bound
from equipoise.core.arrays import Vector
from equipoise.core.policies.base.policy import Policy, register
from equipoise.core.problem.problem import Problem
from equipoise.errors import InvalidPolicy

# Units an arm below which pooling does worse than Trace-UCB's bound: benchmarks/pages/no_features.py.
_SCARCE = 10


@register("trace-gain")
@dataclass(frozen=True, kw_only=True)
class TraceGain(Policy):
    """Score u·xᵀS⁻¹x: how uncertain the arm's prediction is at the context at hand.

    On average over the population that is u·Tr(ΣS⁻¹), the error that the arm should expect, so arms are kept
    level as by Trace-UCB; and each gets the contexts that lie where it knows least. Only the direction of a
    context decides, not its length: arms are not given longer or shorter contexts than others. u is the
    arm's σ̂² pooled with those of the other arms as far as they resemble each other, raised by 1 + a + a²,
    a = caution/f, where it rests on f degrees of freedom. docs/policies/trace-gain.md derives all of it.

    With one feature, or a constant alone, there is nothing to look at, and with fewer than ten units an arm
    little to pool: u is then the bound that Trace-UCB has, and so are the decisions.

    Parameters
    ----------
    caution
        How much is added for degrees of freedom that are missing: the larger, the longer an arm with
        a low σ̂² is doubted.
    chance
        Share of units whose arm is drawn by lot, for protocols that demand it; see
        :attr:`equipoise.Assignment.propensities`.
    spread
        ``"constant"``, or ``"unequal"``: each arm's error is multiplied by what noise that depends on the
        context does to it, see :mod:`equipoise.core.arms.spread`.

    >>> TraceGain(caution=4).spec
    'trace-gain:caution=4'
    """

    caution: float = 3.0
    chance: float = 0.0
    spread: str = CONSTANT

    looks = True
    pools = True
    contrasts = {
        "caution": ({}, {"caution": 30.0}),
        "chance": ({}, {"chance": 0.5}),
        "spread": ({}, {"spread": UNEQUAL}),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if not is_number(self.caution) or not 0.0 <= self.caution < math.inf:
            raise InvalidPolicy(f"caution={self.caution!r} is not a number of at least 0")
        if not is_number(self.chance) or not 0.0 <= self.chance <= 1.0:
            raise InvalidPolicy(
                f"chance={self.chance!r} is not between 0 and 1", hint="e.g. 0.2: every fifth unit by lot"
            )

        check_spread(self.spread)

    def lots(self) -> float:
        return float(self.chance)

    def keeps_spread(self) -> bool:
        return self.spread == UNEQUAL

    def settings(self, problem: Problem) -> Vector:
        scarce = problem.dim == 1 and problem.units < _SCARCE * len(problem.arms)
        return np.concatenate([Width().pack(problem), [float(self.caution), float(scarce)]])

    @staticmethod
    def score(arm: Any, trial: Any, settings: Vector) -> float:
        if settings[4] > 0.0:
            return need(arm, trial, noise_bound(arm, trial, settings)) * arm.leverage
        return need(arm, trial, pooled_bound(arm, trial, settings[3])) * arm.leverage
