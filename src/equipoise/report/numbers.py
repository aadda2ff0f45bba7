"""Numbers as people read them: as many digits as their error allows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from equipoise.lab.results.estimate import Estimate


def with_error(estimate: Estimate) -> str:
    """A value and its standard error, two digits of the error and no more of the value.

    >>> from equipoise.lab.results.estimate import Estimate
    >>> with_error(Estimate(0.765312, 0.008585, 2000)), with_error(Estimate(1234.5, 87.0, 10))
    ('0.7653 ± 0.0086', '1234 ± 87')
    >>> with_error(Estimate(0.0, 0.0, 10)), with_error(Estimate(0.5, float("nan"), 1))
    ('0', '0.5')
    """
    return str(estimate)


def percent(estimate: Estimate) -> str:
    """A share with its error, in percent.

    >>> from equipoise.lab.results.estimate import Estimate
    >>> percent(Estimate(0.9501, 0.00065, 2000))
    '95.010 ± 0.065 %'
    """
    from equipoise.lab.results.estimate import Estimate

    if not math.isfinite(estimate.value):
        return "–"
    return with_error(Estimate(100 * estimate.value, 100 * estimate.stderr, estimate.trials)) + " %"


def interval(low: float, high: float) -> str:
    """Both ends.

    >>> interval(0.12345, 2.5), interval(-math.inf, math.inf)
    ('0.123 – 2.5', 'not determined')
    """
    if not (math.isfinite(low) and math.isfinite(high)):
        return "not determined"
    return f"{low:.3g} – {high:.3g}"


def with_interval(value: float, low: float, high: float) -> tuple[str, str]:
    """A value and its interval: two digits of the interval's half, and no more of the value.

    >>> with_interval(1.23456, 1.0246, 1.4446), with_interval(1.5, -math.inf, math.inf)
    (('1.23', '1.02 – 1.44'), ('1.5', 'not determined'))
    >>> with_interval(5123.4, 4100.0, 6150.0), with_interval(2.0, 2.0, 2.0)
    (('5123', '4100 – 6150'), ('2', '2 – 2'))
    """
    half = 0.5 * (high - low)
    if not math.isfinite(half) or half <= 0.0 or max(abs(low), abs(high)) >= 1e6:
        return f"{value:.4g}", interval(low, high)
    digits = max(1 - math.floor(math.log10(half)), 0)
    if digits > 8:
        return f"{value:.4g}", interval(low, high)
    shown, first, last = (f"{number:.{digits}f}".replace("-", "−") for number in (value, low, high))
    return shown, f"{first} – {last}"


def p_value(value: float) -> str:
    """A p value, as far as it means anything.

    >>> p_value(0.0432), p_value(1e-19), p_value(1.0)
    ('0.043', '< 0.0001', '1')
    """
    return "< 0.0001" if value < 1e-4 else f"{value:.2g}"


def p_text(value: float) -> str:
    """The same in a sentence.

    >>> p_text(0.0432), p_text(1e-19)
    ('p = 0.043', 'p < 0.0001')
    """
    written = p_value(value)
    return f"p {written}" if written.startswith("<") else f"p = {written}"


def shortened(name: str, most: int = 24) -> str:
    """A name that fits beside others.

    >>> shortened("placebo"), shortened("an arm with a very long name indeed")
    ('placebo', 'an arm with a very long…')
    """
    return name if len(name) <= most else f"{name[: most - 1].rstrip()}…"


def change(value: float, reference: float) -> str:
    """How far a value is below or above another, in words.

    >>> change(0.5, 2.0), change(3.0, 2.0), change(2.0, 2.0)
    ('75 % below', '50 % above', 'as much as')
    """
    if reference <= 0.0 or abs(value / reference - 1.0) < 0.005:
        return "as much as"
    return f"{100 * abs(value / reference - 1.0):.0f} % {'below' if value < reference else 'above'}"


def plain_numbers(value: Any) -> Any:
    """The same without numbers that JSON does not have.

    >>> plain_numbers({"low": math.nan, "high": (1.0, math.inf)})
    {'low': None, 'high': [1.0, None]}
    """
    if isinstance(value, dict):
        return {name: plain_numbers(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain_numbers(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
