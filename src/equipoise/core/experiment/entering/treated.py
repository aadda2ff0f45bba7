"""A unit that received another arm than it was assigned to: it counts where it was treated."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from equipoise.core.arms.rebuild import rebuild
from equipoise.core.arms.state import SET_ASIDE
from equipoise.core.experiment.record import Record, draft


def as_treated(record: Record, row: int, arm: int) -> Record:
    """The same record with a row in another arm; what it was meant for stays noted."""
    changed = draft(record)
    treat(changed, row, arm)
    return changed


def treat(changed: Record, row: int, arm: int) -> None:
    """Put a row of a draft into another arm.

    Nobody knows with what probability it got there. The unit is paid for at the price of the arm that it
    received, and both arms are computed anew.
    """
    state = changed.state
    before = int(state.rows["arm"][row])
    state.rows["arm"][row] = arm
    state.rows["propensity"][row] = np.nan
    for i, more in ((before, -1), (arm, 1)):
        state.arms["assigned"][i] += more
        if state.rows["status"][row] == SET_ASIDE:
            state.arms["set_aside"][i] += more
    for i in (before, arm):
        _link(state.rows[: changed.step], state.arms, i)
        rebuild(state, i)


def _link(rows: npt.NDArray[Any], arms: npt.NDArray[Any], i: int) -> None:
    """Chain the rows of an arm anew, from the newest to the oldest."""
    mine = np.flatnonzero(rows["arm"] == i)
    arms["last_row"][i] = mine[-1] if len(mine) else -1
    rows["previous"][mine] = np.concatenate([[-1], mine[:-1]]) if len(mine) else mine
