"""Which functions count as the package's own."""

import functools

import numba

import equipoise as eq
from equipoise.core.jit.sources import is_stamped


def test_the_package_s_own():
    assert is_stamped(eq.TraceGain.score)
    assert is_stamped(eq.TraceGain)


def test_somebody_else_s_in_another_s_name():
    @functools.wraps(eq.TraceGain.score)
    def score(arm, trial, settings):
        return arm.leverage

    assert score.__module__ == eq.TraceGain.score.__module__
    assert not is_stamped(score)


def test_somebody_else_s_that_is_compiled():
    @numba.njit
    @functools.wraps(eq.TraceGain.score)
    def score(arm, trial, settings):
        return arm.leverage

    assert not is_stamped(score)
