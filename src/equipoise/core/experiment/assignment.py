"""An assignment: which unit went to which arm, and why."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from equipoise.core.arrays import Vector


@dataclass(frozen=True, slots=True, eq=False)
class Assignment:
    """The answer to ``ask``: treat the unit with ``arm``, then ``tell`` its outcome by ``unit`` or ``id``."""

    id: int
    """Number of the unit, counted from 1."""

    arm: str
    """Name of the arm the unit goes to."""

    arms: tuple[str, ...]
    score_values: Vector
    top: str
    """The arm with the highest score, which is ``arm`` unless that was drawn by lot."""

    chance: float
    """Probability with which the arm was to be drawn by lot; not a number where scores were not kept."""

    weighed: bool = False
    """Whether the scores are the probabilities by which the arm was drawn, as in a randomised design."""

    unit: str | None = None
    """Key of the unit, if it was asked for by one."""

    chosen: str | None = None
    """What the rule chose, which may be another arm where a person gave it. None: not at hand, not kept."""

    eligible: tuple[str, ...] | None = None
    """Arms that the unit might go to, where not to all."""

    given_by_person: bool | None = False
    """Whether a person gave the arm, whatever the rule chose; None where that was not kept."""

    receipt: Any = None
    """What proves that the assignment is stored, in a live experiment."""

    @property
    def scores(self) -> dict[str, float]:
        """Every arm's score at the choice: ∞ if it had to go first, −∞ if it may not be chosen.

        A randomised design has probabilities for scores. Empty where they were not kept, as in an experiment
        that was restored from a snapshot and is asked for a unit again.
        """
        return dict(zip(self.arms, self.score_values.tolist(), strict=True))

    @property
    def propensities(self) -> dict[str, float]:
        """Every arm's probability of getting this unit, as it was before the draw.

        Without a lot the arm with the highest score has probability 1. Empty where scores were not kept.
        """
        if not self.arms:
            return {}
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
        """Probability that this unit went where it went.

        Not a number where a person gave the arm, or scores were not kept; the experiment's
        ``experiment[unit]`` has it still.
        """
        by_rule = self.chosen == self.arm and not self.given_by_person
        return self.propensities.get(self.arm, math.nan) if by_rule else math.nan

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Assignment):
            return NotImplemented
        mine, theirs = ((one.id, one.unit, one.arm, one.scores) for one in (self, other))
        return mine == theirs

    def __hash__(self) -> int:
        return hash((self.id, self.arm))

    def __repr__(self) -> str:
        unit = "" if self.unit is None else f"unit={self.unit!r}, "
        return f"Assignment({unit}id={self.id}, arm={self.arm!r})"
