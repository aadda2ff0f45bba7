"""Arms that have chosen features for themselves: a stage for every set of columns, and what a lasso adds."""

from __future__ import annotations

import numpy as np

from equipoise.core.arms.state import TOLD
from equipoise.core.arrays import Matrix, Vector
from equipoise.core.policies.base.staged import StagedPolicy
from equipoise.core.problem.problem import Problem
from equipoise.core.sparse.additions import lasso_additions
from equipoise.core.stages.stage import Stage, on_own_columns


def stages_of_arms(
    last: Stage, contexts: Matrix, problem: Problem, policy: StagedPolicy, seed: int
) -> list[Stage]:
    """The stage that each arm's estimates rest on: ``last``, or one in the columns of the arm.

    All arms are fitted in every one of them, so that estimators which look at other arms can; arms with the
    same columns share it.
    """
    recovery, made = last.recovery, {last.columns.tobytes(): last}
    stages = []
    for i in range(len(problem.arms)):
        columns = last.columns if recovery is None else recovery.of_arm(i)
        key = columns.tobytes()
        if key not in made:
            made[key] = on_own_columns(last, contexts, problem, policy, columns, seed)
        stages.append(made[key])
    return stages


def additions(stage: Stage, contexts: Matrix, i: int) -> Vector:
    """[d] what a lasso adds to arm i's coefficients in its stage; ``contexts`` have all features."""
    used = int(stage.state.trial["step"][0])
    rows = stage.state.rows[:used]
    mine = (rows["arm"] == i) & (rows["status"] == TOLD)
    return lasso_additions(contexts[:used][mine], stage.state.outcomes[:used][mine], stage.columns)


def adds(stage: Stage) -> bool:
    """Whether arms have chosen for themselves, and a lasso adds to what they have."""
    return stage.recovery is not None and len(stage.recovery.own) > 0
