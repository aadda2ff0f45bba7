"""How predictable the next arm was: who can guess it can choose whom to enrol.

The best guesser knows the rule, the past and the context, and names the likeliest arm. The convergence
guesser (Blackwell and Hodges 1957) knows the past arms alone, and names the arm with the fewest units.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from equipoise.core.text_tables import html_table, text_table


@dataclass(frozen=True)
class Predictability:
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
    convergence_stderr: float = 0.0
    """Standard error of ``convergence`` over trials; 0 for a single experiment."""

    def record(self) -> dict[str, Any]:
        """Plain values."""
        return dict(vars(self))

    def __str__(self) -> str:
        return text_table(*self._table())

    def _repr_html_(self) -> str:
        return html_table(*self._table())

    def _table(self) -> tuple[list[str], list[list[str]]]:
        rows = [
            ["best, knows rule, past and context", f"{self.best:.3f}"],
            ["convergence, knows past arms", f"{self.convergence:.3f}"],
            ["blind", f"{self.chance:.3f}"],
        ]
        return ["guesser", "correct"], rows


def predictability_of(rows: npt.NDArray[Any], arms: int) -> Predictability:
    """Of units in the order of assignment, all that were ever assigned."""
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
