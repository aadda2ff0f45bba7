"""Whole trials in unusual worlds: common random numbers, and outcomes that come late or never."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from single_trials import SimulatedTrials

import equipoise as eq
from equipoise.core.arms.state import LOST, TOLD
from equipoise.core.stages.fresh import number_trial
from equipoise.lab.pieces import (
    Delay,
    DiscreteContexts,
    SkewedNoise,
    StudentNoise,
)

scenario = partial(eq.Scenario, noise=(0.5, 2.0), dim=3, budget=100)

EVERYTHING = scenario(
    noise=(0.3, 1.0, 2.0),
    dim=4,
    budget=120,
    intercept=True,
    contexts=DiscreteContexts(levels=4, covariance="ar1:0.5"),
    noise_shape=SkewedNoise(shape=2.0),
    heteroscedasticity=0.5,
    curvature=0.2,
    coef_drift=0.3,
    noise_drift=0.5,
    delay=Delay(mean=15.0),
    lost=0.1,
    moment="learned",
    objective="mean",
    weights=(1.0, 2.0, 1.0),
)


def run(given, policy, trial=0, seed=12):
    bench = SimulatedTrials(given, eq.parse_policy(policy), seed)
    return bench, bench.run(trial)


@pytest.mark.parametrize(
    "given",
    [
        scenario(noise=(0.1, 1.0, 3.0), coef=np.zeros((3, 3))),
        scenario(noise=(0.1, 1.0, 3.0), coef=np.zeros((3, 3)), noise_shape=StudentNoise(), lost=0.2),
        scenario(noise=(0.1, 1.0, 3.0), coef=np.zeros((3, 3)), delay=Delay(mean=5.0), moment="learned"),
    ],
    ids=["prompt", "lost", "late"],
)
def test_policies_meet_common_random_numbers(given):
    """The same contexts, and for the r-th pull of an arm the same noise: outcomes are noise here."""
    benches = [run(given, policy)[0] for policy in ("uniform", "oracle", "trace-ucb", "var-ucb")]
    first = benches[0].state
    arms = [bench.state.rows["arm"] for bench in benches]
    assert not np.array_equal(arms[0], arms[2])  # or there would be nothing to compare
    for bench in benches[1:]:
        np.testing.assert_array_equal(bench.state.contexts, first.contexts)
        np.testing.assert_array_equal(bench.truth, benches[0].truth)
        for arm in range(3):
            mine = bench.state.outcomes[bench.state.rows["arm"] == arm]
            theirs = first.outcomes[first.rows["arm"] == arm]
            shared = min(len(mine), len(theirs))
            assert shared >= 4
            np.testing.assert_array_equal(mine[:shared], theirs[:shared])
            assert len(np.unique(mine)) == len(mine)


@pytest.mark.parametrize("mean", [3.0, 60.0, 1e6])
@pytest.mark.parametrize("shape", ["fixed", "geometric", "uniform"])
def test_every_outcome_that_is_not_lost_enters_the_estimate(shape, mean):
    given = EVERYTHING.replace(delay=Delay(mean=mean, shape=shape), estimator="ridge", ridge=0.5)
    bench, ledger = run(given, "trace-ucb")
    state, moment = bench.state, given.true_moment()
    statuses = state.rows["status"]
    flags = bench.lost
    assert 0 < flags.sum() < given.budget
    np.testing.assert_array_equal(statuses, np.where(flags, LOST, TOLD))
    for arm in range(3):
        mine = (state.rows["arm"] == arm) & ~flags
        assert ledger.counts[0, arm] == mine.sum()
        x, y = state.contexts[mine], state.outcomes[mine]
        gap = np.linalg.solve(x.T @ x + 0.5 * np.eye(4), x.T @ y) - bench.truth[arm]
        assert ledger.errors[0, arm] == pytest.approx(gap @ moment @ gap, rel=1e-9)


def test_outcomes_that_have_not_arrived_are_not_used():
    """With all outcomes after the last unit, allocation cannot tell a wild arm from a mild one."""
    late = {"delay": Delay(mean=100.0, shape="fixed")}
    mild, wild = scenario(noise=(1.0, 1.0), **late), scenario(noise=(0.01, 100.0), **late)
    arms = [run(given, "trace-ucb")[0].state.rows["arm"] for given in (mild, wild)]
    np.testing.assert_array_equal(*arms)
    prompt = [run(given.replace(delay=None), "trace-ucb")[0].state.rows["arm"] for given in (mild, wild)]
    assert not np.array_equal(*prompt)


@pytest.mark.parametrize("policy", ["trace-ucb", "uniform", "oracle", "var-ucb"])
@pytest.mark.parametrize("number", [0, 7])
def test_late_trials_are_what_an_experiment_does(number, policy):
    """Told in the same order, an experiment assigns the same arms."""
    bench, _ = run(EVERYTHING, policy, trial=number)
    state = bench.state
    informed = eq.parse_policy(policy).informed(EVERYTHING.noise)
    experiment = eq.Experiment(EVERYTHING.problem(), informed, seed=12)
    number_trial(experiment._state, experiment.problem, number)
    due = {}
    for t in range(EVERYTHING.budget):
        assignment = experiment.ask(state.contexts[t])
        assert experiment.problem.index(assignment.arm) == state.rows["arm"][t], t
        due.setdefault(int(bench.due[t]), []).append((t, assignment.id))
        for row, id in due.pop(t, []):
            if bench.lost[row]:
                experiment.lose(id)
            else:
                experiment.tell(id, state.outcomes[row])


@pytest.mark.parametrize("policy", ["uniform", "oracle", "trace-ucb"])
def test_everything_at_once(policy):
    _, ledger = run(EVERYTHING, policy)
    assert np.all(np.isfinite(ledger.errors))
    assert np.all(ledger.errors > 0)
    assert 90 < ledger.counts.sum() < 120


def test_coverage_that_nobody_judges_is_not_a_number_whatever_the_estimator():
    for estimator in ("ridge", "pooled"):
        scenario = eq.GaussianScenario(noise=[1.0] * 51, dim=1, budget=160, estimator=estimator)
        ledger = eq.simulate(scenario, ["uniform"], trials=2)["uniform"].ledger
        assert np.isnan(ledger.coverage).all()
        assert np.isnan(ledger.plain_coverage).all()
