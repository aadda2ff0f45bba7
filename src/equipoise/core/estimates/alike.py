"""Outcomes that are all alike say nothing about the noise.

Nobody of the first 25 said yes: the residuals are 0, and so is σ̂². That is no sign that outcomes do not
vary; what comes once in ten units stays unseen that long in 7 of 100 experiments, and how far such an outcome
would lie from the others nobody knows. So the noise of such an arm is taken as unknown, as if there were no
degree of freedom. Outcomes that differ and fit exactly are another matter: they do show a line without noise.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from equipoise.core.arms.baseline import outcomes_kept
from equipoise.core.arms.state import TOLD, State
from equipoise.core.arrays import Vector
from equipoise.core.jit.decorators import compiled

# Residuals below 10⁻⁸ of the outcomes are rounding.
_ROUNDING = 1e-16


def alike_arms(state: State) -> npt.NDArray[np.bool_]:
    """Which arms have degrees of freedom, and outcomes that are all alike."""
    return np.array([outcomes_alike(state, i) for i in range(len(state.arms))], bool)


def are_alike(outcomes: Vector, rss: float) -> bool:
    """Whether outcomes are all alike and a model with that residual sum of squares fits them."""
    if not len(outcomes) or not np.all(outcomes == outcomes[0]):
        return False
    return bool(rss <= _ROUNDING * len(outcomes) * (outcomes[0] * outcomes[0]))


@compiled
def outcomes_alike(state: State, i: int) -> bool:
    """Whether arm i has degrees of freedom, and outcomes that are all alike and fit."""
    arm = state.arms[i]
    if arm.dof < 1:
        return False
    found, first = False, 0.0
    if outcomes_kept(state, i) > 0:
        # Redacted units: they were alike if nothing lies beside their mean.
        found, first = True, state.baselines[1 + i].mean
        if state.baselines[1 + i].squares > 0.0 or not arm.rss <= _ROUNDING * arm.observed * (first * first):
            return False
    row = arm.last_row
    while row >= 0:
        if state.rows[row].status == TOLD:
            if not found:
                found, first = True, state.outcomes[row]
                if not arm.rss <= _ROUNDING * arm.observed * (first * first):
                    return False
            elif state.outcomes[row] != first:
                return False
        row = state.rows[row].previous
    return True
