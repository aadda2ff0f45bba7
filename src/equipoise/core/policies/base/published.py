"""Shared arguments of the policies of Carpentier et al. (2011), which bring their own widths."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import ClassVar, Self

from equipoise.core.arithmetic.power import power
from equipoise.core.arms.widths import is_number
from equipoise.core.policies.base.policy import Policy
from equipoise.core.problem.problem import Problem
from equipoise.errors import InvalidPolicy


@dataclass(frozen=True, kw_only=True)
class PublishedWidthPolicy(Policy):
    """The published width, with a scale where the source assumes outcomes in [0, 1].

    Parameters
    ----------
    width
        A number: the scale is the arms' mean σ̂² times that number, so the policy is unit-free.
        ``"theory"``: the scale is ``bound``.
    bound
        R, a number that no noise variance exceeds; for ``width="theory"`` only.
    delta
        δ; if left out, the power of n that the source recommends.
    """

    width: float | str = 1.0
    bound: float | None = None
    delta: float | None = None

    contrasts = {
        "width": ({}, {"width": 0.01}),
        "bound": ({"width": "theory", "bound": 1e-3}, {"width": "theory", "bound": 10.0}),
        "delta": ({"width": 0.05}, {"width": 0.05, "delta": 0.9}),
    }
    recommended_power: ClassVar[float]

    def rescaled(self, factor: float) -> Self:
        return self if self.bound is None else dataclasses.replace(self, bound=self.bound * factor * factor)

    def __post_init__(self) -> None:
        super().__post_init__()
        theory = isinstance(self.width, str) and self.width == "theory"
        if not theory and (not is_number(self.width) or not 0.0 <= float(self.width) < math.inf):
            raise InvalidPolicy(
                f"width={self.width!r} is neither a number of at least 0 nor 'theory'",
                hint="this policy brings its own width; width= only scales it",
            )
        if theory != (self.bound is not None):
            raise InvalidPolicy("width='theory' and bound=R go together", hint="give both, or neither")
        if self.bound is not None and not (is_number(self.bound) and 0.0 < self.bound < math.inf):
            raise InvalidPolicy(f"bound={self.bound!r} is not a positive number")
        if self.delta is not None and not (is_number(self.delta) and 0.0 < self.delta < 1.0):
            raise InvalidPolicy(f"delta={self.delta!r} is not between 0 and 1")

    def scales(self) -> tuple[float, float]:
        """What multiplies the arms' mean variance, and the constant, in the scale of the width."""
        if self.bound is not None:
            return 0.0, self.bound
        return float(self.width), 0.0

    def chosen_delta(self, problem: Problem) -> float:
        """δ as given, or n to the recommended power."""
        if self.delta is None:
            # A budget that was cut down may leave one unit, or none: δ must stay below 1.
            return power(float(max(problem.units, 2)), self.recommended_power)
        return float(self.delta)
