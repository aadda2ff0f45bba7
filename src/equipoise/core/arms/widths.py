"""Noise bounds: how far above σ̂² a policy looks, by degrees of freedom.

A width turns an arm's σ̂² into an upper value

    u = own(dof)·σ̂² + (mean·a + c)/√dof

=============  ==================================================================================
calibrated     own = 1, a = CALIBRATED·width, c = 0. Unit-free: outcomes times s give u times s².
theory         own = 1, a = 0, c = 8R·log(2mn/δ): Δ of Prop. 2 exactly as printed, eq. (11).
chi-square     own = dof/χ²_δ(dof), a = c = 0: the exact 1−δ bound for Gaussian noise. Unit-free.
none           own = 1, a = c = 0: the plug-in. An arm whose first σ̂² is tiny is never pulled again.
=============  ==================================================================================

Policies that pool take another, :func:`pooled_bound`.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from equipoise.core.arithmetic.logarithm import log
from equipoise.core.arithmetic.power import power
from equipoise.core.arithmetic.quantiles import chi_square_quantiles
from equipoise.core.arrays import Vector
from equipoise.core.jit.decorators import inlined
from equipoise.core.problem.problem import Problem
from equipoise.errors import InvalidPolicy

# A compromise: half of it serves unequal arms better, twice of it equal ones; benchmarks/pages/widths.py
# prints all three beside the oracle.
CALIBRATED = 1.0

_DEFAULT_DELTA = 0.05

# Smaller shares of the mean variance are rounding, or outcomes that were all alike.
_NO_NOISE = 1e-12
# No event in k tries: with 99.99 % confidence it has a probability below 9/k.
_UNSEEN = 9.0


@dataclass(frozen=True, kw_only=True)
class Width:
    """The ``width=``, ``bound=`` and ``delta=`` of a policy, checked."""

    width: float | str = 1.0
    bound: float | None = None
    delta: float | None = None

    def __post_init__(self) -> None:
        if isinstance(self.width, str):
            if self.width not in ("theory", "chi-square"):
                raise InvalidPolicy(
                    f"unknown width {self.width!r}", hint="use a number, 'theory' or 'chi-square'"
                )
        elif not is_number(self.width) or not 0.0 <= self.width < math.inf:
            raise InvalidPolicy(f"width={self.width!r} is not a number of at least 0")
        self._check_bound()
        self._check_delta()

    def pack(self, problem: Problem) -> Vector:
        """Settings that :func:`noise_bound` reads: [a, c, n, own(1), …, own(n)]; n = 0 if own is 1."""
        delta = _DEFAULT_DELTA if self.delta is None else self.delta
        if self.width == "theory":
            assert self.bound is not None
            constant = theory_constant(self.bound, len(problem.arms), problem.units, delta)
            return np.array([0.0, constant, 0.0])
        if self.width == "chi-square":
            dof = np.arange(1, problem.units + 1, dtype=float)
            with np.errstate(divide="ignore"):  # quantiles that are 0 in floating point bound nothing
                own = dof / chi_square_quantiles(problem.units, delta)
            return np.concatenate([[0.0, 0.0, float(len(dof))], own])
        return np.array([CALIBRATED * float(self.width), 0.0, 0.0])

    def _check_bound(self) -> None:
        if self.width == "theory":
            if self.bound is None:
                raise InvalidPolicy(
                    "width='theory' needs bound=R, a number no noise variance exceeds",
                    hint="e.g. width='theory', bound=3.0",
                )
            if not is_number(self.bound) or not 0.0 < self.bound < math.inf:
                raise InvalidPolicy(f"bound={self.bound!r} is not a positive number")
        elif self.bound is not None:
            raise InvalidPolicy("bound= is read only by width='theory'", hint="leave it out")

    def _check_delta(self) -> None:
        if self.delta is None:
            return
        if not isinstance(self.width, str):
            raise InvalidPolicy(
                "delta= is read only by width='theory' and width='chi-square'", hint="leave it out"
            )
        limit = 0.75 if self.width == "theory" else 1.0
        if not is_number(self.delta) or not 0.0 < self.delta < limit:
            raise InvalidPolicy(f"delta={self.delta!r} is not between 0 and {limit}")


def theory_constant(bound: float, arms: int, budget: int, delta: float) -> float:
    """8R·log(2mn/δ), so that Δ = constant/√(k−d), eq. (11)."""
    return 8.0 * bound * log(float(2.0 * arms * budget / delta))


@inlined
def noise_bound(arm: Any, trial: Any, settings: Vector) -> float:
    """σ̂² + Δ of one arm."""
    own = arm.noise_variance
    if settings[2] > 0.0:
        own *= settings[2 + min(max(arm.dof, 1), int(settings[2]))]
    return own + (settings[0] * trial.mean_variance + settings[1]) * arm.inverse_root_dof


@inlined
def pooled_bound(arm: Any, trial: Any, caution: float) -> float:
    """σ̂² pooled with the other arms', raised by 1 + a + a² with a = caution over its degrees of freedom.

    An arm whose outcomes have all been alike, as yes/no answers may be for a while, is not taken to be
    without noise: what is rarer than one in dof has not been seen yet. It counts as 9/dof of the arms' mean.
    """
    if arm.noise_variance < _NO_NOISE * trial.mean_variance:
        return _UNSEEN * trial.mean_variance / max(arm.dof, 1)
    freedom = arm.dof + trial.pooled_dof
    pooled = (arm.dof * arm.noise_variance + trial.pooled_dof * trial.pooled_variance) / freedom
    doubt = caution / freedom
    bound: float = pooled * (1.0 + doubt + doubt * doubt)
    return bound


@inlined
def need(arm: Any, trial: Any, variance: float) -> float:
    """(w·variance)^e with e = p/(p+1): what the arm's share of the units should be proportional to.

    The variance counts as often as noise that depends on the context makes it count, see spread.py.
    """
    value = arm.weight * variance * arm.spread
    return value if trial.exponent == 1.0 else power(value, trial.exponent)


def is_number(value: object) -> bool:
    """Whether an argument of a policy is a plain number, and not beyond all floating-point numbers."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return not isinstance(value, int) or abs(value) < sys.float_info.max
