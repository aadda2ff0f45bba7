"""What is entered about a unit that was assigned: each entry is one call of compiled code.

All of them return the status that the row had. Whether it allows the entry is looked up here, so that
nothing can come between the look and the change; an entry that is not allowed changes nothing.
"""

from __future__ import annotations

from equipoise.core.arms import least_squares as arms
from equipoise.core.arms import rebuild as anew
from equipoise.core.arms.state import LOST, PENDING, REDACTED, SET_ASIDE, TOLD, WITHDRAWN, State
from equipoise.core.arrays import Counts, Vector
from equipoise.core.jit.decorators import compiled

NOBODY = -1
"""No unit was assigned to that row."""


@compiled
def correct(state: State, row: int, outcome: float) -> int:
    """Set the outcome of any row that is neither withdrawn nor redacted, and compute its arm anew."""
    if row >= state.trial[0].step:
        return NOBODY
    status: int = state.rows[row].status
    if status not in (WITHDRAWN, REDACTED):
        state.outcomes[row] = outcome
        if status in (PENDING, LOST):
            state.rows[row].closed_at = state.trial[0].step
        if status != SET_ASIDE:
            state.rows[row].status = TOLD
            anew.rebuild(state, state.rows[row].arm)
    return status


@compiled
def tell(state: State, row: int, outcome: float) -> int:
    """Take in the outcome of a pending row, or of one that was given up."""
    if row >= state.trial[0].step:
        return NOBODY
    status: int = state.rows[row].status
    if status == PENDING:
        arms.observe(state, row, outcome)
        state.rows[row].closed_at = state.trial[0].step
    elif status == LOST:
        correct(state, row, outcome)
    return status


@compiled
def tell_all(state: State, rows: Counts, outcomes: Vector) -> None:
    """Take in outcomes of rows that were looked at before: all of them can have one."""
    for k in range(rows.shape[0]):
        tell(state, rows[k], outcomes[k])


@compiled
def lose(state: State, row: int) -> int:
    """Give up the outcome of a pending row."""
    if row >= state.trial[0].step:
        return NOBODY
    status: int = state.rows[row].status
    if status == PENDING:
        arms.lose(state, row)
        state.rows[row].closed_at = state.trial[0].step
    return status


@compiled
def withdraw(state: State, row: int) -> int:
    """Take any row out that is not redacted."""
    if row >= state.trial[0].step:
        return NOBODY
    status: int = state.rows[row].status
    if status not in (WITHDRAWN, REDACTED):
        anew.withdraw(state, row)
    return status
