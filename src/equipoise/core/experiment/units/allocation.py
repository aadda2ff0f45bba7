"""Who went where: encoded contexts and arms of all units, for whoever computes with them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from equipoise.core.arms.state import KNOWN, PENDING
from equipoise.core.arrays import Counts, Matrix
from equipoise.core.experiment.record import Record


class Allocation(NamedTuple):
    """Units in the order of their ids, in arrays of their own."""

    contexts: Matrix
    """One row a unit, as it was encoded; zeros if it was redacted."""
    arms: Counts
    """The place of the arm that it received."""
    counts: npt.NDArray[np.bool_]
    """Whether it counts: with an outcome, or awaited."""


def allocation_of(record: Record) -> Allocation:
    """What a record knows of it."""
    rows = record.state.rows[: record.step]
    contexts = record.contexts[: record.step].copy()
    return Allocation(contexts, rows["arm"].astype(np.int64), np.isin(rows["status"], (PENDING, *KNOWN)))
