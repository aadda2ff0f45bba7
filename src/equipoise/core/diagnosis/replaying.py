"""An experiment's history gone through again under other lots, compiled."""

from __future__ import annotations

from equipoise.core.arms.least_squares import lose, observe
from equipoise.core.arms.rebuild import clear
from equipoise.core.arms.state import State
from equipoise.core.arrays import Counts, Vector
from equipoise.core.choice.decide import CHOOSE, decide
from equipoise.core.jit.decorators import compiled


@compiled
def replay_lots(
    state: State,
    score: int,
    settings: Vector,
    outcomes: Vector,
    events: Counts,
    first: int,
    scores: Vector,
    chosen: Counts,
) -> int:
    """Assign all units anew under the lots of trials ``first``, ``first`` + 1, …: one a row of ``chosen``.

    ``events`` has a line for every outcome that came or was given up, in the order in which they did: the
    unit, the units that had been assigned, and whether the outcome was lost. Contexts stand in the state.
    The answer is the number of rows that were filled: fewer than all if the rule had no arm for a unit.
    """
    units = chosen.shape[1]
    for draw in range(chosen.shape[0]):
        clear(state, first + draw)
        event = 0
        for t in range(units):
            while event < events.shape[0] and events[event, 1] <= t:
                row = events[event, 0]
                if events[event, 2]:
                    lose(state, row)
                else:
                    observe(state, row, outcomes[row])
                event += 1
            arm = decide(state, score, settings, scores, CHOOSE)
            if arm < 0:
                return draw
            chosen[draw, t] = arm
    return len(chosen)
