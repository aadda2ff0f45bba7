"""The bar: what Trace-Gain has to reach, ratio by ratio, and whether it does.

On the paper's settings against the oracle, which is told the noise; everywhere against Trace-UCB, which must
not be better: under curvature, skewed, rare, drifting and site-by-site contexts, answers and counts as well.
Where there are no features to look at, nothing can be won, and up to 1 % may be lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from equipoise.core.arithmetic.numerics import NUMERICS
from equipoise.studies.leaderboard.record import Leaderboard, Row
from equipoise.studies.leaderboard.suite import INTERCEPT_ONLY, PAPER, Entry
from equipoise.studies.noise import EQUAL
from equipoise.studies.verdicts import FEWEST_TRIALS

POLICY, ORACLE, PUBLISHED = "trace-gain", "oracle", "trace-ucb"
BAR_POLICIES = (ORACLE, PUBLISHED, POLICY)
BAR_TRIALS = 30_000

_MEDIAN_LIMIT = 0.95
_AMPLE_LIMIT, _SCARCE_LIMIT = 1.00, 1.05
_PUBLISHED_LIMIT, _BLIND_LIMIT = 1.00, 1.01


@dataclass(frozen=True)
class Limit:
    """A ratio of losses that must not be larger than a number."""

    loss: str
    reference: str
    most: float
    ratio: float
    stderr: float

    @property
    def met(self) -> bool:
        """Whether the measured ratio is within the limit."""
        return self.ratio <= self.most

    def record(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "loss": self.loss,
            "reference": self.reference,
            "most": self.most,
            "ratio": {"value": self.ratio, "stderr": self.stderr},
            "met": self.met,
        }


def check_bar(board: Leaderboard) -> dict[str, list[Limit]]:
    """All limits of every entry, by its name."""
    return {row.entry.name: _limits(row) for row in board.rows}


def all_met(board: Leaderboard) -> bool | None:
    """Whether every limit is kept; None if there were too few trials to say."""
    if board.trials < FEWEST_TRIALS:
        return None
    return all(limit.met for limits in check_bar(board).values() for limit in limits)


def bar_record(board: Leaderboard) -> dict[str, Any]:
    """The object that ``--bar --json`` prints."""
    checked = check_bar(board)
    return {
        "version": board.version,
        "numerics": NUMERICS,
        "seed": board.seed,
        "trials": board.trials,
        "units": f"losses of {POLICY} over losses of the reference",
        "met": all_met(board),
        "scenarios": {
            row.entry.name: {
                "seed": row.seed,
                "scenario": row.entry.scenario.to_dict(),
                "limits": [limit.record() for limit in checked[row.entry.name]],
            }
            for row in board.rows
        },
    }


def _limits(row: Row) -> list[Limit]:
    limits = []
    for kind, loss in enumerate(row.entry.losses):
        if row.entry.group == PAPER:
            most = _MEDIAN_LIMIT if kind else _expected_limit(row.entry)
            limits.append(Limit(loss, ORACLE, most, *row.ratio(POLICY, ORACLE, kind)))
        most = _BLIND_LIMIT if row.entry.name == INTERCEPT_ONLY else _PUBLISHED_LIMIT
        limits.append(Limit(loss, PUBLISHED, most, *row.ratio(POLICY, PUBLISHED, kind)))
    return limits


def _expected_limit(entry: Entry) -> float:
    """With less than twice the units that a start takes, unequal noise is hard to learn."""
    scenario = entry.scenario
    ample = scenario.budget >= 2 * len(scenario.noise) * (scenario.dim + 1)
    return _AMPLE_LIMIT if ample or scenario.noise == EQUAL else _SCARCE_LIMIT
