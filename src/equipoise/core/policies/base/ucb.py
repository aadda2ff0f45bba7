"""Policies that look above σ̂² by a width of :mod:`equipoise.core.arms.widths`."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Self

from equipoise.core.arms.widths import Width
from equipoise.core.arrays import Vector
from equipoise.core.policies.base.policy import Policy
from equipoise.core.problem.problem import Problem


@dataclass(frozen=True, kw_only=True)
class BoundedPolicy(Policy):
    """Base of the UCB policies, and of one's own that look above σ̂².

    Scores read the bound with ``noise_bound(arm, trial, settings)``; a subclass needs nothing but a
    score. One with fields of its own appends them to ``super().settings(problem)``.

    Parameters
    ----------
    width
        A number (times the calibrated, unit-free width), ``"theory"``, ``"chi-square"`` or 0.
    bound
        R, a number that no noise variance exceeds; for ``width="theory"`` only.
    delta
        δ, the chance that the bound is allowed to fail (0.05 if left out); for ``"theory"`` and
        ``"chi-square"`` only.
    """

    width: float | str = 1.0
    bound: float | None = None
    delta: float | None = None

    contrasts = {
        "width": ({}, {"width": 0.05}),
        "bound": ({"width": "theory", "bound": 1e-3}, {"width": "theory", "bound": 10.0}),
        "delta": ({"width": "chi-square"}, {"width": "chi-square", "delta": 0.9}),
    }

    def rescaled(self, factor: float) -> Self:
        return self if self.bound is None else dataclasses.replace(self, bound=self.bound * factor * factor)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._width()

    def settings(self, problem: Problem) -> Vector:
        return self._width().pack(problem)

    def _width(self) -> Width:
        return Width(width=self.width, bound=self.bound, delta=self.delta)
