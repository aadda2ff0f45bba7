"""Look at the next context before choosing: how little does every arm know there?

The leverage xᵀS⁻¹x is the variance of an arm's prediction at x over its noise variance. Its mean over the
population is Tr(ΣS⁻¹). It costs O(d²) an arm. Arms whose S is not invertible yet are measured by a
provisional design.
"""

from __future__ import annotations

from typing import Any

from equipoise.core.arms import factor, provisional
from equipoise.core.arms.least_squares import design_place, per_context
from equipoise.core.arms.state import State
from equipoise.core.arms.whitening import whiten
from equipoise.core.jit.decorators import compiled


@compiled
def look(state: State) -> None:
    """Write every arm's leverage of the context in the next free row, and provisional traces."""
    look_at(state, slice(0, state.arms.shape[0]))


@compiled
def look_at(state: State, which: Any) -> None:
    """Do that for a slice of the arms."""
    trial = state.trial[0]
    for i in range(which.start, which.stop):
        if not state.arms[i].design_ready and not state.arms[i].provisional:
            provisional.rebuild(state, i)
    whiten(state.whitener, state.contexts, trial.step, state.z)
    for i in range(which.start, which.stop):
        arm = state.arms[i]
        if not arm.design_ready and not arm.provisional:
            # Nothing is known of any arm's design: all contexts are alike to all arms.
            arm.leverage = arm.trace = 1.0
            continue
        place = design_place(arm) if arm.design_ready else factor.beside(arm.buffer)
        arm.leverage = factor.project(state.factors, i, place, state.z, state.f)
        if not arm.design_ready:
            arm.trace = per_context(trial, arm.provisional_sum)
