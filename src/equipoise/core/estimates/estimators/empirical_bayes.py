"""``"empirical-bayes"``: every arm for itself, towards 0, as far as its data justify; see stein.py."""

from __future__ import annotations

from equipoise.core.arms.state import State
from equipoise.core.estimates.estimators.estimator import Estimator, register
from equipoise.core.estimates.estimators.stein import prepare, shrink_arm
from equipoise.core.estimates.estimators.workspace import Workspace
from equipoise.core.jit.decorators import compiled


@compiled
def shrink_to_zero(state: State, work: Workspace) -> None:
    """Write every arm's coefficients, λ and errors."""
    prepare(state, work)
    for i in range(work.ridges.shape[0]):
        for c in range(work.centers.shape[1]):
            work.centers[i, c] = 0.0
        shrink_arm(state, work, i, work.usual_ridge[0])


register(Estimator("empirical-bayes", shrink_to_zero))
