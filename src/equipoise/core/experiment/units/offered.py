"""Which arms a unit might have got, as far as anybody knew: those that were there, open and allowed.

The scores that were kept of a choice tell. An arm that joined later has none, and one that could not be
chosen has minus infinity. So have, under a policy that looks at contexts, arms that wait while others are
short of d + 1 units, also by losses; these are on offer as before. When units were lost is not known here, so
those that were at any time, or were redacted since, may have been.
"""

from __future__ import annotations

import numpy as np

from equipoise.core.arms.state import LOST, REDACTED, WITHDRAWN
from equipoise.core.diagnosis.evidence import Flags
from equipoise.core.experiment.record import Record


def offered_arms(record: Record) -> Flags:
    """[units, arms] of all units; of one whose scores were not kept as of the unit before, or all arms."""
    problem, policy, book = record.problem, type(record.policy), record.book
    names, meant = problem.arms, record.state.rows["meant"]
    stays = ~np.isin(record.state.rows["status"], (LOST, WITHDRAWN, REDACTED))
    found: Flags = np.ones((record.step, len(names)), np.bool_)
    counts = np.zeros(len(names), np.int64)
    before = None
    for row in range(record.step):
        details = book.details[row]
        if details is not None and len(details.scores):
            mine = np.zeros(len(names), np.bool_)
            mine[: len(details.scores)] = details.scores != -np.inf
            if before is not None and policy.looks and np.any(counts[mine] <= problem.dim):
                mine |= before
            if details.eligible is None:
                before = mine
            else:
                mine = mine & np.isin(names, details.eligible)
            found[row] = mine
        elif before is not None:
            found[row] = before
        if meant[row] >= 0 and stays[row]:
            counts[meant[row]] += 1
    return found
