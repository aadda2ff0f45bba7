"""Coverage of robust intervals in simulated trials: those of ``estimates(intervals="robust")``.

They only report, so they are made by the same code that experiments use and not compiled.
"""

from __future__ import annotations

import numpy as np

from equipoise.core.arms.coordinates import to_user_coordinates
from equipoise.core.arms.state import State
from equipoise.core.arrays import Matrix, Vector
from equipoise.core.estimates.alike import outcomes_alike
from equipoise.core.estimates.intervals import t_quantile, variance_inflation
from equipoise.core.estimates.robust import sandwich_of
from equipoise.lab.trial.student import CONFIDENCE


def judge_robust(
    state: State, elasticity: Vector, truth: Matrix, coverage: Vector, plain_coverage: Vector
) -> None:
    """Write what every arm's robust intervals cover, with and without the correction for allocation."""
    inflation = variance_inflation(state.arms["dof"], elasticity)
    dim = truth.shape[1]
    for i, coef in enumerate(truth):
        coverage[i] = plain_coverage[i] = 1.0  # of intervals without bounds
        if not state.arms["data_ready"][i] or outcomes_alike(state, i):
            continue
        root, least_squares = np.zeros((dim, dim)), np.zeros(dim)
        to_user_coordinates(state, i, root, least_squares)
        sandwich = sandwich_of(state, i, least_squares, root)
        if sandwich is None:
            continue
        variances, freedom = sandwich.variances(root)
        half = t_quantile(CONFIDENCE, freedom) * np.sqrt(variances)
        gap = np.abs(least_squares - coef)
        coverage[i] = np.mean(gap <= half * np.sqrt(inflation[i]))
        plain_coverage[i] = np.mean(gap <= half)
