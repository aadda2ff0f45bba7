"""Bands: what simulated numbers lie between."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

import numpy as np

from equipoise.core.arrays import Vector
from equipoise.lab.results.estimate import Estimate, finite, mean_estimate

_LEVELS = (0.5, 0.1, 0.9, 0.025, 0.975)


@dataclass(frozen=True)
class Band:
    """The mean over trials with its standard error, the median, and what 80 % and 95 % lie between."""

    mean: float
    """Not a number with two degrees of freedom or fewer: a few trials would decide it."""
    stderr: float
    median: float
    low_80: float
    high_80: float
    low_95: float
    high_95: float

    @property
    def estimate(self) -> Estimate:
        """The mean with its standard error."""
        return Estimate(self.mean, self.stderr, 0)

    def record(self) -> dict[str, float | None]:
        """Plain values."""
        return {name: finite(value) for name, value in asdict(self).items()}


def band_of(values: Vector, has_mean: bool, has_error: bool) -> Band:
    """The band of simulated values, whose distribution may be too wide to have a mean or a standard error."""
    found = mean_estimate(values)
    median, *ends = np.quantile(values, _LEVELS).tolist()
    low_80, high_80, low_95, high_95 = ends
    return Band(
        mean=found.value if has_mean else math.nan,
        stderr=found.stderr if has_error else math.nan,
        median=median,
        low_80=low_80,
        high_80=high_80,
        low_95=low_95,
        high_95=high_95,
    )
