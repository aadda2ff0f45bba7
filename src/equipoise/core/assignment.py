"""An assignment: which unit went to which arm, and why."""

from __future__ import annotations

from dataclasses import dataclass

from equipoise.core.layout import Vector


@dataclass(frozen=True, slots=True, eq=False)
class Assignment:
    """The answer to ``ask``: keep ``id``, treat the unit with ``arm``, then ``tell(id, outcome)``."""

    id: int
    """Number of the unit, counted from 1."""

    arm: str
    """Name of the arm the unit goes to."""

    arms: tuple[str, ...]
    score_values: Vector

    @property
    def scores(self) -> dict[str, float]:
        """Every arm's score at the choice: ∞ if it had to go first, −∞ if it may not be chosen."""
        return dict(zip(self.arms, self.score_values.tolist(), strict=True))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Assignment):
            return NotImplemented
        return (self.id, self.arm, self.scores) == (other.id, other.arm, other.scores)

    def __hash__(self) -> int:
        return hash((self.id, self.arm))

    def __repr__(self) -> str:
        return f"Assignment(id={self.id}, arm={self.arm!r})"
