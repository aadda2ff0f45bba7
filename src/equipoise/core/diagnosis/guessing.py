"""How predictable the next arm was: who can guess it can choose whom to enrol.

The best guesser knows the rule, the past and the context, and names the likeliest arm. The convergence
guesser (Blackwell and Hodges 1957) knows the past arms alone, and names the arm with the fewest units.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from equipoise.core.arms.state import NO_ARM_YET
from equipoise.core.text_tables import Shown


@dataclass(frozen=True)
class Predictability(Shown):
    """Shares of correct guesses; 1/m is pure chance, 1 is certainty."""

    units: int
    best: float
    """Expected share of the best guesser: the mean of the likeliest arm's probability."""
    convergence: float
    """Share of the convergence guesser, who draws lots where arms tie."""
    chance: float
    """1/m."""
    trials: int = 1
    """Trials that the shares are means of."""
    best_stderr: float = 0.0
    """Standard error of ``best`` over trials; 0 for a single experiment, of which it is no estimate."""
    convergence_stderr: float = 0.0
    """Standard error of ``convergence`` over trials; 0 for a single experiment."""

    def record(self) -> dict[str, Any]:
        """Plain values."""
        return dict(vars(self))

    def _table(self) -> tuple[list[str], list[list[str]]]:
        shares = [
            ("best, knows rule, past and context", self.best, self.best_stderr),
            ("convergence, knows past arms", self.convergence, self.convergence_stderr),
            ("blind", self.chance, 0.0),
        ]
        rows = [
            [guesser, f"{share:.3f}" + (f" ± {error:.3f}" if error > 0.0 else "")]
            for guesser, share, error in shares
        ]
        return ["guesser", "correct"], rows


def predictability_of(rows: npt.NDArray[Any], arms: int) -> Predictability:
    """Of units in the order of assignment, all that were ever assigned and whose arm is known."""
    rows = rows[rows["arm"] != NO_ARM_YET]
    units = len(rows)
    if units == 0:
        return Predictability(0, np.nan, np.nan, 1.0 / arms)
    return Predictability(
        units=units,
        best=float(np.mean(rows["likeliest"])),
        convergence=convergence_rate(np.ascontiguousarray(rows["arm"]), arms),
        chance=1.0 / arms,
    )


def convergence_rate(chosen: npt.NDArray[np.int64], arms: int) -> float:
    """Expected share of units that went to an arm with the fewest units so far, ties guessed by lot.

    >>> round(convergence_rate(np.array([0, 1, 1, 0]), 2), 3)
    0.75
    """
    taken = np.zeros((len(chosen), arms), np.int64)
    taken[np.arange(len(chosen)), chosen] = 1
    before = np.cumsum(taken, axis=0) - taken
    fewest = before == before.min(axis=1, keepdims=True)
    right = fewest[np.arange(len(chosen)), chosen] / fewest.sum(axis=1)
    return float(right.mean())
