"""What a trial ends with: the estimates that an experiment would give."""

from __future__ import annotations

import numpy as np

from equipoise.core.arrays import Matrix
from equipoise.core.estimates.estimators import ESTIMATORS, Workspace, new_workspace
from equipoise.core.policies.base.policy import Policy
from equipoise.core.policies.base.staged import StagedPolicy
from equipoise.core.problem.problem import Problem
from equipoise.core.stages.stage import Stage, final_stage, own_coefs


class Ending:
    """Fits the arms when a trial is over, by one estimator."""

    def __init__(self, problem: Problem, policy: Policy, seed: int, *, estimator: str, ridge: float | None):
        self.problem, self.policy, self.seed = problem, policy, seed
        self.ridge = 1.0 / problem.units if ridge is None else float(ridge)
        self._fit = ESTIMATORS[estimator].fit
        self._workspace: Workspace | None = None

    def last_stage(self, stage: Stage, contexts: Matrix) -> Stage:
        """The stage that the estimates rest on; ``contexts`` are those of all units in all features."""
        if stage.whole:
            return stage
        assert isinstance(self.policy, StagedPolicy)
        return final_stage(stage, contexts, self.problem, self.policy, self.seed)

    def own_coefs(self, stage: Stage, contexts: Matrix) -> Matrix | None:
        """Coefficients of a policy that brings its own estimates."""
        return own_coefs(stage, contexts, self.policy) if isinstance(self.policy, StagedPolicy) else None

    def coefs(self, stage: Stage) -> Matrix:
        """Coefficients of every arm, 0 for features that the last stage does not have."""
        if self._workspace is None or self._workspace.coefs.shape != stage.state.coefs.shape:
            self._workspace = new_workspace(stage.state, self.ridge)
        self._fit(stage.state, self._workspace)
        if stage.whole:
            return self._workspace.coefs
        coefs = np.zeros((len(self.problem.arms), self.problem.dim))
        coefs[:, stage.columns] = self._workspace.coefs
        return coefs
