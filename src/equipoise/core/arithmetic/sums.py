"""Sums of a few numbers in plain Python: exact, then rounded once, so no order can matter.

NumPy adds pairs, lanes or single numbers as the build and the length please; Python's ``sum`` changed
its way with version 3.12.
"""

from __future__ import annotations

import math
from collections.abc import Iterable


def exact_sum(numbers: Iterable[float]) -> float:
    """The sum, rounded once; infinite where it is beyond all floating-point numbers.

    >>> exact_sum([0.1] * 10), exact_sum([1e308, 1e308, -1e308]), exact_sum([1e308, 1e308])
    (1.0, 1e+308, inf)
    """
    values = [float(number) for number in numbers]
    try:
        return math.fsum(values)
    except OverflowError:
        # Halves of halves cannot overflow; the sum itself may.
        return math.fsum(value * 2.0**-64 for value in values) * 2.0**64
    except ValueError:
        return math.nan  # ∞ − ∞
