"""The self-normalised confidence ellipsoid of the appendix: valid at every time at once."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from equipoise.core.arrays import Matrix, Vector
from equipoise.errors import InvalidArgument


@dataclass(frozen=True)
class Ellipsoid:
    """All β with ‖β − center‖_shape ≤ radius."""

    center: Vector
    shape: Matrix
    radius: float

    def contains(self, coef: npt.ArrayLike) -> bool:
        """Whether ``coef`` lies inside."""
        gap = np.asarray(coef, float) - self.center
        return bool(math.sqrt(float(gap @ self.shape @ gap)) <= self.radius)

    def intervals(self) -> Matrix:
        """The smallest box around it, one (low, high) row a coefficient."""
        half = self.radius * np.sqrt(np.diag(np.linalg.inv(self.shape)))
        return np.column_stack([self.center - half, self.center + half])


def self_normalised_ellipsoid(
    gram: Matrix, center: Vector, *, ridge: float, deviation: float, norm: float, delta: float
) -> Ellipsoid:
    """‖β̂^λ − β‖_V̄ ≤ R√(2 log(det(V̄)^½ det(λI)^(−½)/δ)) + √λ·S with V̄ = S + λI.

    ``deviation`` is R, a bound on the standard deviation of sub-Gaussian noise; ``norm`` bounds ‖β‖.
    """
    for name, value in (("ridge", ridge), ("deviation", deviation), ("norm", norm)):
        if not 0.0 < value < math.inf:
            raise InvalidArgument(f"{name}={value!r} is not a positive number")
    if not 0.0 < delta < 1.0:
        raise InvalidArgument(f"delta={delta!r} is not between 0 and 1")
    dim = len(gram)
    shape = gram + ridge * np.eye(dim)
    log_volume = 0.5 * (float(np.linalg.slogdet(shape)[1]) - dim * math.log(ridge))
    radius = deviation * math.sqrt(2.0 * (log_volume - math.log(delta))) + math.sqrt(ridge) * norm
    return Ellipsoid(center=center, shape=shape, radius=radius)
