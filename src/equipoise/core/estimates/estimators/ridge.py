"""``"ridge"``: one λ for all arms, given or 1/n as in the paper."""

from __future__ import annotations

import numpy as np

from equipoise.core.arms.factor import squared_length_through
from equipoise.core.arms.state import State
from equipoise.core.arrays import Matrix
from equipoise.core.estimates.estimators.estimator import Estimator, register
from equipoise.core.estimates.estimators.room import Room
from equipoise.core.estimates.ridge import fit_ridge, ridge_shift, ridge_traces
from equipoise.core.jit.decorators import compiled


@compiled
def fit_arms(state: State, room: Room) -> None:
    """Write every arm's coefficients and λ."""
    for i in range(room.ridges.shape[0]):
        room.ridges[i] = room.usual_ridge[0]
        for c in range(room.centers.shape[1]):
            room.centers[i, c] = 0.0
        _fit(state, room, i)


@compiled
def expect_errors(state: State, room: Room, moment_root: Matrix) -> None:
    """Write noise σ²Tr(ΣWSW) and bias λ²‖Wβ̂^λ‖²_Σ of every arm, the appendix lemma on the ridge loss."""
    for i in range(room.ridges.shape[0]):
        arm = state.arms[i]
        if not arm.data_ready:
            room.noise_errors[i] = room.biases[i] = np.inf
            continue
        _fit(state, room, i)
        root, rows, shift, line = room.roots[i], room.bases[i], room.solution, room.middle
        _, trace = ridge_traces(root, room.system, moment_root, rows, line)
        ridge_shift(root, rows, room.ridges[i], room.coefs[i], line, shift)
        room.noise_errors[i] = arm.noise_variance * trace
        room.biases[i] = squared_length_through(moment_root, shift)


@compiled
def _fit(state: State, room: Room, i: int) -> None:
    root, fit, coef = room.roots[i], room.fits[i], room.coefs[i]
    fit_ridge(state, i, room.ridges[i], root, fit, room.system, coef, room.middle)


register(Estimator("ridge", fit_arms, expect_errors))
