"""How predictable the next arm was: who can guess it can choose whom to enrol.

The best guesser knows the rule, the past and the context, and names the likeliest arm. Who knows the past
arms alone can name the arm with the fewest units so far (the convergence strategy of Blackwell and Hodges
1957), which is right where a rule keeps arms even; or the one with the most, which is right where a rule
prefers some. The better of the two is what such a guesser can do. Nobody names an arm that is closed, has not
joined yet or may not get the unit at hand.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from equipoise.core.arms.state import NO_ARM_YET
from equipoise.core.diagnosis.evidence import Flags
from equipoise.core.text_tables import Shown


@dataclass(frozen=True)
class Predictability(Shown):
    """Shares of correct guesses; ``chance`` is pure chance, 1 is certainty."""

    units: int
    best: float
    """Expected share of the best guesser: the mean of the likeliest arm's probability."""
    fewest: float
    """Share of who names the arm with the fewest units so far, and draws lots where arms tie."""
    most: float
    """The same for the arm with the most."""
    chance: float
    """Of who names any arm that is on offer: 1/m where all are, all the time."""
    trials: int = 1
    """Trials that the shares are means of."""
    best_stderr: float = 0.0
    """Standard error of ``best`` over trials; 0 for a single experiment, of which it is no estimate."""
    fewest_stderr: float = 0.0
    """Standard error of ``fewest`` over trials; 0 for a single experiment."""
    most_stderr: float = 0.0
    """Standard error of ``most`` over trials; 0 for a single experiment."""

    @property
    def past(self) -> float:
        """Share of who knows past arms alone: the better one of ``fewest`` and ``most``."""
        return max(self.fewest, self.most)

    @property
    def past_names(self) -> str:
        """Which arm that is, in words."""
        return f"the arm with the {'most' if self.most > self.fewest else 'fewest'} units so far"

    def record(self) -> dict[str, Any]:
        """Plain values."""
        return dict(vars(self))

    def _table(self) -> tuple[list[str], list[list[str]]]:
        past_error = self.most_stderr if self.most > self.fewest else self.fewest_stderr
        shares = [
            ("best, knows rule, past and context", self.best, self.best_stderr),
            (f"knows past arms, names {self.past_names}", self.past, past_error),
            ("blind", self.chance, 0.0),
        ]
        rows = [
            [guesser, f"{share:.3f}" + (f" ± {error:.3f}" if error > 0.0 else "")]
            for guesser, share, error in shares
        ]
        return ["guesser", "correct"], rows


def predictability_of(rows: npt.NDArray[Any], arms: int, offered: Flags | None = None) -> Predictability:
    """Of units in the order of assignment, all that were ever assigned and whose arm is known.

    ``offered`` tells the arms that were on offer, a row a unit; None: all of them, all the time.
    """
    known = rows["arm"] != NO_ARM_YET
    rows = rows[known]
    units = len(rows)
    if units == 0:
        return Predictability(0, np.nan, np.nan, np.nan, 1.0 / arms)
    offered = np.ones((units, arms), np.bool_) if offered is None else offered[known]
    fewest, most = guessed_by_count(np.ascontiguousarray(rows["arm"]), offered)
    return Predictability(
        units=units,
        best=float(np.mean(rows["likeliest"])),
        fewest=fewest,
        most=most,
        chance=float(np.mean(1.0 / np.maximum(offered.sum(axis=1), 1))),
    )


def guessed_by_count(chosen: npt.NDArray[np.int64], offered: Flags) -> tuple[float, float]:
    """Shares of units that went to an arm with the fewest, and with the most units so far; ties by lot.

    ``offered`` tells which arms can be named, a row a unit.

    >>> fewest, most = guessed_by_count(np.array([0, 1, 1, 0]), np.ones((4, 2), bool))
    >>> round(fewest, 3), round(most, 3)
    (0.75, 0.25)
    """
    places = np.arange(len(chosen))
    taken = np.zeros(offered.shape, np.int64)
    taken[places, chosen] = 1
    before = np.cumsum(taken, axis=0) - taken
    shares = []
    for named in (
        np.where(offered, before, len(chosen)).min(axis=1),
        np.where(offered, before, -1).max(axis=1),
    ):
        leading = offered & (before == named[:, None])
        right = leading[places, chosen] / np.maximum(leading.sum(axis=1), 1)
        shares.append(float(right.mean()))
    return shares[0], shares[1]
