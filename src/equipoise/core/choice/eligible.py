"""Which arms may get the next unit, where arms have costs, floors or caps, or are closed.

Money left pays for the floors first: an arm that has its floor may be chosen only if what is left
afterwards still fills every other arm's floor. A floor reserves nothing once the money left does not
pay for a single unit of its arm.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from equipoise.core.arms.state import State
from equipoise.core.arrays import Vector
from equipoise.core.jit.decorators import compiled, inlined
from equipoise.core.problem.costs import ROUNDING

# What an arm that may be chosen scores at least, so that it stands above those that may not.
_LOWEST = -np.finfo(np.float64).max


@compiled
def restrict(state: State, scores: Vector) -> bool:
    """Set the scores of arms that may not be chosen to minus infinity; False if none may.

    A policy that looks gives the units of its start to arms short of d + 1, if any of them may be chosen.
    """
    dim = state.trial[0].dim
    left = state.trial[0].money
    for i in range(scores.shape[0]):
        left -= state.arms[i].cost * state.arms[i].assigned
    reserve = 0.0
    for i in range(scores.shape[0]):
        reserve += state.arms[i].cost * _owed(state.arms[i], left)
    possible, starting = False, False
    for i in range(scores.shape[0]):
        arm = state.arms[i]
        free = left if _owed(arm, left) > 0 else left - reserve
        if arm.open and arm.eligible and arm.assigned < arm.cap and _pays(free, arm.cost):
            scores[i] = scores[i] if scores[i] > _LOWEST else _LOWEST
            possible = True
            starting = starting or arm.count <= dim
        else:
            scores[i] = -np.inf
    if starting and state.trial[0].looks and state.trial[0].forced_start:
        for i in range(scores.shape[0]):
            if state.arms[i].count > dim:
                scores[i] = -np.inf
    return possible


@inlined
def _owed(arm: Any, left: float) -> int:
    """Units that the arm still lacks to its floor, and can still get."""
    if not arm.open or not _pays(left, arm.cost):
        return 0
    lacking: int = max(min(arm.floor - arm.count - arm.set_aside, arm.cap - arm.assigned), 0)
    return lacking


@inlined
def _pays(money: float, cost: float) -> bool:
    return money >= cost * (1.0 - ROUNDING)
