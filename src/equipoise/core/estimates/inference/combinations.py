"""An arm's estimates of combinations cᵀβ: coefficients, predictions, anything linear.

All are of least squares, which intervals belong to. Where features were chosen, combinations are
given that the others have no effect, except that the coefficient of a feature left out is not determined.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from equipoise.core.arrays import Matrix, Vector
from equipoise.core.estimates.inference.simultaneous import Spread

if TYPE_CHECKING:
    from equipoise.core.estimates.arm_estimate import ArmEstimate


@dataclass(frozen=True, eq=False)
class Combined:
    """Estimates of cᵀβ, one a row of ``combinations``."""

    values: Vector
    """Not a number where the data do not determine them."""
    spread: Spread


def combined(arm: ArmEstimate, combinations: Matrix) -> Combined:
    """Least squares of one arm along the rows of ``combinations``."""
    count = len(combinations)
    inflation = np.full((1, count), arm.inflation)
    if arm.least_squares is None:
        return Combined(np.full(count, math.nan), _unknown(count))
    values = combinations @ arm.least_squares
    if not arm.noise_known or arm.inverse_root is None:
        return Combined(values, _unknown(count))
    along = combinations @ arm.inverse_root
    if arm.sandwich is None:
        variances = arm.residual_variance * np.sum(along * along, axis=1)
        freedom = np.full(count, float(arm.dof))
    else:
        variances, freedom = arm.sandwich.variances(along)
    return Combined(values, Spread(variances[None] * inflation, freedom[None].copy(), inflation))


def combined_coefficients(arm: ArmEstimate, combinations: Matrix) -> Combined:
    """The same of coefficients: where features were chosen, not of those left out."""
    found = combined(arm, combinations)
    if arm.columns is not None:
        left_out = np.ones(combinations.shape[1], bool)
        left_out[arm.columns] = False
        reached = np.any(combinations[:, left_out] != 0.0, axis=1)
        found.spread.dof[:, reached] = 0.0
        found.values[reached] = math.nan
    return found


def less(one: Combined, other: Combined) -> Combined:
    """The difference of two arms, whose errors are independent given the contexts."""
    return Combined(one.values - other.values, stacked_terms([one.spread, other.spread]))


def joined(parts: Sequence[Combined]) -> Combined:
    """Several one after the other."""
    spread = Spread(
        *(
            np.concatenate([getattr(part.spread, name) for part in parts], axis=1)
            for name in ("variances", "dof", "inflation")
        )
    )
    return Combined(np.concatenate([part.values for part in parts]), spread)


def stacked_terms(spreads: Sequence[Spread]) -> Spread:
    """The spread of sums."""
    return Spread(
        *(
            np.concatenate([getattr(spread, name) for spread in spreads])
            for name in ("variances", "dof", "inflation")
        )
    )


def _unknown(count: int) -> Spread:
    return Spread(np.full((1, count), math.inf), np.zeros((1, count)), np.ones((1, count)))
