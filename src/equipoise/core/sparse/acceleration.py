"""Anderson extrapolation: where descent is heading, from its last few epochs (Bertrand & Massias 2021).

Descent crawls along features that nearly coincide, for instance all that have a mean far from 0. Near
its end it is a linear map, so the combination of iterates whose steps nearly cancel lies close to the
limit. Whether it is better than what descent has reached is for the caller to see.
"""

from __future__ import annotations

from equipoise.core.arithmetic.solving import cholesky_solve
from equipoise.core.arrays import Matrix, Vector
from equipoise.core.jit.decorators import compiled

DEPTH = 5
"""Steps that are combined."""


@compiled
def combine(points: Matrix, first: int, system: Matrix, weights: Vector) -> bool:
    """Combine ``points[1:DEPTH + 1]`` into the place after them; return whether that is possible.

    Steps are compared from entry ``first`` on.
    """
    length = points.shape[1]
    for k in range(DEPTH):
        weights[k] = 1.0
        for other in range(k + 1):
            entry = 0.0
            for r in range(first, length):
                step = points[k + 1, r] - points[k, r]
                entry += step * (points[other + 1, r] - points[other, r])
            system[k, other] = entry
    cholesky_solve(system, weights)
    total = 0.0
    for k in range(DEPTH):
        total += weights[k]
    if not total > 0.0:
        return False
    for r in range(length):
        entry = 0.0
        for k in range(DEPTH):
            entry += weights[k] / total * points[k + 1, r]
        points[DEPTH + 1, r] = entry
    return True
