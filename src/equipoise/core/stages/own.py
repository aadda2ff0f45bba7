"""Arms that have chosen features for themselves: a stage for every set of columns, and weak features."""

from __future__ import annotations

from equipoise.core.arms.state import TOLD
from equipoise.core.arrays import Matrix
from equipoise.core.policies.base.staged import StagedPolicy
from equipoise.core.problem.problem import Problem
from equipoise.core.sparse.soft import Soft, soft_fit
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


def soft_fit_of(stage: Stage, contexts: Matrix, i: int) -> Soft | None:
    """The lasso that takes a share in arm i's model, where its features are too weak to be chosen; else None.

    Only where arms have chosen for themselves; ``stage`` is the arm's, ``contexts`` have all features.
    """
    recovery = stage.recovery
    if recovery is None or i >= len(recovery.own):
        return None
    used, dim = int(stage.state.trial["step"][0]), contexts.shape[1]
    rows = stage.state.rows[:used]
    mine = (rows["arm"] == i) & (rows["status"] == TOLD)
    outcomes, others = stage.state.outcomes[:used][mine], recovery.others(i, dim)
    return soft_fit(contexts[:used][mine], outcomes, stage.columns, others, len(recovery.own))
