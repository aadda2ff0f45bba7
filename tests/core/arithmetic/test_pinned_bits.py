"""The bits of 26,000 results are fixed, whatever the processor and however hard code is optimised."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from other_process import GENERIC, output_of

from equipoise.core.arithmetic.exponential import exp
from equipoise.core.arithmetic.gamma import log_gamma
from equipoise.core.arithmetic.logarithm import log, log1p
from equipoise.core.arithmetic.power import power
from equipoise.core.arithmetic.quantiles import chi_square_quantiles

PINNED = "eba1bef09517a19d8b6bde6d5970ca17a49cba743d6d065adf27521024d4931b"


def results():
    """Results for arguments that come from whole numbers alone."""
    raw = np.random.PCG64(11).random_raw(16_000)
    # Any bits at all, then numbers in [0, 1).
    patterns, shares = raw[:4000].view(np.float64).tolist(), ((raw >> 11) * 2.0**-53).tolist()
    yield from map(log, patterns)
    yield from (log(2.0 * share) for share in shares[:2000])
    yield from (log1p(4.0 * share - 1.0) for share in shares[2000:4000])
    yield from (exp(1460.0 * share - 748.0) for share in shares[4000:8000])
    yield from (exp(share - 0.5) for share in shares[8000:10_000])
    yield from (power(4.0 * x, 40.0 * y - 20.0) for x, y in zip(shares[::4], shares[1::4], strict=True))
    yield from (power(x, 4.0 * y - 2.0) for x, y in zip(patterns, shares, strict=False))
    yield from chi_square_quantiles(500, 0.05)
    yield from chi_square_quantiles(500, 0.9)
    yield from (log_gamma(20.0 * share) for share in shares[:2000])
    yield from (log_gamma(abs(pattern)) for pattern in patterns)


def digest():
    values = np.array(list(results()))
    values[np.isnan(values)] = np.nan  # the sign of a nan is nobody's promise
    return hashlib.sha256(values.astype("<f8").tobytes()).hexdigest()


def test_bits_are_pinned():
    assert digest() == PINNED


@pytest.mark.parametrize(
    "settings",
    [GENERIC, {"NUMBA_OPT": "1"}, {"EQUIPOISE_COMPILE": "plain"}],
    ids=["generic processor", "little optimisation", "Numba's public interface"],
)
def test_bits_do_not_depend_on_the_compiler(settings):
    assert output_of(__file__, "digest()", **settings) == PINNED
