"""What Σ says about the features that some arm uses and the others; checked input of the sparse results."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from equipoise.core.arrays import Matrix, Vector
from equipoise.core.problem.problem import Problem
from equipoise.errors import InvalidArgument

# A row sum this close to 1 is 1: γ is then 0 and not some 10⁻¹⁶ whose square would divide.
_ROUNDING = 1e-12

Features = npt.NDArray[np.intp]


class Geometry:
    """What Σ says about the features in S and outside."""

    def __init__(self, moment: Matrix, features: Features) -> None:
        self.moment = moment
        self.features = features
        outside = np.setdiff1d(np.arange(len(moment)), features)
        inverse: Matrix = np.linalg.inv(moment[np.ix_(features, features)]).astype(np.float64)
        cross = moment[np.ix_(outside, features)]
        # Row j predicts feature j outside S from those inside.
        weights = cross @ inverse
        given: Vector = np.diag(moment)[outside] - np.sum(weights * cross, axis=1)
        incoherence = 1.0 - float(np.abs(weights).sum(axis=1).max(initial=0.0))
        self.inverse = inverse
        self.incoherence = 0.0 if abs(incoherence) < _ROUNDING else incoherence
        self.inverse_norm = float(np.abs(inverse).sum(axis=1).max(initial=0.0))
        self.conditional_variance = float(given.max(initial=0.0))

    def overlap(self, signals: Matrix) -> float:
        """ψ of the arms' coefficients."""
        chosen = signals[:, self.features]
        directions = chosen / lengths(chosen)
        return float(np.einsum("ij,jk,ik->i", directions, self.inverse, directions).max())


def extreme_eigenvalues(moment: Matrix) -> tuple[float, float]:
    """C_min and C_max; C_min is 0 where it cannot be told from rounding."""
    eigenvalues = np.linalg.eigvalsh(moment)
    smallest, largest = float(eigenvalues[0]), float(eigenvalues[-1])
    hidden = len(moment) * np.finfo(float).eps * largest
    return (smallest if smallest > hidden else 0.0), largest


def lengths(columns: Matrix) -> Vector:
    """Euclidean length of every column, none of them all zeros."""
    # Divided by the largest first: squares of very small numbers would be 0.
    scale = np.abs(columns).max(axis=0, initial=0.0)
    return np.asarray(scale * np.sqrt(np.sum((columns / scale) ** 2, axis=0)))


def checked_moment(moment: npt.ArrayLike, dim: int | None = None) -> Matrix:
    """Σ as a problem would accept it; d is its length unless given."""
    length = dim if dim is not None else len(moment) if isinstance(moment, Sequence | np.ndarray) else 1
    length = max(length, 1)
    # None, which leaves Σ to be learned in a problem, is no matrix here.
    given = () if moment is None else moment
    checked = Problem(arms=1, dim=length, budget=length + 1, moment=given).moment
    assert checked is not None
    return checked


def checked_coef(coef: npt.ArrayLike) -> Matrix:
    """M with one row an arm."""
    try:
        signals: Matrix = np.asarray(coef, dtype=float)
    except (TypeError, ValueError, OverflowError):
        signals = np.array([np.nan])
    if signals.ndim != 2 or signals.size == 0 or not np.all(np.isfinite(signals)):
        raise InvalidArgument(
            "coef is not a matrix of finite numbers", hint="give one row of d coefficients an arm"
        )
    return signals


def checked_support(support: Sequence[int] | None, signals: Matrix) -> Features:
    """S in ascending order: the features that some arm uses."""
    used = np.flatnonzero(np.any(signals != 0.0, axis=0))
    if support is None:
        return used
    features = checked_features(support, signals.shape[1])
    wrong = np.setxor1d(features, used).tolist()
    if wrong:
        raise InvalidArgument(
            f"features {wrong} are in the support or in coef, not in both",
            hint="set the coefficients outside the support to 0, or leave support out",
        )
    return features


def checked_features(support: Sequence[int], dim: int) -> Features:
    """The features in ascending order, or an error if they are none."""
    try:
        features = [whole("feature", feature, least=0) for feature in support]
    except (TypeError, InvalidArgument):
        features = [dim]
    if len(set(features)) != len(features) or max(features, default=0) >= dim:
        raise InvalidArgument(
            f"support {support!r} is not a list of features",
            hint=f"give each once, as numbers from 0 to {dim - 1}; np.flatnonzero() turns a mask into them",
        )
    return np.array(sorted(features), dtype=np.intp)


def positive(what: str, value: Any) -> float:
    """The number, or an error that says which argument is wrong."""
    try:
        number = math.nan if isinstance(value, str) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not 0.0 < number < math.inf:
        raise InvalidArgument(f"{what}={value!r} is not a positive number")
    return number


def whole(what: str, value: Any, *, least: int) -> int:
    """The whole number, or an error that says which argument is wrong."""
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if number < least or isinstance(value, bool):
        raise InvalidArgument(f"{what}={value!r} is not a whole number of at least {least}")
    return number
