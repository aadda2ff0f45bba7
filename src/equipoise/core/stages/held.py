"""Units that are held for arms whose features are not evident yet.

The second stage takes an arm to be as inaccurate as the noise makes its coefficients. That is not so while
features are missing: an arm with little noise would be left with the few units of the screening, and they
are too few to find what it lacks. So such an arm is held three quarters of its even share n/Σcosts, the
units that dealing out in turn would give it. Arms that are settled (sparse/soft.py) free theirs. All of it
would cost the noisiest arm, which is the worst one, more than it gives the others; none of it, the others
more than it gives the noisiest.

If what is left does not pay for all that, it is cut down in proportion; floors that people set come first.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from equipoise.core.arithmetic.sums import exact_sum
from equipoise.core.arms.state import TOLD, State
from equipoise.core.arrays import Matrix
from equipoise.core.problem.problem import Problem
from equipoise.core.sparse.recovery import Recovery
from equipoise.core.sparse.soft import is_settled

Counts = npt.NDArray[np.int64]

_SHARE = 0.75


def held_units(problem: Problem, state: State, contexts: Matrix, recovery: Recovery) -> Counts:
    """[m] units that every arm gets at least; 0 for one that is settled or closed."""
    step = int(state.trial["step"][0])
    rows, outcomes = state.rows[:step], state.outcomes[:step]
    arms = state.arms
    held = np.zeros(len(arms), np.int64)
    has = np.maximum(arms["count"] + arms["set_aside"], problem.floors)
    wanted = np.maximum(math.floor(_SHARE * problem.budget / exact_sum(problem.costs)) - has, 0.0)
    wanted *= arms["open"] != 0
    for i in np.flatnonzero(wanted > 0):
        mine = (rows["arm"] == i) & (rows["status"] == TOLD)
        columns, others = recovery.of_arm(int(i)), recovery.others(int(i), problem.dim)
        if is_settled(contexts[:step][mine], outcomes[mine], columns, others, len(arms)):
            wanted[i] = 0
    owed = np.maximum(problem.floors - arms["count"] - arms["set_aside"], 0.0) * (arms["open"] != 0)
    left = problem.budget - exact_sum(problem.costs * (arms["assigned"] + owed))
    asked = exact_sum(problem.costs * wanted)
    share = min(max(left, 0.0) / asked, 1.0) if asked > 0.0 else 0.0
    held[wanted > 0] = np.floor(has + share * wanted)[wanted > 0].astype(np.int64)
    return held
