"""Tables against values of 240 bits."""

from __future__ import annotations

import numpy as np
from exact import mp, mpf

from equipoise.core.arithmetic import tables


def nearest(value, bits):
    """The multiple of 2^−bits next to a number, with as many digits as it takes."""
    return mpf(int(mp.nint(value * mpf(2) ** bits))) / mpf(2) ** bits


def in_two(value, bits):
    first = nearest(value, bits)
    return [float(first), float(nearest(value - first, bits + 52))]


def test_logarithms_of_inverses():
    assert tables.LOGARITHMS.shape == (256, 3)
    for c, first, rest in tables.LOGARITHMS:
        assert [first, rest] == in_two(-mp.log(mpf(float(c))), 42)
        # log 2 times any exponent adds to it without rounding.
        assert (first * 2.0**42).is_integer()


def test_inverses_are_short_and_close():
    fractions = np.array([1 - (149.5 - i) / 512 if i <= 149 else 1 + (i - 149.5) / 256 for i in range(257)])
    inverses = tables.LOGARITHMS[:, 0]
    assert inverses[149] == 1.0
    assert np.all(inverses * 512 % 1 == 0)
    # Fractions below 1 have one bit more, so that c must have one less for m·c − 1 to be exact.
    assert np.all(inverses[:149] * 256 % 1 == 0)
    for edges in (fractions[:-1], fractions[1:]):
        assert np.max(np.abs(edges * inverses - 1)) <= 3 / 1024


def test_powers_of_two():
    assert tables.POWERS.shape == (128, 2)
    for j, row in enumerate(tables.POWERS):
        assert row.tolist() == in_two(mp.power(2, mpf(j) / 128), 52)


def test_constants():
    assert [tables.LOG2_FIRST, tables.LOG2_REST] == in_two(mp.log(2), 42)
    assert [tables.STEP_FIRST, tables.STEP_REST] == in_two(mp.log(2) / 128, 44)
    assert float(128 / mp.log(2)) == tables.STEPS_PER_UNIT
