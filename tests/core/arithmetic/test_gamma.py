"""log Γ against values of 240 bits: 10⁻¹⁴, or 10⁻¹⁴ of the value; 6·10⁻¹⁵ is the most that was found."""

from __future__ import annotations

import math

import numpy as np
import pytest
from exact import in_python, mp, mpf
from hypothesis import example, given
from hypothesis import strategies as st

from equipoise.core.arithmetic.gamma import log_gamma


def error(x):
    exact = mp.loggamma(mpf(x))
    return float(abs(mpf(log_gamma(x)) - exact) / max(mpf(1), abs(exact)))


def sweep(low, high, count):
    return np.random.default_rng(1).uniform(low, high, count).tolist()


@pytest.mark.parametrize(
    "arguments",
    [
        sweep(0.0, 20.0, 3000),
        sweep(0.9, 2.1, 2000),
        sweep(7.99, 8.01, 500),
        sweep(20.0, 1e5, 500),
        [k / 2.0 for k in range(1, 1000)],
        [5e-324, 2.0**-1022, 1e-300, 1e-16, math.nextafter(8.0, 0.0), 8.0, 1e15, 1e300, 2.5e305],
    ],
    ids=["small", "around its zeros", "where the series begins", "large", "halves", "edges"],
)
def test_errors_are_small(arguments):
    assert max(map(error, arguments)) < 1e-14


@given(st.floats(min_value=5e-324, max_value=2.5e305))
@example(1.0)
@example(2.0)
def test_any_positive_number(x):
    assert error(x) < 1e-14
    # The interpreter does what the compiler made.
    assert in_python(log_gamma)(x).hex() == log_gamma(x).hex()


def test_special_cases():
    assert log_gamma(0.0) == log_gamma(math.inf) == log_gamma(1.7e308) == math.inf
    assert math.isnan(log_gamma(-0.5))
    assert math.isnan(log_gamma(math.nan))
