"""Baselines for more features than budget: static allocations, then a lasso."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from equipoise.core.arrays import Matrix, Vector
from equipoise.core.policies.base.policy import Policy, register
from equipoise.core.policies.base.staged import StagedPolicy
from equipoise.core.policies.oracle import Oracle
from equipoise.core.problem.problem import Problem
from equipoise.core.sparse import fit_lasso
from equipoise.errors import InvalidPolicy


@register("uniform-lasso")
@dataclass(frozen=True, kw_only=True)
class UniformLasso(StagedPolicy):
    """Round robin; every arm's model by a lasso whose penalty cross-validation chooses.

    Parameters
    ----------
    joint
        Whether arms share their features: the block lasso over all arms instead of one lasso an arm.
    refit
        Whether least squares on the features chosen replace the lasso's own, shrunk coefficients.

    >>> UniformLasso(joint=True).spec
    'uniform-lasso:joint=true'
    """

    joint: bool = False
    refit: bool = False

    contrasts = {"joint": ({}, {"joint": True}), "refit": ({}, {"refit": True})}

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("joint", "refit"):
            if not isinstance(getattr(self, name), bool):
                raise InvalidPolicy(
                    f"{name}={getattr(self, name)!r} is neither true nor false", hint=f"e.g. {name}=True"
                )

    def fit(self, contexts: Matrix, outcomes: Vector, arms: npt.NDArray[np.int64], arm_count: int) -> Matrix:
        return fit_lasso(contexts, outcomes, arms, arm_count, joint=self.joint, refit=self.refit)


@register("static-lasso")
@dataclass(frozen=True, kw_only=True)
class StaticLasso(StagedPolicy):
    """Units in proportion to the noise variance, and a lasso an arm whose penalty knows it, too.

    The static allocation that the paper's appendix compares with. It knows the noise.

    Parameters
    ----------
    noise
        Noise variances σ² in the order of the arms. In simulations the lab fills in the truth.

    >>> StaticLasso(noise=(1.0, 2.0)).spec
    'static-lasso:noise=1.0,2.0'
    """

    noise: tuple[float, ...] | None = None

    contrasts = {"noise": Oracle.contrasts["noise"]}

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "noise", Oracle(noise=self.noise).noise)

    def first(self) -> Policy:
        if self.noise is None or not all(self.noise):
            return Oracle(noise=self.noise)
        # In units of the largest, and rounded: the unit of the outcomes must not decide where units go.
        return Oracle(noise=tuple(np.round(np.array(self.noise) / max(self.noise), 12)))

    def check(self, problem: Problem) -> None:
        if self.noise is not None and not all(self.noise):
            raise InvalidPolicy("an arm without noise gets no units", hint="give positive variances")
        super().check(problem)

    def reordered(self, order: Sequence[int]) -> StaticLasso:
        return self if self.noise is None else StaticLasso(noise=tuple(self.noise[i] for i in order))

    def informed(self, noise: Sequence[float]) -> StaticLasso:
        return StaticLasso(noise=tuple(noise)) if self.noise is None else self

    def rescaled(self, factor: float) -> StaticLasso:
        return (
            self
            if self.noise is None
            else StaticLasso(noise=tuple(s * (factor * factor) for s in self.noise))
        )

    def fit(self, contexts: Matrix, outcomes: Vector, arms: npt.NDArray[np.int64], arm_count: int) -> Matrix:
        return fit_lasso(contexts, outcomes, arms, arm_count, joint=False, noise=np.array(self.noise))
