"""A test that needs no model: the rule replayed over lots that are drawn anew.

If arms made no difference to anybody (the sharp null hypothesis), every unit would have had the same outcome
in any arm. Then the whole experiment can be gone through again: the same contexts in the same order, the same
outcomes after the same waiting, other lots. How often does that give a difference between arms as large as
the one that was seen? No assumption about outcomes is made; the lots that were drawn are all it rests on
(Fisher 1935). An allocation that depends on outcomes, as all here do through σ̂², is replayed with them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from equipoise.core.arms.state import KNOWN, LOST, REDACTED, WITHDRAWN
from equipoise.core.arrays import Matrix, Vector
from equipoise.core.diagnosis.replaying import replay_lots
from equipoise.core.policies.base.absent import AbsentPolicy
from equipoise.core.stages.stage import Stage
from equipoise.core.text_tables import Shown
from equipoise.errors import InvalidArgument, NoPropensities, NotReplayable

Statistic = Callable[[npt.NDArray[np.int64], Vector, Matrix], float]
"""From arms (as places in the problem), outcomes and contexts of the units with outcomes to a number."""

_MOST_DRAWS = 10**7


@dataclass(frozen=True, eq=False)
class RandomisationTest(Shown):
    """How unusual the difference between arms is among all that the lots could have given."""

    statistic: float
    """Of the experiment as it was."""
    p_value: float
    """(1 + draws with a statistic at least as large)/(1 + draws)."""
    draws: int
    replayed: Vector = field(repr=False)
    """Statistics of the replays."""

    def record(self) -> dict[str, Any]:
        """Plain values, without the statistics of the replays."""
        return {"statistic": self.statistic, "p_value": self.p_value, "draws": self.draws}

    def _table(self) -> tuple[list[str], list[list[str]]]:
        rows = [[f"{self.statistic:.4g}", str(self.draws), f"{self.p_value:.4g}"]]
        return ["statistic", "draws", "p value"], rows


def randomisation_test(
    stage: Stage, *, draws: int, seed: int, statistic: Statistic | None
) -> RandomisationTest:
    """Replay a stage that nobody goes on with; its arrays are used."""
    if isinstance(draws, bool) or not isinstance(draws, int | np.integer) or not 1 <= draws <= _MOST_DRAWS:
        raise InvalidArgument(f"draws={draws!r} is not a number of replays", hint="e.g. 1000")
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise InvalidArgument(f"seed={seed!r} is not a whole number of at least 0")
    state = stage.state
    rows, outcomes = state.rows.copy(), state.outcomes.copy()
    _check(stage, rows)
    chosen = _replayed(stage, rows, outcomes, int(draws), int(seed))
    known = np.isin(rows["status"], KNOWN)
    contexts = np.array(state.contexts[: len(rows)][known])
    if statistic is None:
        largest = _largest_difference(contexts, outcomes[known], len(stage.problem.arms))
        found, here = largest(chosen[:, known]), float(largest(rows["arm"][None, known])[0])
    else:
        found = np.array([statistic(line, outcomes[known], contexts) for line in chosen[:, known]], float)
        here = float(statistic(np.array(rows["arm"][known]), outcomes[known], contexts))
    # Rounding must not make ties of the statistic count against the null.
    hits = int(np.count_nonzero(found >= here - 1e-9 * abs(here)))
    return RandomisationTest(here, (1 + hits) / (1 + int(draws)), int(draws), found)


def _check(stage: Stage, rows: npt.NDArray[Any]) -> None:
    if not stage.whole:
        raise NotReplayable(
            "the policy chooses features first, and such histories are not replayed",
            hint="use a policy with lots and without a choice of features, e.g. TraceGain(chance=0.3)",
        )
    if not len(rows):
        raise NoPropensities("no unit has been assigned yet", hint="ask and tell first")
    if not np.any(rows["propensity"] < 1.0):
        raise NoPropensities(
            "nothing was left to chance, so there are no lots to draw anew",
            hint="allocate with lots, e.g. TraceGain(chance=0.3)",
        )
    if isinstance(stage.policy, AbsentPolicy):
        raise stage.policy.refuse_to_simulate()
    closed, withdrawn = stage.state.arms["open"] == 0, rows["status"] == WITHDRAWN
    redacted, by_persons = np.flatnonzero(rows["status"] == REDACTED), np.isnan(rows["propensity"])
    for found, what in ((closed, "arms are closed"), (withdrawn, "units were withdrawn")):
        if found.any():
            raise NotReplayable(
                f"{what}, which the test does not go through again",
                hint="run the test on a copy from before that",
            )
    if len(redacted):
        raise NotReplayable(
            f"unit {int(redacted[0]) + 1} was redacted, and a history cannot be gone through without its data"
        )
    if by_persons.any():
        raise NotReplayable(
            f"unit {int(np.flatnonzero(by_persons)[0]) + 1} went where a person sent it, and not by lot",
            hint="run the test on a copy from before that",
        )


def _replayed(stage: Stage, rows: npt.NDArray[Any], outcomes: Vector, draws: int, seed: int) -> Any:
    """Arms of every unit in every draw, after a look at whether the history as it was comes back."""
    state, units = stage.state, len(rows)
    over = np.isin(rows["status"], (*KNOWN, LOST))
    order = np.argsort(np.where(over, rows["closed_at"], units + 1), kind="stable")[: np.count_nonzero(over)]
    lost = rows["status"] == LOST
    events = np.column_stack([order, rows["closed_at"][order], lost[order]]).astype(np.int64)
    scores = np.zeros(len(state.arms))

    def run(first: int, count: int) -> npt.NDArray[np.int64]:
        chosen = np.zeros((count, units), np.int64)
        done = replay_lots(state, stage.score, stage.settings, outcomes, events, first, scores, chosen)
        if done < count:
            raise NotReplayable("under other lots the budget, floors or caps leave a unit without an arm")
        return chosen

    again = run(0, 1)[0]
    if not np.array_equal(again, rows["arm"]):
        unit = int(np.flatnonzero(again != rows["arm"])[0]) + 1
        raise NotReplayable(
            f"the history does not lead to the arms that were assigned, from unit {unit} on: outcomes were "
            "corrected, or arms were closed or added",
            hint="run the test on a copy from before that",
        )
    # Trial 0 is the experiment itself, and seeds have lots of their own.
    return run(1 + (seed % 2**20) * 2**36, draws)


def _largest_difference(contexts: Matrix, outcomes: Vector, arms: int) -> Callable[[Any], Vector]:
    """The largest difference between two arms' mean residuals, in units of its spread.

    Residuals are those of one line for all arms: under the null they do not depend on the arms.
    """
    coef, *_ = np.linalg.lstsq(contexts, outcomes, rcond=None)
    residuals = outcomes - contexts @ coef
    spread = float(np.sqrt(np.mean(residuals**2))) if len(residuals) else 0.0
    residuals = residuals / spread if spread > 0.0 else residuals

    def statistic(chosen: Any) -> Vector:
        counts = np.stack([np.sum(chosen == i, axis=1) for i in range(arms)])
        sums = np.stack([np.sum(np.where(chosen == i, residuals, 0.0), axis=1) for i in range(arms)])
        present = counts > 0
        means = sums / np.maximum(counts, 1)
        largest = np.zeros(chosen.shape[0])
        for i in range(arms):
            for j in range(i):
                both = present[i] & present[j]
                size = np.sqrt(1.0 / np.maximum(counts[i], 1) + 1.0 / np.maximum(counts[j], 1))
                gap = np.abs(means[i] - means[j]) / size
                largest = np.maximum(largest, np.where(both, gap, 0.0))
        return largest

    return statistic
