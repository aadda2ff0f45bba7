"""What trials end with."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equipoise.core.arrays import Counts, Matrix
from equipoise.core.jit.handles import handled


@handled
class Ledger(NamedTuple):
    """What every trial ended with; rows are trials, columns arms."""

    errors: Matrix
    counts: Counts
    coverage: Matrix  # share of coefficients inside their intervals; nan where not computed
    plain_coverage: Matrix  # the same for t intervals without correction
    course: Matrix  # units, times of the last arrival and the last outcome, whether a target ended it; or nan
    support: Counts  # features that were missed, and that were too many; −1 where none are chosen


def new_ledger(trials: int, arms: int) -> Ledger:
    """Room for the results of some trials."""
    shape = (trials, arms)
    return Ledger(
        np.zeros(shape),
        np.zeros(shape, np.int64),
        np.full(shape, np.nan),
        np.full(shape, np.nan),
        np.full((trials, 4), np.nan),
        np.full((trials, 2), -1, np.int64),
    )


def put_together(whole: Ledger, part: Ledger, first: int, trials: int) -> Ledger:
    """Results of so many trials, with those of some from ``first`` on; ``whole`` may be empty so far.

    Where a part is all of it, nothing is copied: then results may be views of somebody's arrays.
    """
    count, arms = part.errors.shape
    if count == trials:
        return part
    if not len(whole.errors):
        whole = new_ledger(trials, arms)
    for results, its in zip(whole, part, strict=True):
        results[first : first + count] = its
    return whole
