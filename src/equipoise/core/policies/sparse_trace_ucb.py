"""Sparse-Trace-UCB: find the features that matter, then Trace-UCB among them (Algorithm 2)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from equipoise.core.arithmetic.sums import exact_sum
from equipoise.core.arms.widths import is_number
from equipoise.core.arrays import Matrix, Vector
from equipoise.core.policies.base.features import checked_columns, checked_count, checked_features
from equipoise.core.policies.base.policy import Policy, register
from equipoise.core.policies.base.screening import default_screening, default_screening_alone
from equipoise.core.policies.base.staged import Columns, StagedPolicy
from equipoise.core.policies.base.ucb import BoundedPolicy
from equipoise.core.policies.trace_gain import TraceGain
from equipoise.core.policies.trace_ucb import TraceUCB
from equipoise.core.problem.costs import covers
from equipoise.core.problem.problem import Problem
from equipoise.core.sparse import BY_SPARSITY, CRITERIA, Recovery, recover_support, recover_supports
from equipoise.errors import BudgetTooSmall, InvalidPolicy

# By what factor outcomes grow before arms choose their features again.
_GROWTH = 1.3


@register("sparse-trace-ucb")
@dataclass(frozen=True, kw_only=True)
class SparseTraceUCB(StagedPolicy, BoundedPolicy):
    """Give every arm L units, choose the features that matter, go on among them.

    Features are chosen jointly, by a block lasso, and then by every arm for itself: arms may share their
    features, or some of them, or none. All outcomes are fitted, and features are chosen again as they grow in
    number. An arm whose features are not evident keeps most of its even share of the budget. With
    ``shared=True``, or ``sparsity``, it is Algorithm 2 as printed: one choice for all arms, from outcomes
    that serve no estimate.

    Parameters
    ----------
    width, bound, delta
        Of Trace-UCB in the second stage, see :class:`~equipoise.TraceUCB`.
    screen
        L, outcomes an arm that the features are chosen from; None: from the budget.
    shared
        Whether all arms have the same features, which one joint choice finds.
    sparsity
        s, how many features matter in any arm, which then are those of all; None: the criterion says.
    criterion
        How the number of features is chosen jointly: ``"elimination"``, or without ``sparsity`` also
        ``"ebic"``, ``"cross-validation"`` and ``"stability"``, with it ``"path"``, the first λ that has s
        features. See :mod:`equipoise.core.sparse.criteria`.
    support
        The features themselves, counted from 0, if they are known: Trace-UCB among them from the start.
    reuse
        Whether the outcomes that choose features serve the second stage and the estimates as well. They make
        estimates better. Intervals then hold given the choice, and not after it: those of features that noise
        helped to choose are too short, or in the wrong place. None: unless arms are taken to share their
        features.
    look
        Whether the second stage looks at contexts: :class:`~equipoise.TraceGain` instead of Trace-UCB.
    refresh
        A factor above 1: features are chosen again whenever outcomes have grown by it. Needs ``reuse``.
        Infinite: never. None: 1.3 where arms choose for themselves, else never.

    >>> SparseTraceUCB(screen=60, sparsity=8, reuse=True).spec
    'sparse-trace-ucb:screen=60:sparsity=8:reuse=true'
    """

    screen: int | None = None
    shared: bool = False
    sparsity: int | None = None
    criterion: str = "elimination"
    support: tuple[int, ...] | None = None
    reuse: bool | None = None
    look: bool = False
    refresh: float | None = None

    contrasts = {
        **{
            name: ({**one, "support": (0, 1, 2)}, {**other, "support": (0, 1, 2)})
            for name, (one, other) in BoundedPolicy.contrasts.items()
        },
        "screen": ({"screen": 6, "sparsity": 2}, {"screen": 12, "sparsity": 2}),
        "sparsity": ({"screen": 8, "sparsity": 1}, {"screen": 8, "sparsity": 3}),
        "shared": ({"screen": 8}, {"screen": 8, "shared": True}),
        "criterion": (
            {"screen": 10, "shared": True},
            {"screen": 10, "shared": True, "criterion": "ebic"},
        ),
        "support": ({"support": (0,)}, {"support": (0, 1, 2)}),
        "reuse": ({"screen": 8, "sparsity": 2}, {"screen": 8, "sparsity": 2, "reuse": True}),
        "look": ({"screen": 8, "sparsity": 2}, {"screen": 8, "sparsity": 2, "look": True}),
        "refresh": (
            {"screen": 5, "reuse": True, "sparsity": 2},
            {"screen": 5, "reuse": True, "sparsity": 2, "refresh": 1.5},
        ),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.support is not None:
            object.__setattr__(self, "support", checked_features(self.support))
            left = (self.screen, self.sparsity, self.refresh) == (None, None, None)
            if not left or self.reuse or self.shared or self.criterion != "elimination":
                raise InvalidPolicy(
                    "with support= there is nothing to choose",
                    hint="leave screen=, shared=, sparsity=, criterion=, reuse= and refresh= out",
                )
            if not self.support:
                raise InvalidPolicy("support= names no feature", hint="e.g. support=(0, 3)")
        for name, least in (("screen", 2), ("sparsity", 0)):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, checked_count(name, getattr(self, name), least=least))
        for name in ("shared", "reuse", "look"):
            if not isinstance(getattr(self, name), bool) and (name != "reuse" or self.reuse is not None):
                raise InvalidPolicy(
                    f"{name}={getattr(self, name)!r} is neither true nor false", hint=f"e.g. {name}=True"
                )
        if self.look and (self.width != 1.0 or self.bound is not None or self.delta is not None):
            raise InvalidPolicy(
                "with look=true there is no width", hint="leave width=, bound= and delta= out"
            )
        self._check_criterion()
        self._check_refresh()

    def _check_criterion(self) -> None:
        known = tuple(CRITERIA) if self.sparsity is None else BY_SPARSITY
        if self.criterion not in known:
            given = "without" if self.sparsity is None else "with"
            raise InvalidPolicy(
                f"no criterion {self.criterion!r} {given} sparsity=", hint=f"use {', '.join(known)}"
            )

    def _check_refresh(self) -> None:
        if self.refresh is None:
            return
        if not is_number(self.refresh) or not 1.0 < self.refresh:
            raise InvalidPolicy(f"refresh={self.refresh!r} is not a number above 1", hint="e.g. 2")
        if not self.reuses and self.refresh < math.inf:
            raise InvalidPolicy(
                "refresh= would use up outcomes again and again, and leave none for the estimates",
                hint="give reuse=true with it",
            )

    @property
    def by_arm(self) -> bool:
        return self.support is None and self.sparsity is None and not self.shared

    @property
    def reuses(self) -> bool:
        return self.by_arm if self.reuse is None else self.reuse

    @property
    def growth(self) -> float:
        if self.refresh is not None:
            return float(self.refresh)
        return _GROWTH if self.by_arm and self.reuses else math.inf

    def check(self, problem: Problem) -> None:
        super().check(problem)
        if self.support is None:
            self._check_screening(problem)
        else:
            checked_columns(self.support, problem)
            self._check_budget(problem, 0, len(self.support))

    def _check_screening(self, problem: Problem) -> None:
        dim = problem.dim
        if self.sparsity is not None and self.sparsity > dim:
            raise InvalidPolicy(
                f"sparsity={self.sparsity} is more than the {dim} features that there are",
                hint="sparsity= counts features that matter in any arm; leave it out if it is not known",
            )
        pulls = self.screening(problem)
        if self.sparsity is not None and self.sparsity > pulls - 2:
            raise InvalidPolicy(
                f"{pulls} outcomes an arm cannot choose {self.sparsity} features: "
                f"that takes {self.sparsity + 2} at least",
                hint=f"give screen={self.sparsity + 2} or more; a few times as many is better",
            )
        self._check_budget(problem, pulls, self.sparsity or 0)

    def _check_budget(self, problem: Problem, pulls: int, features: int) -> None:
        start = 0 if self.reuses else features + 1
        needed = exact_sum(problem.costs * np.maximum(problem.floors, pulls + start))
        if covers(problem.budget, needed):
            return
        if pulls:
            purpose = f"{pulls} units an arm to choose features and {start} to start with them"
        else:
            purpose = f"{start} units an arm to fit {features} features"
        raise BudgetTooSmall(
            f"a budget of {problem.budget:.10g} does not pay for {purpose}: that takes {needed:.10g}",
            hint=f"give budget={needed:.10g} or more, or "
            + ("a smaller screen=" if pulls else "fewer features"),
        )

    def screening(self, problem: Problem) -> int:
        if self.screen is not None:
            return self.screen
        return default_screening_alone(problem) if self.by_arm else default_screening(problem, self.sparsity)

    def reserve(self, problem: Problem) -> int:
        if self.reuses:
            return 0
        return (max(self.screening(problem) // 4, 1) if self.sparsity is None else self.sparsity) + 1

    def known_columns(self, problem: Problem) -> Columns | None:
        if self.support is None:
            return np.zeros(0, np.int64) if self.sparsity == 0 else None
        return checked_columns(self.support, problem)

    def second(self) -> Policy:
        if self.look:
            return TraceGain()
        return TraceUCB(width=self.width, bound=self.bound, delta=self.delta)

    def recover(
        self, contexts: Matrix, outcomes: Vector, arms: npt.NDArray[np.int64], arm_count: int, most: int
    ) -> Recovery:
        if self.by_arm:
            return recover_supports(contexts, outcomes, arms, arm_count, most=most, criterion=self.criterion)
        return recover_support(
            contexts,
            outcomes,
            arms,
            arm_count,
            sparsity=self.sparsity,
            most=most,
            criterion=self.criterion,
        )
