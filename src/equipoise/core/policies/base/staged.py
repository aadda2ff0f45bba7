"""Policies that first choose features, then allocate among them: for budgets below m(d+1)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from equipoise.core.arrays import Matrix, Vector
from equipoise.core.policies.base.policy import Policy

if TYPE_CHECKING:
    from equipoise.core.problem.problem import Problem
    from equipoise.core.sparse import Recovery

Columns = npt.NDArray[np.int64]


class StagedPolicy(Policy):
    """A policy in two stages, each of which is an ordinary policy.

    The first one allocates without any model. Once every arm has ``screening(problem)`` outcomes,
    ``recover`` says which features matter, and the second one allocates among these alone. How that
    goes is written once, in :mod:`equipoise.core.stages.stage`.
    """

    staged: ClassVar[bool] = True
    forced_start: ClassVar[bool] = False  # each stage has its own start

    __fingerprint__: ClassVar[tuple[str, ...]] = (
        *("staged", "forced_start", "reuses", "growth", "by_arm", "first", "second", "screening", "reserve"),
        *("known_columns", "recover", "fit", "shown", "score"),
    )

    @property
    def reuses(self) -> bool:
        """Whether outcomes that have chosen the features serve estimates as well."""
        return False

    @property
    def growth(self) -> float:
        """By what factor outcomes have to grow before features are chosen again; infinite: never."""
        return math.inf

    @property
    def by_arm(self) -> bool:
        """Whether every arm chooses features for itself, after the joint choice."""
        return False

    def check(self, problem: Problem) -> None:
        """Refuse a problem that either stage cannot run on."""
        super().check(problem)
        for acting in (self.first(), self.second()):
            acting.check_score(problem)

    def first(self) -> Policy:
        """Who allocates until the features are known."""
        from equipoise.core.policies.uniform import Uniform

        return Uniform()

    def second(self) -> Policy:
        """Who allocates from then on."""
        return self.first()

    def screening(self, problem: Problem) -> float:
        """L, the outcomes an arm that features are chosen from; infinite: they never are."""
        return math.inf

    def reserve(self, problem: Problem) -> int:
        """Units an arm that the second stage needs; late outcomes are not waited for any longer."""
        return 0

    def known_columns(self, problem: Problem) -> Columns | None:
        """Features that are known from the start; None if they are yet to be chosen."""
        return None

    def recover(
        self, contexts: Matrix, outcomes: Vector, arms: npt.NDArray[np.int64], arm_count: int, most: int
    ) -> Recovery:
        """Choose at most ``most`` features; row k belongs to arm ``arms[k]``."""
        raise NotImplementedError

    def fit(
        self, contexts: Matrix, outcomes: Vector, arms: npt.NDArray[np.int64], arm_count: int
    ) -> Matrix | None:
        """Coefficients of every arm, where the policy brings its own estimates."""
        return None

    def shown(self, columns: Columns) -> StagedPolicy:
        """The same policy told the true support; only policies that know it care."""
        return self

    @staticmethod
    def score(arm: Any, trial: Any, settings: Vector) -> float:
        """Never called: the policies of the stages have scores."""
        raise NotImplementedError
