"""``"ridge"``: one λ for all arms, given or 1/n as in the paper."""

from __future__ import annotations

import numpy as np

from equipoise.core.arms.factor import squared_length_through
from equipoise.core.arms.state import State
from equipoise.core.arrays import Matrix
from equipoise.core.estimates.estimators.estimator import Estimator, register
from equipoise.core.estimates.estimators.workspace import Workspace
from equipoise.core.estimates.ridge import fit_ridge, ridge_shift, ridge_traces
from equipoise.core.jit.decorators import compiled


@compiled
def fit_arms(state: State, work: Workspace) -> None:
    """Write every arm's coefficients and λ."""
    for i in range(work.ridges.shape[0]):
        work.ridges[i] = work.usual_ridge[0]
        for c in range(work.centers.shape[1]):
            work.centers[i, c] = 0.0
        _fit(state, work, i)


@compiled
def expect_errors(state: State, work: Workspace, moment_root: Matrix) -> None:
    """Write noise σ²Tr(ΣWSW) and bias λ²‖Wβ̂^λ‖²_Σ of every arm, the appendix lemma on the ridge loss."""
    for i in range(work.ridges.shape[0]):
        arm = state.arms[i]
        if not arm.data_ready:
            work.noise_errors[i] = work.biases[i] = np.inf
            continue
        _fit(state, work, i)
        root, rows, shift, line = work.roots[i], work.bases[i], work.solution, work.middle
        _, trace = ridge_traces(root, work.system, moment_root, rows, line)
        ridge_shift(root, rows, work.ridges[i], work.coefs[i], line, shift)
        work.noise_errors[i] = arm.noise_variance * trace
        work.biases[i] = squared_length_through(moment_root, shift)


@compiled
def _fit(state: State, work: Workspace, i: int) -> None:
    root, fit, coef = work.roots[i], work.fits[i], work.coefs[i]
    fit_ridge(state, i, work.ridges[i], root, fit, work.system, coef, work.middle)


register(Estimator("ridge", fit_arms, expect_errors))
