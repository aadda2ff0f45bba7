"""Σ as people give it, checked: symmetric, positive definite, of finite numbers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from equipoise.core.arithmetic.linear import scaled_cholesky
from equipoise.core.arrays import Matrix
from equipoise.core.problem.real import NotReal, real_array
from equipoise.errors import InvalidMoment

# Entries of Σ may differ from their mirror image by rounding, no more.
_SYMMETRY_TOLERANCE = 1e-10
# Smallest pivot of the correlation-scaled Σ that is told apart from rounding, per dimension.
PIVOT_TOLERANCE = 4 * np.finfo(float).eps


def valid_moment(moment: npt.ArrayLike, dim: int) -> Matrix:
    """Σ as a read-only array, or InvalidMoment."""
    try:
        matrix = np.array(real_array(moment))
    except NotReal as error:
        raise InvalidMoment(f"moment holds {error}", hint=error.hint) from None
    except (TypeError, ValueError, OverflowError):
        raise InvalidMoment("moment is not a matrix of numbers") from None
    if matrix.shape != (dim, dim):
        raise InvalidMoment(
            f"moment has shape {matrix.shape}, expected {(dim, dim)}",
            hint="moment is E[x xᵀ], one row and column per feature",
        )
    if not np.all(np.isfinite(matrix)):
        raise InvalidMoment("moment has entries that are not finite numbers")
    scale = np.sqrt(np.abs(np.diag(matrix)))
    if not np.all(np.diag(matrix) > 0):
        raise InvalidMoment(
            "moment is not positive definite: a diagonal entry is not positive",
            hint="a feature that is always zero must be left out",
        )
    with np.errstate(over="ignore"):
        correlation = matrix / scale / scale[:, None]
    if not np.all(np.abs(correlation) <= 1.0 + _SYMMETRY_TOLERANCE):
        raise InvalidMoment("moment is not positive definite: an entry exceeds its diagonal's geometric mean")
    if np.max(np.abs(correlation - correlation.T)) > _SYMMETRY_TOLERANCE:
        raise InvalidMoment("moment is not symmetric", hint="pass (moment + moment.T) / 2 if that is meant")
    # Half of the smallest numbers is 0, so what is symmetric stays as it is; zeros have one sign.
    mean = np.where(matrix == matrix.T, matrix, matrix / 2 + matrix.T / 2) + 0.0
    symmetric: Matrix = np.ascontiguousarray(mean)
    # A diagonal Σ has no correlations to check.
    if np.count_nonzero(correlation) > dim and scaled_cholesky(symmetric, dim * PIVOT_TOLERANCE) is None:
        raise redundant()
    symmetric.setflags(write=False)
    return symmetric


def redundant() -> InvalidMoment:
    """What is raised where features depend on each other."""
    return InvalidMoment(
        "moment is not positive definite: some combination of features never varies",
        hint="drop redundant features, or pass moment=None to learn it",
    )
