"""Where estimators work, since they cannot allocate, and where they leave what they found."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from equipoise.core.arithmetic.lanes import aligned_zeros, padded
from equipoise.core.arms.state import State
from equipoise.core.arrays import Matrix, Vector
from equipoise.core.jit.handles import handled

Matrices = npt.NDArray[np.float64]


@handled
class Workspace(NamedTuple):
    """Settings, scratch and results of the estimates of all arms."""

    usual_ridge: Vector  # [1] λ where the data do not choose another: 1/n unless given
    # Results, in the user's coordinates
    coefs: Matrix  # [m, d]
    centers: Matrix  # [m, d] what coefficients are shrunk towards
    ridges: Vector  # [m] λ; infinite: the center itself is the estimate
    noise_errors: Vector  # [m] part of the expected error that noise causes
    biases: Vector  # [m] part that shrinking causes
    # Scratch
    roots: Matrices  # [m, d, padded d]
    bases: Matrices  # [m, d, padded d] rows are the eigenvectors of S
    spectra: Matrix  # [m, d] eigenvalues of S
    fits: Matrix  # [m, d] least squares
    weights: Matrices  # [m, d, d] inverse covariances of the arms' least squares around a common center
    noise: Vector  # [m] steadied noise variances
    mean_noise: Vector  # [1] the arms' mean noise variance
    precision: Matrix  # [d, d]
    system: Matrix  # [d, d]
    pull: Vector  # [d]
    middle: Vector  # [d]
    solution: Vector  # [d]
    rotated: Matrix  # [d, n] contexts of one arm in the basis of S, one a column
    told: Vector  # [n] their outcomes
    residuals: Vector  # [n]
    slacks: Vector  # [n] 1 − leverage


def new_workspace(state: State, ridge: float) -> Workspace:
    """Room for estimates of ``state``, with λ where the data choose none; nothing is shared between two."""
    m, dim = state.coefs.shape
    rows = len(state.outcomes)
    return Workspace(
        usual_ridge=np.array([ridge]),
        coefs=np.zeros((m, dim)),
        centers=np.zeros((m, dim)),
        ridges=np.zeros(m),
        noise_errors=np.zeros(m),
        biases=np.zeros(m),
        roots=aligned_zeros((m, dim, padded(dim))),
        bases=aligned_zeros((m, dim, padded(dim))),
        spectra=np.zeros((m, dim)),
        fits=np.zeros((m, dim)),
        weights=np.zeros((m, dim, dim)),
        noise=np.zeros(m),
        mean_noise=np.zeros(1),
        precision=np.zeros((dim, dim)),
        system=np.zeros((dim, dim)),
        pull=np.zeros(dim),
        middle=np.zeros(dim),
        solution=np.zeros(dim),
        rotated=np.zeros((dim, rows)),
        told=np.zeros(rows),
        residuals=np.zeros(rows),
        slacks=np.zeros(rows),
    )
