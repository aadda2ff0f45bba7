"""``"leave-one-out"``: one λ an arm, chosen by left-out residuals e/(1 − h) in closed form, h the leverage.

The penalty is λ‖β‖², as in eq. (13), so λ is in the units of the features.
"""

from __future__ import annotations

import math

import numpy as np

from equipoise.core.arithmetic.exponential import exp
from equipoise.core.arithmetic.logarithm import log
from equipoise.core.arms.coordinates import to_user_coordinates
from equipoise.core.arms.factor import squared_length_through
from equipoise.core.arms.state import TOLD, State
from equipoise.core.arrays import Matrix
from equipoise.core.estimates.estimators.estimator import Estimator, register
from equipoise.core.estimates.estimators.room import Room
from equipoise.core.estimates.estimators.spectrum import decompose
from equipoise.core.estimates.ridge import fit_ridge, ridge_traces
from equipoise.core.jit.decorators import compiled

# λ is searched between these multiples of the mean eigenvalue of S.
_SMALLEST, _LARGEST, _GRID = 1e-8, 1e4, 61
# Golden sections between the neighbours of the best λ of the grid.
_SECTIONS = 36
_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


@compiled
def shrink_by_leaving_out(state: State, room: Room) -> None:
    """Write every arm's coefficients and λ."""
    m, dim = room.centers.shape
    for i in range(m):
        _decompose_arm(state, room, i)
        rows = _collect_rows(state, room, i)
        ridge = _best_ridge(room, i, rows)
        room.ridges[i] = ridge
        for r in range(dim):
            room.centers[i, r] = 0.0
            room.coefs[i, r] = 0.0
            for c in range(dim):
                room.coefs[i, r] += room.bases[i, c, r] * room.pull[c] / (room.spectra[i, c] + ridge)


@compiled
def _decompose_arm(state: State, room: Room, i: int) -> None:
    """Spectrum and basis of S in the user's coordinates, and XᵀY in that basis."""
    dim = room.centers.shape[1]
    root, fit = room.roots[i], room.fits[i]
    ready = state.arms[i].data_ready
    to_user_coordinates(state, i, root, fit)
    if not ready:
        for r in range(dim):
            for c in range(r):
                root[r, c], root[c, r] = root[c, r], root[r, c]
    decompose(root, room.bases[i], room.spectra[i])
    for c in range(dim):
        pull = 0.0
        for r in range(dim):
            pull += (room.bases[i, c, r] if ready else root[c, r]) * fit[r]
        if ready:
            room.spectra[i, c] = 1.0 / room.spectra[i, c]
            pull *= room.spectra[i, c]
        room.pull[c] = pull


@compiled
def _collect_rows(state: State, room: Room, i: int) -> int:
    """Contexts of arm i in the basis of its S, and outcomes; return how many."""
    dim = room.centers.shape[1]
    count = 0
    row = state.arms[i].last_row
    while row >= 0:
        if state.rows[row].status == TOLD:
            room.told[count] = state.outcomes[row]
            for c in range(dim):
                entry = 0.0
                for r in range(dim):
                    entry += room.bases[i, c, r] * state.contexts[row, r]
                room.rotated[c, count] = entry
            count += 1
        row = state.rows[row].previous
    return count


@compiled
def _best_ridge(room: Room, i: int, rows: int) -> float:
    """The λ with the smallest leave-one-out error; the largest searched one without two outcomes."""
    dim = room.centers.shape[1]
    scale = 0.0
    for c in range(dim):
        scale += room.spectra[i, c] / dim
    if not scale > 0.0:
        scale = 1.0
    low = log(_SMALLEST * scale)
    width = (log(_LARGEST * scale) - low) / (_GRID - 1)
    best, least = _GRID - 1, np.inf
    if rows >= 2:
        for j in range(_GRID):
            error = _left_out_error(room, i, rows, exp(low + j * width))
            if error < least:
                best, least = j, error
    if best == 0 or best == _GRID - 1:
        return exp(low + best * width)
    left, right = low + (best - 1) * width, low + (best + 1) * width
    one, other = right - _GOLDEN * (right - left), left + _GOLDEN * (right - left)
    one_error = _left_out_error(room, i, rows, exp(one))
    other_error = _left_out_error(room, i, rows, exp(other))
    for _ in range(_SECTIONS):
        if one_error <= other_error:
            right, other, other_error = other, one, one_error
            one = right - _GOLDEN * (right - left)
            one_error = _left_out_error(room, i, rows, exp(one))
        else:
            left, one, one_error = one, other, other_error
            other = left + _GOLDEN * (right - left)
            other_error = _left_out_error(room, i, rows, exp(other))
    if min(one_error, other_error) < least:
        return exp(one if one_error <= other_error else other)
    return exp(low + best * width)


@compiled
def _left_out_error(room: Room, i: int, rows: int, ridge: float) -> float:
    """Mean squared leave-one-out residual; infinite where a row determines a direction alone."""
    residuals, slacks, rotated = room.residuals, room.slacks, room.rotated
    for row in range(rows):
        residuals[row] = room.told[row]
        slacks[row] = 1.0
    # Row by row of the transposed contexts: independent sums run side by side.
    for c in range(room.centers.shape[1]):
        kept = 1.0 / (room.spectra[i, c] + ridge)
        coef = room.pull[c] * kept
        for row in range(rows):
            entry = rotated[c, row]
            residuals[row] -= entry * coef
            slacks[row] -= entry * entry * kept
    total = 0.0
    for row in range(rows):
        left_out = residuals[row] / max(slacks[row], 0.0)
        total += left_out * left_out
    return total / rows if total < np.inf else np.inf


@compiled
def expect_errors(state: State, room: Room, moment_root: Matrix) -> None:
    """Write noise and bias of every arm for a λ that the same outcomes chose.

    The posterior variance σ²Tr(ΣW), and for the uncertain λ 2/(d−2) of the squared shift from least
    squares (Morris 1983). The appendix lemma with the shrunk coefficients would promise an error of 0 as λ
    grows.
    """
    dim = room.centers.shape[1]
    for i in range(room.ridges.shape[0]):
        arm = state.arms[i]
        if not arm.data_ready:
            room.noise_errors[i] = room.biases[i] = np.inf
            continue
        root, fit, coef, line = room.roots[i], room.fits[i], room.solution, room.middle
        fit_ridge(state, i, room.ridges[i], root, fit, room.system, coef, line)
        trace, _ = ridge_traces(root, room.system, moment_root, room.bases[i], line)
        for r in range(dim):
            coef[r] = fit[r] - coef[r]
        room.noise_errors[i] = arm.noise_variance * trace
        room.biases[i] = squared_length_through(moment_root, coef) * min(2.0 / max(dim - 2, 1), 2.0)


register(Estimator("leave-one-out", shrink_by_leaving_out, expect_errors))
