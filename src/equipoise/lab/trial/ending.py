"""What a trial ends with: the estimates that an experiment would give."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from equipoise.core.arrays import Matrix
from equipoise.core.estimates.estimators import ESTIMATORS, Workspace, new_workspace
from equipoise.core.policies.base.policy import Policy
from equipoise.core.policies.base.staged import StagedPolicy
from equipoise.core.problem.problem import Problem
from equipoise.core.stages.own import soft_fit_of, stages_of_arms
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

    def stages(self, last: Stage, contexts: Matrix) -> list[Stage]:
        """The stage that each arm's estimates rest on: ``last`` for all where they share their features."""
        if last.whole:
            return [last] * len(self.problem.arms)
        assert isinstance(self.policy, StagedPolicy)
        return stages_of_arms(last, contexts, self.problem, self.policy, self.seed)

    def estimated(self, stage: Stage, contexts: Matrix) -> Matrix:
        """Coefficients of every arm as an experiment in that stage would give them."""
        own = self.own_coefs(stage, contexts)
        if own is not None:
            return own
        return self.coefs(self.stages(self.last_stage(stage, contexts), contexts), contexts)

    def coefs(self, stages: Sequence[Stage], contexts: Matrix) -> Matrix:
        """Coefficients of every arm in its stage, 0 for features that it does not have."""
        if stages[0].whole:
            return self._fitted(stages[0])
        coefs = np.zeros((len(self.problem.arms), self.problem.dim))
        for stage in {id(stage): stage for stage in stages}.values():
            fitted = self._fitted(stage)
            for i in (i for i, each in enumerate(stages) if each is stage):
                coefs[i, stage.columns] = fitted[i]
                soft = soft_fit_of(stage, contexts, i)
                if soft is not None:
                    coefs[i] = soft.beside(coefs[i])
        return coefs

    def _fitted(self, stage: Stage) -> Matrix:
        """Coefficients of all arms in the columns of a stage."""
        if self._workspace is None or self._workspace.coefs.shape != stage.state.coefs.shape:
            self._workspace = new_workspace(stage.state, self.ridge)
        self._fit(stage.state, self._workspace)
        return self._workspace.coefs
