"""Oracle: the optimal static allocation of Prop. 1; it knows the noise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from equipoise.core.arrays import Vector
from equipoise.core.policies.base.policy import Policy, register
from equipoise.core.problem.problem import Problem
from equipoise.core.theory.static import Counts, checked_noise, optimal_allocation, optimal_shares
from equipoise.errors import InvalidArgument, InvalidPolicy


@register("oracle")
@dataclass(frozen=True, kw_only=True)
class Oracle(Policy):
    """Give every arm its optimal number of units k*, interleaved evenly.

    Parameters
    ----------
    noise
        Noise variances σ² in the order of the arms. In simulations it may be left out: the lab
        fills in the truth.

    >>> Oracle(noise=(1.0, 2.0)).spec
    'oracle:noise=1.0,2.0'
    """

    noise: tuple[float, ...] | None = None

    forced_start = False
    counts_alone = True
    allocation: ClassVar[Callable[..., Counts]] = staticmethod(optimal_allocation)
    """Whole units of every arm."""

    __fingerprint__ = (*Policy.__fingerprint__, "allocation")
    contrasts = {"noise": ({"noise": (1.0, 1.0, 4.0)}, {"noise": (4.0, 1.0, 1.0)})}

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.noise is not None:
            object.__setattr__(self, "noise", _variances(self.noise))

    def settings(self, problem: Problem) -> Vector:
        name = type(self).name
        if self.noise is None:
            raise InvalidPolicy(
                f"the {name} must be told the noise variances",
                hint=f"e.g. {type(self).__name__}(noise=(1.0, 2.0, 0.5))",
            )
        if len(self.noise) != len(problem.arms):
            raise InvalidPolicy(
                f"the {name} was told {len(self.noise)} noise variances for {len(problem.arms)} arms"
            )
        if not problem.pays_for_start:
            # Too little for Prop. 1: units in proportion to need, as without contexts.
            shares = optimal_shares(self.noise, problem.objective, problem.weights, problem.costs)
            return shares * problem.budget
        targets = type(self).allocation(
            noise=self.noise,
            dim=problem.dim,
            budget=problem.budget,
            objective=problem.objective,
            weights=problem.weights,
            costs=problem.costs,
            floors=problem.floors,
            caps=problem.caps,
            # By name, so that the order in which arms are listed does not matter.
            tie_break=np.argsort(np.argsort(problem.arms)),
        )
        return targets.astype(float)

    def reordered(self, order: Sequence[int]) -> Oracle:
        return self if self.noise is None else replace(self, noise=tuple(self.noise[i] for i in order))

    def informed(self, noise: Sequence[float]) -> Oracle:
        return replace(self, noise=tuple(noise)) if self.noise is None else self

    @staticmethod
    def score(arm: Any, trial: Any, settings: Vector) -> float:
        target = settings[arm.position]
        return float((target - arm.count) / target) if target > 0.0 else -np.inf


def _variances(noise: object) -> tuple[float, ...]:
    try:
        return tuple(checked_noise(noise).tolist())  # type: ignore[arg-type]
    except InvalidArgument as error:
        raise InvalidPolicy(error.message, hint=error.hint) from None
