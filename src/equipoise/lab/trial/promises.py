"""What estimates promise beside what happened: expected errors and noise variances of simulated trials.

A policy whose expected errors are right on average has ratios of 1. Given contexts and noise estimates, the
error of least squares is σ²Tr(ΣS⁻¹) on average, whatever the policy; how a policy uses σ̂² decides how far an
estimate of that is flattered.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from equipoise.core.arms.state import TOLD, State
from equipoise.core.arrays import Counts, Matrix, Vector
from equipoise.core.choice.ties import new_ties
from equipoise.core.estimates.estimates import Fitted
from equipoise.core.policies.base.policy import Policy
from equipoise.core.stages.stage import Stage, first_stage
from equipoise.lab.trial.judge import judge_coefs, new_judge
from equipoise.lab.trial.rule import rule_of
from equipoise.lab.trial.run import run_stage, start_trial
from equipoise.lab.trial.world import Draws

if TYPE_CHECKING:
    from equipoise.lab.scenario import Scenario


@dataclass(frozen=True, eq=False)
class Promises:
    """What every trial promised and kept; rows are trials, columns arms."""

    realised: Matrix
    """‖β̂ − β‖²_Σ."""
    expected: Matrix
    """What ``expected_error`` was."""
    plain: Matrix
    """The same without correction for the selection."""
    noise: Matrix
    """What ``noise_variance`` was."""
    residual: Matrix
    """What ``residual_variance`` was."""
    given: Matrix
    """σ²Tr(ΣWSW) + λ²‖Wβ‖²_Σ: what the contexts of the trial let ridge expect, at the true σ² and β.

    Where noise is Gaussian and the number of units is fixed, the realised error of ``"ridge"`` has the same
    mean under any policy that ignores coefficients, and the difference of the two steadies other means."""
    units: Counts
    """Units of the trial, one number a trial."""


def new_promises(trials: int, arms: int) -> Promises:
    """Room for some trials."""
    realised, expected, plain, noise, residual, given = np.zeros((6, trials, arms))
    return Promises(realised, expected, plain, noise, residual, given, np.zeros(trials, np.int64))


class Trials:
    """Trials of a policy of one stage, whose estimates can be looked at."""

    def __init__(self, scenario: Scenario, policy: Policy, seed: int) -> None:
        self.scenario, self.problem, self._draws = scenario, scenario.problem(), Draws(scenario, seed)
        self._ties = new_ties(self.problem.arms)
        self._stage = first_stage(
            self.problem, policy.informed(scenario.noise), seed, capacity=self.problem.units
        )
        self._judge = new_judge(len(scenario.noise), scenario.units, 0.0, scenario.true_moment())

    def run(self, trials: int) -> Iterator[tuple[int, Stage]]:
        """The number of every trial, and the stage that it ended with."""
        draws = self._draws
        for start in range(0, trials, draws.block):
            draws.draw(start, min(draws.block, trials - start))
            for place in range(min(draws.block, trials - start)):
                start_trial(self._stage.state, self._ties, draws.world, place, start + place)
                run_stage(self._stage.state, rule_of(self._stage), draws.world)
                yield start + place, self._stage

    def note(self, fitted: Fitted, kept: Promises, row: int) -> None:
        """Write what the estimates of the trial at hand promise and keep."""
        world, state = self._draws.world, fitted.stage.state
        truth = world.coefs[int(world.clock["place"][0])]
        judge_coefs(self._judge, fitted.work.coefs, truth, kept.realised[row])
        kept.expected[row] = fitted.expected_errors()
        kept.plain[row] = fitted.work.noise_errors + fitted.work.biases
        kept.residual[row] = state.arms["noise_variance"]
        kept.noise[row] = np.where(fitted.alike, np.nan, fitted.selection.noise * kept.residual[row])
        kept.given[row] = self._given(state, truth)
        kept.units[row] = int(state.trial["step"][0])

    def _given(self, state: State, truth: Matrix) -> Vector:
        """The expected error of every arm's ridge estimate given its contexts."""
        problem, ridge = self.problem, self.scenario.ridge
        penalty = 1.0 / problem.units if ridge is None else ridge
        rows = state.rows[: int(state.trial["step"][0])]
        arms = np.where(rows["status"] == TOLD, rows["arm"], -1)
        kept = [state.contexts[: len(rows)][arms == i] for i in range(len(truth))]
        grams = np.array([contexts.T @ contexts for contexts in kept])
        weights = np.linalg.inv(grams + penalty * np.eye(problem.dim))
        through = weights @ self.scenario.true_moment() @ weights
        bias = penalty**2 * np.einsum("ij,ijk,ik->i", truth, through, truth)
        return np.asarray(self.scenario.noise * np.sum(through * grams, axis=(1, 2)) + bias)


def keep_promises(
    scenario: Scenario, policy: Policy, *, trials: int, seed: int, estimators: Sequence[str]
) -> dict[str, Promises]:
    """Run trials, and estimate after each as an experiment would, by several estimators."""
    kept = {name: new_promises(trials, len(scenario.noise)) for name in estimators}
    runs = Trials(scenario, policy, seed)
    for row, stage in runs.run(trials):
        for name, promises in kept.items():
            runs.note(Fitted(stage, name, scenario.ridge), promises, row)
    return kept
