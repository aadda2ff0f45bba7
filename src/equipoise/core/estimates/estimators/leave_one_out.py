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
from equipoise.core.estimates.estimators.spectrum import decompose
from equipoise.core.estimates.estimators.workspace import Workspace
from equipoise.core.estimates.ridge import fit_ridge, ridge_traces
from equipoise.core.jit.decorators import compiled

# λ is searched between these multiples of the mean eigenvalue of S.
_SMALLEST, _LARGEST, _GRID = 1e-8, 1e4, 61
# Golden sections between the neighbours of the best λ of the grid.
_SECTIONS = 36
_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


@compiled
def shrink_by_leaving_out(state: State, work: Workspace) -> None:
    """Write every arm's coefficients and λ."""
    m, dim = work.centers.shape
    for i in range(m):
        _decompose_arm(state, work, i)
        rows = _collect_rows(state, work, i)
        # Where the others were redacted, nobody is left to be left out.
        redacted = rows < 2 <= state.arms[i].observed
        ridge = work.usual_ridge[0] if redacted else _best_ridge(work, i, rows)
        work.ridges[i] = ridge
        for r in range(dim):
            work.centers[i, r] = 0.0
            work.coefs[i, r] = 0.0
            for c in range(dim):
                work.coefs[i, r] += work.bases[i, c, r] * work.pull[c] / (work.spectra[i, c] + ridge)


@compiled
def _decompose_arm(state: State, work: Workspace, i: int) -> None:
    """Spectrum and basis of S in the user's coordinates, and XᵀY in that basis."""
    dim = work.centers.shape[1]
    root, fit = work.roots[i], work.fits[i]
    ready = state.arms[i].data_ready
    to_user_coordinates(state, i, root, fit)
    if not ready:
        for r in range(dim):
            for c in range(r):
                root[r, c], root[c, r] = root[c, r], root[r, c]
    decompose(root, work.bases[i], work.spectra[i])
    for c in range(dim):
        pull = 0.0
        for r in range(dim):
            pull += (work.bases[i, c, r] if ready else root[c, r]) * fit[r]
        if ready:
            work.spectra[i, c] = 1.0 / work.spectra[i, c]
            pull *= work.spectra[i, c]
        work.pull[c] = pull


@compiled
def _collect_rows(state: State, work: Workspace, i: int) -> int:
    """Contexts of arm i in the basis of its S, and outcomes; return how many."""
    dim = work.centers.shape[1]
    count = 0
    row = state.arms[i].last_row
    while row >= 0:
        if state.rows[row].status == TOLD:
            work.told[count] = state.outcomes[row]
            for c in range(dim):
                entry = 0.0
                for r in range(dim):
                    entry += work.bases[i, c, r] * state.contexts[row, r]
                work.rotated[c, count] = entry
            count += 1
        row = state.rows[row].previous
    return count


@compiled
def _best_ridge(work: Workspace, i: int, rows: int) -> float:
    """The λ with the smallest leave-one-out error; the largest searched one without two outcomes."""
    dim = work.centers.shape[1]
    scale = 0.0
    for c in range(dim):
        scale += work.spectra[i, c] / dim
    if not scale > 0.0:
        scale = 1.0
    low = log(_SMALLEST * scale)
    width = (log(_LARGEST * scale) - low) / (_GRID - 1)
    best, least = _GRID - 1, np.inf
    if rows >= 2:
        for j in range(_GRID):
            error = _left_out_error(work, i, rows, exp(low + j * width))
            if error < least:
                best, least = j, error
    if best == 0 or best == _GRID - 1:
        return exp(low + best * width)
    left, right = low + (best - 1) * width, low + (best + 1) * width
    one, other = right - _GOLDEN * (right - left), left + _GOLDEN * (right - left)
    one_error = _left_out_error(work, i, rows, exp(one))
    other_error = _left_out_error(work, i, rows, exp(other))
    for _ in range(_SECTIONS):
        if one_error <= other_error:
            right, other, other_error = other, one, one_error
            one = right - _GOLDEN * (right - left)
            one_error = _left_out_error(work, i, rows, exp(one))
        else:
            left, one, one_error = one, other, other_error
            other = left + _GOLDEN * (right - left)
            other_error = _left_out_error(work, i, rows, exp(other))
    if min(one_error, other_error) < least:
        return exp(one if one_error <= other_error else other)
    return exp(low + best * width)


@compiled
def _left_out_error(work: Workspace, i: int, rows: int, ridge: float) -> float:
    """Mean squared leave-one-out residual; infinite where a row determines a direction alone."""
    residuals, slacks, rotated = work.residuals, work.slacks, work.rotated
    for row in range(rows):
        residuals[row] = work.told[row]
        slacks[row] = 1.0
    # Row by row of the transposed contexts: independent sums run side by side.
    for c in range(work.centers.shape[1]):
        kept = 1.0 / (work.spectra[i, c] + ridge)
        coef = work.pull[c] * kept
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
def expect_errors(state: State, work: Workspace, moment_root: Matrix) -> None:
    """Write noise and bias of every arm for a λ that the same outcomes chose.

    The posterior variance σ²Tr(ΣW), with a λ that is smaller by dof/(dof + 2) (see stein.py), and for the
    uncertain λ 2/(d−2) of the squared shift from least squares (Morris 1983). The appendix lemma with the
    shrunk coefficients would promise an error of 0 as λ grows.
    """
    dim = work.centers.shape[1]
    for i in range(work.ridges.shape[0]):
        arm = state.arms[i]
        if not arm.data_ready:
            work.noise_errors[i] = work.biases[i] = np.inf
            continue
        root, fit, coef, line = work.roots[i], work.fits[i], work.solution, work.middle
        lower = work.ridges[i] * arm.dof / (arm.dof + 2.0)
        fit_ridge(state, i, lower, root, fit, work.system, coef, line)
        trace, _ = ridge_traces(root, work.system, moment_root, work.bases[i], line)
        for r in range(dim):
            coef[r] = fit[r] - work.coefs[i, r]
        work.noise_errors[i] = arm.noise_variance * trace
        work.biases[i] = squared_length_through(moment_root, coef) * min(2.0 / max(dim - 2, 1), 2.0)


register(Estimator("leave-one-out", shrink_by_leaving_out, expect_errors))
