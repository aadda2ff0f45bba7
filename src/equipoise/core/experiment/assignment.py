"""An assignment: which unit went to which arm, and why."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equipoise.core.arrays import Vector


@dataclass(frozen=True, slots=True, eq=False)
class Assignment:
    """The answer to ``ask``: keep ``id``, treat the unit with ``arm``, then ``tell(id, outcome)``."""

    id: int
    """Number of the unit, counted from 1."""

    arm: str
    """Name of the arm the unit goes to."""

    arms: tuple[str, ...]
    score_values: Vector
    top: str
    """The arm with the highest score, which is ``arm`` unless that was drawn by lot."""

    chance: float
    """Probability with which the arm was to be drawn by lot."""

    weighed: bool = False
    """Whether the scores are the probabilities by which the arm was drawn, as in a randomised design."""

    @property
    def scores(self) -> dict[str, float]:
        """Every arm's score at the choice: ∞ if it had to go first, −∞ if it may not be chosen.

        A randomised design has probabilities for scores.
        """
        return dict(zip(self.arms, self.score_values.tolist(), strict=True))

    @property
    def propensities(self) -> dict[str, float]:
        """Every arm's probability of getting this unit, as it was before the draw.

        Without a lot the arm with the highest score has probability 1.
        """
        if self.weighed:
            shares = np.maximum(self.score_values, 0.0)
            return dict(zip(self.arms, shares.tolist(), strict=True))
        candidates = self.score_values > -np.inf
        count = int(np.count_nonzero(candidates))
        chance = self.chance if count else 0.0
        shares = np.where(candidates, chance / max(count, 1), 0.0)
        shares[self.arms.index(self.top)] += 1.0 - chance
        return dict(zip(self.arms, shares.tolist(), strict=True))

    @property
    def propensity(self) -> float:
        """Probability that this unit went where it went."""
        return self.propensities[self.arm]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Assignment):
            return NotImplemented
        return (self.id, self.arm, self.scores) == (other.id, other.arm, other.scores)

    def __hash__(self) -> int:
        return hash((self.id, self.arm))

    def __repr__(self) -> str:
        return f"Assignment(id={self.id}, arm={self.arm!r})"
