"""Coverage of robust intervals in simulated trials."""

from __future__ import annotations

import numpy as np
import pytest
from single_trials import SimulatedTrials

import equipoise as eq
from equipoise.core.estimates.estimates import estimate_arms
from equipoise.errors import InvalidArgument, InvalidScenario

GROWING = eq.GaussianScenario(
    noise=[0.25, 1.0, 4.0], dim=4, budget=60, intercept=True, heteroscedasticity=4.0
)


@pytest.mark.parametrize("estimator", ["ridge", "pooled"])
@pytest.mark.parametrize("policy", ["uniform", "trace-gain", "sparse-trace-ucb:screen=12"])
def test_coverage_is_that_of_the_estimates(estimator, policy):
    """Arm by arm the share of true coefficients inside the intervals that an experiment would print."""
    scenario = GROWING.replace(estimator=estimator, intervals="robust")
    trials = SimulatedTrials(scenario, eq.parse_policy(policy), 4)
    result = eq.simulate(scenario, [policy], trials=3, seed=4)
    for number in range(3):
        ledger = trials.run(number)
        np.testing.assert_array_equal(result[policy].ledger.coverage[number], ledger.coverage[0])
        if not trials.stage.whole:
            continue
        arms = estimate_arms(
            trials.stage, estimator=estimator, ridge=None, confidence=0.95, intervals="robust"
        )
        truth = trials.truth
        for i, arm in enumerate(arms):
            low, high = arm.intervals.T
            assert ledger.coverage[0, i] == np.mean((low <= truth[i]) & (truth[i] <= high))


def test_what_is_asked_last_counts_and_nothing_else_changes():
    plain, robust, classical = (
        eq.simulate(GROWING.replace(intervals=kind), ["trace-ucb"], trials=60, seed=1, intervals=asked)
        for kind, asked in (("classical", None), ("classical", "robust"), ("robust", "classical"))
    )
    assert (plain.intervals, robust.intervals, classical.intervals) == ("classical", "robust", "classical")
    np.testing.assert_array_equal(plain["trace-ucb"].errors, robust["trace-ucb"].errors)
    np.testing.assert_array_equal(plain["trace-ucb"].ledger.coverage, classical["trace-ucb"].ledger.coverage)
    # Paired over 60 trials the gain is 4 points, and its standard error less than 1.
    assert robust["trace-ucb"].coverage().value > plain["trace-ucb"].coverage().value
    assert robust["trace-ucb"].coverage(corrected=False).value <= robust["trace-ucb"].coverage().value


def test_the_word_is_part_of_the_scenario():
    scenario = GROWING.replace(intervals="robust")
    assert eq.Scenario.from_toml(scenario.to_toml()) == scenario
    assert scenario.to_dict()["intervals"] == "robust"
    assert "intervals" not in GROWING.to_dict()
    with pytest.raises(InvalidScenario, match="'sandwich' is not a kind of interval"):
        GROWING.replace(intervals="sandwich")
    with pytest.raises((InvalidScenario, InvalidArgument), match="'sandwich' is not a kind of interval"):
        eq.simulate(GROWING, ["uniform"], trials=2, intervals="sandwich")


def test_intervals_without_bounds_cover():
    """At a rate of 0.1 % hardly any answer is yes: outcomes are alike, in classical and robust trials."""
    outcomes = eq.YesNoOutcomes(effect=0.1)
    scenario = eq.GaussianScenario(
        outcomes.noise([0.001, 0.001]), dim=2, budget=16, intercept=True, outcomes=outcomes, estimator="ridge"
    )
    for kind in ("classical", "robust"):
        for estimator in ("ridge", "pooled"):
            result = eq.simulate(
                scenario, ["uniform"], trials=20, seed=3, intervals=kind, estimator=estimator
            )
            # 160 units with a chance of one in a thousand: with this seed nobody says yes.
            assert np.all(result["uniform"].ledger.coverage[:10] == 1.0)
