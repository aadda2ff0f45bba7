"""``"empirical-bayes"``: every arm for itself, towards 0, as far as its data justify; see stein.py."""

from __future__ import annotations

from equipoise.core.arms.state import State
from equipoise.core.estimates.estimators.estimator import Estimator, register
from equipoise.core.estimates.estimators.room import Room
from equipoise.core.estimates.estimators.stein import prepare, shrink_arm
from equipoise.core.jit.decorators import compiled


@compiled
def shrink_to_zero(state: State, room: Room) -> None:
    """Write every arm's coefficients, λ and errors."""
    prepare(state, room)
    for i in range(room.ridges.shape[0]):
        for c in range(room.centers.shape[1]):
            room.centers[i, c] = 0.0
        shrink_arm(state, room, i, room.usual_ridge[0])


register(Estimator("empirical-bayes", shrink_to_zero))
