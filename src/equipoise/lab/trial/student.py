"""Student's quantiles at the confidence that trials judge intervals with, for all degrees of freedom.

The first ten stand here; from eleven degrees of freedom on they are a polynomial of 1/ν, through Chebyshev's
points. Both are right to the last digit or the one before. So a first trial does not wait for SciPy's special
functions, whose import takes longer than most simulations, and the judge's intervals have the same bits on
every machine.
"""

from __future__ import annotations

import numpy as np

from equipoise.core.arrays import Vector

CONFIDENCE = 0.95

_FIRST = (
    *(12.706204736174705, 4.302652729749464, 3.1824463052837095, 2.7764451051977943, 2.5705818356363155),
    *(2.44691185114497, 2.3646242515927853, 2.3060041352041667, 2.2621571627982053, 2.228138851986275),
)
_COEFFICIENTS = (
    *(1.9599639845400545, 2.3722712302979905, 2.8224986159432475, 2.555849651949743, 1.5895358951551202),
    *(0.7328307696042372, 0.628844783718947, 0.11593550885808847, -1.733559929691023, 3.6051968123355436),
)


def student_quantiles(most: int) -> Vector:
    """t with P(|T| ≤ t) = 95 % for 0 … ``most`` degrees of freedom; that of 1 in the place of 0.

    >>> student_quantiles(12).round(3).tolist()
    [12.706, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179]
    """
    reciprocals = 1.0 / np.maximum(np.arange(most + 1.0), 1.0)
    quantiles = np.zeros(most + 1)
    for coefficient in reversed(_COEFFICIENTS):
        quantiles = quantiles * reciprocals + coefficient
    known = np.array([_FIRST[0], *_FIRST])[: most + 1]
    quantiles[: len(known)] = known
    return quantiles
