"""Experiments on contexts and outcomes that are known beforehand, by one compiled call.

The call admits units and enters outcomes by the functions that ``ask`` and ``tell`` call, so what comes out
is the experiment that they would have made.
"""

from __future__ import annotations

import numpy as np

import equipoise as eq
from equipoise.core.arms.state import State
from equipoise.core.arrays import Counts, Matrix, Vector
from equipoise.core.choice.decide import CHOOSE
from equipoise.core.experiment.admission import admit
from equipoise.core.experiment.entries import tell
from equipoise.core.experiment.record import draft
from equipoise.core.jit.decorators import compiled


def quick_experiment(
    problem: eq.Problem, policy: str, seed: int, contexts: Matrix, outcomes: Matrix
) -> eq.Experiment:
    """All units asked and told at once; ``outcomes`` [units, m] are what every arm would give."""
    experiment = eq.Experiment(problem, policy, seed=seed)
    record = draft(experiment._record, len(contexts))
    stage = record.stage
    assert stage.whole, "policies that choose features need more than one call"
    scores = np.zeros(len(problem.arms))
    done = _run(
        stage.state, record.contexts, stage.columns, contexts, outcomes, stage.score, stage.settings, scores
    )
    assert done == len(contexts)
    experiment._record = record
    return experiment


@compiled
def _run(
    state: State,
    stored: Matrix,
    columns: Counts,
    contexts: Matrix,
    outcomes: Matrix,
    score: int,
    settings: Vector,
    scores: Vector,
) -> int:
    """Units that got an arm."""
    for t in range(contexts.shape[0]):
        arm: int = admit(state, stored, columns, contexts[t], score, settings, scores, CHOOSE)[0]
        if arm < 0:
            return t
        tell(state, t, outcomes[t, arm])
    return len(contexts)
