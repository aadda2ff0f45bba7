"""The oracle for more features than budget: it knows the noise, and which features matter."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from equipoise.core.policies.base.features import checked_columns, checked_features
from equipoise.core.policies.base.policy import Policy, register
from equipoise.core.policies.base.staged import Columns, StagedPolicy
from equipoise.core.policies.oracle import Oracle
from equipoise.core.problem.problem import Problem
from equipoise.errors import InvalidPolicy


@register("sparse-oracle")
@dataclass(frozen=True, kw_only=True)
class SparseOracle(StagedPolicy):
    """The optimal static allocation among the features that matter, from the first unit on.

    Parameters
    ----------
    noise
        Noise variances σ² in the order of the arms.
    support
        The features, counted from 0. In simulations the lab fills in both.

    >>> SparseOracle(noise=(1.0, 2.0), support=(3, 7)).spec
    'sparse-oracle:noise=1.0,2.0:support=3,7'
    """

    noise: tuple[float, ...] | None = None
    support: tuple[int, ...] | None = None

    contrasts = {
        "noise": (
            {"noise": (1.0, 1.0, 4.0), "support": (0,)},
            {"noise": (4.0, 1.0, 1.0), "support": (0,)},
        ),
        "support": (
            {"noise": (1.0, 1.0, 4.0), "support": (0,)},
            {"noise": (1.0, 1.0, 4.0), "support": (0, 2)},
        ),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "noise", Oracle(noise=self.noise).noise)
        if self.support is not None:
            object.__setattr__(self, "support", checked_features(self.support))

    def second(self) -> Policy:
        return Oracle(noise=self.noise)

    def known_columns(self, problem: Problem) -> Columns:
        if self.support is None:
            raise InvalidPolicy(
                "the sparse oracle must be told the features", hint="e.g. SparseOracle(support=(0, 3))"
            )
        return checked_columns(self.support, problem)

    def reordered(self, order: Sequence[int]) -> SparseOracle:
        noise = None if self.noise is None else tuple(self.noise[i] for i in order)
        return dataclasses.replace(self, noise=noise)

    def informed(self, noise: Sequence[float]) -> SparseOracle:
        return dataclasses.replace(self, noise=tuple(noise)) if self.noise is None else self

    def shown(self, columns: Columns) -> SparseOracle:
        return (
            self if self.support is not None else dataclasses.replace(self, support=tuple(columns.tolist()))
        )
