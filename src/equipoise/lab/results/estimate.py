"""A simulated number with its Monte-Carlo error: means, quantiles, and how JSON holds them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from equipoise.core.arrays import Vector
from equipoise.errors import InvalidArgument


@dataclass(frozen=True)
class Estimate:
    """A simulated number and its standard error."""

    value: float
    stderr: float
    trials: int

    def __str__(self) -> str:
        return with_error(self.value, self.stderr)


def with_error(value: float, stderr: float) -> str:
    """A value and its standard error: two digits of the error, and no more of the value.

    >>> with_error(0.765312, 0.008585), with_error(1234.5, 87.0), with_error(0.5, math.nan)
    ('0.7653 ± 0.0086', '1234 ± 87', '0.5')
    >>> with_error(0.0, 0.0), with_error(math.nan, 0.1), with_error(1234.56e6, 2.1e6)
    ('0', '–', '1.235e+09 ± 2.1e+06')
    """
    if not math.isfinite(value):
        return "–"
    if not math.isfinite(stderr) or stderr <= 0.0:
        return f"{value:.4g}"
    digits = 1 - math.floor(math.log10(stderr))
    if digits > 8 or abs(value) >= 1e6:
        # Too long to write out: 1.234e-09 ± 2.1e-11.
        return f"{value:.4g} ± {stderr:.2g}"
    return f"{value:.{max(digits, 0)}f} ± {stderr:.{max(digits, 0)}f}"


def mean_estimate(values: Vector) -> Estimate:
    """A mean and its standard error."""
    n = len(values)
    spread = float(values.std(ddof=1)) if n > 1 else math.nan
    return Estimate(float(values.mean()), spread / math.sqrt(n), n)


def ratio_estimate(above: Vector, below: Vector) -> Estimate:
    """The mean of one over the mean of the other, paired by trial, and its standard error."""
    value = float(above.mean() / below.mean())
    spread = mean_estimate(above - value * below).stderr
    return Estimate(value, spread / float(below.mean()), len(above))


def quantile_estimate(values: Vector, level: float) -> Estimate:
    """A quantile and its standard error from order statistics.

    The number of values below the true quantile is binomial, so the sample quantiles of levels
    q ± √(q(1−q)/n) lie one standard error to each side, whatever the distribution.
    """
    if not 0.0 < level < 1.0:
        raise InvalidArgument(f"a quantile of level {level!r} is not between 0 and 1")
    n = len(values)
    reach = math.sqrt(level * (1.0 - level) / n)
    low, value, high = np.quantile(values, [max(0.0, level - reach), level, min(1.0, level + reach)])
    stderr = float(high - low) / 2.0 if n > 1 else math.nan
    return Estimate(float(value), stderr, n)


def plain_estimate(estimate: Estimate) -> dict[str, float | None]:
    """A value and its standard error for JSON."""
    return {"value": finite(estimate.value), "stderr": finite(estimate.stderr)}


def finite(number: float) -> float | None:
    """JSON has no not-a-number."""
    return number if math.isfinite(number) else None
