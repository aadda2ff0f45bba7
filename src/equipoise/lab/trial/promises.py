"""What estimates promise beside what happened: expected errors and noise variances of simulated trials.

A policy whose expected errors are right on average has ratios of 1. Given contexts and noise estimates, the
error of least squares is σ²Tr(ΣS⁻¹) on average, whatever the policy; how a policy uses σ̂² decides how far an
estimate of that is flattered.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from equipoise.core.arrays import Matrix, Vector
from equipoise.core.estimates.estimates import Fitted
from equipoise.core.policies.base.policy import Policy
from equipoise.lab.trial.bench import ScenarioBench
from equipoise.lab.trial.judge import judge_coefs, new_judge

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


def keep_promises(
    scenario: Scenario, policy: Policy, *, trials: int, seed: int, estimator: str, first: int = 0
) -> Promises:
    """Run trials of a policy of one stage, and estimate after each as an experiment would."""
    bench = ScenarioBench(scenario, [policy], seed)
    seat, draws, arms = bench.seats[0], bench.draws, len(scenario.noise)
    judge = new_judge(arms, scenario.units, 0.0, scenario.true_moment())
    kept = Promises(*(np.zeros((trials, arms)) for _ in range(5)))
    for start in range(0, trials, draws.block):
        count = min(draws.block, trials - start)
        draws.draw(first + start, count)
        for place in range(count):
            row = start + place
            seat.run_one(place, first + row)
            fitted = Fitted(seat.stage, estimator, scenario.ridge)
            judge_coefs(judge, fitted.work.coefs, draws.world.coefs[place], kept.realised[row])
            kept.expected[row] = fitted.expected_errors()
            kept.plain[row] = fitted.work.noise_errors + fitted.work.biases
            kept.residual[row] = seat.stage.state.arms["noise_variance"]
            kept.noise[row] = fitted.selection.noise * kept.residual[row]
    return kept


def ratio(realised: Vector, expected: Vector) -> tuple[float, float]:
    """Mean of one over mean of the other, over paired trials, with its standard error."""
    value = float(np.mean(realised) / np.mean(expected))
    spread = float(np.std(realised - value * expected, ddof=1) / np.mean(expected))
    return value, spread / float(np.sqrt(len(realised)))
