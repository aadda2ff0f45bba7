"""Policies that draw arms by lot, each with a probability that is known: the designs of trials."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from equipoise.core.arrays import Matrix, Vector
from equipoise.core.policies.base.policy import Policy

if TYPE_CHECKING:
    from equipoise.core.problem.problem import Problem


class Design(Policy):
    """A rule that gives every arm a probability.

    Instead of a score it has two static functions, which are compiled:

    ``weigh(arms, trial, settings, context, memory, turns, weights)`` writes a weight of at least 0 for every
    arm that may be chosen. On entry those have weight 1, the others ``MAY_NOT``, which must stay. Shares of
    weights are probabilities. It reads everything and changes nothing else, but for parts of ``memory`` that
    are scratch. ``turns`` lists the arms in the seed's order, for rules to which an order matters.

    ``remember(trial, settings, context, memory, stream, row, arm)`` takes note of a unit that was assigned,
    by lot or by a person. It is not shown the arms' records, so the memory is a fold of contexts and arms in
    their order: it is computed anew from the rows when an experiment is loaded or an arm joins. Of ``trial``
    it reads what never changes. Memory starts as zeros.

    Designs count assignments: lost or withdrawn units keep their places in blocks, urns and margins.
    """

    weighs: ClassVar[bool] = True
    forced_start: ClassVar[bool] = False

    __fingerprint__: ClassVar[tuple[str, ...]] = (
        *Policy.__fingerprint__,
        *("memory", "weigh", "remember"),
    )

    def memory(self, problem: Problem) -> tuple[int, int]:
        """Rows and columns of what it remembers."""
        return 1, 1

    @staticmethod
    def weigh(
        arms: Any, trial: Any, settings: Vector, context: Vector, memory: Matrix, turns: Any, weights: Vector
    ) -> None:
        """Write the weights of the arms that may be chosen."""
        raise NotImplementedError

    @staticmethod
    def remember(
        trial: Any, settings: Vector, context: Vector, memory: Matrix, stream: Any, row: int, arm: int
    ) -> None:
        """Take note of a unit; a design that looks at the arms' records alone remembers nothing."""

    @staticmethod
    def score(arm: Any, trial: Any, settings: Vector) -> float:
        """What intervals ask: how far σ̂² steers the arm. Most designs do not read it."""
        return 0.0
