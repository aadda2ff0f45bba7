"""Numbers with the digits that their errors allow: two of the standard error, and as many of the estimate."""

from __future__ import annotations

import math
from collections.abc import Sequence

UNDETERMINED, NONE = "not determined", "–"
"""What tables say of an interval that the data do not bound, and of a number that they do not tell."""

# Beyond so many decimals, or digits before them, numbers are written with exponents.
_MOST_DECIMALS, _LARGEST = 7, 1e7
# An end of an interval that is nearer to 0 than this many standard errors is 0.
_ROUNDING = 1e-4


def by_error(value: float, error: float) -> str:
    """A number to the second digit of its standard error.

    >>> by_error(12.34567, 0.456), by_error(1234.5, 87.0), by_error(0.1234567, 3e-4), by_error(2.5, 0.0)
    ('12.35', '1234', '0.12346', '2.5')
    """
    if not math.isfinite(value):
        return NONE
    if not (math.isfinite(error) and error > 0.0):
        return f"{value:.4g}"
    decimals = max(0, 1 - math.floor(math.log10(error)))
    if decimals > _MOST_DECIMALS or max(abs(value), error) >= _LARGEST:
        kept = 2 + math.floor(math.log10(max(abs(value), error))) - math.floor(math.log10(error))
        return f"{value:.{min(kept, 15)}g}"
    text = f"{value:.{decimals}f}"
    return text.lstrip("-") if float(text) == 0.0 else text


def between(ends: Sequence[float], error: float) -> str:
    """Both ends of an interval, to the same digit; one that rounds to 0 and is not keeps its side of 0.

    >>> between((-0.71239, 1.1832), 0.48), between((-math.inf, math.inf), 1.0)
    ('-0.71 to 1.18', 'not determined')
    >>> between((-8.13, -0.031), 1.5)
    '-8.1 to -0.03'
    """
    low, high = ends
    if not (math.isfinite(low) and math.isfinite(high)):
        return UNDETERMINED
    return f"{_end(low, error)} to {_end(high, error)}"


def _end(value: float, error: float) -> str:
    text = by_error(value, error)
    hidden = float(text) == 0.0 and abs(value) > _ROUNDING * error
    return f"{value:.1g}" if hidden else text


def p_digits(value: float) -> str:
    """A p value as journals print it.

    >>> p_digits(0.04321), p_digits(1e-9), p_digits(math.nan)
    ('0.043', '< 0.001', '–')
    """
    if math.isnan(value):
        return NONE
    return "< 0.001" if value < 0.0005 else f"{value:.3f}"
