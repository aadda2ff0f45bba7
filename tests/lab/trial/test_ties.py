"""Every trial has its own order of ties, so standard errors tell how far two seeds may lie apart."""

from __future__ import annotations

import numpy as np
import pytest
from single_trials import ReplayedTrials, SimulatedTrials

import equipoise as eq
from equipoise.core.choice.ties import tie_order
from equipoise.lab.replay.arena import new_arena

UNEQUAL = (0.01, 0.02, 0.75, 1.0, 2.0, 2.0, 3.0)


@pytest.mark.slow
def test_standard_errors_include_the_order_of_ties():
    """200 units are four more than 28 for each of seven arms: whoever gets them counts.

    With one order for all trials of a seed the noisiest arm had 28 or 29 units in all of them, and seeds
    gave 1.67 or 1.76, each ± 0.010. Chi-square with 7 degrees of freedom is above 34.6 once in 75,000 sets
    of eight seeds; that order made it about 70.
    """
    scenario = eq.GaussianScenario(noise=UNEQUAL, dim=10, budget=200, estimator="ridge")
    found = [
        eq.simulate(scenario, ["uniform"], trials=8_000, seed=seed)["uniform"].expected_max()
        for seed in range(8)
    ]
    values, errors = (np.array([getattr(one, name) for one in found]) for name in ("value", "stderr"))
    centre = np.average(values, weights=1 / errors**2)
    assert np.sum(((values - centre) / errors) ** 2) < 34.6


def test_rests_of_the_budget_go_to_all_arms_alike():
    # Every arm gets one of 4 extra units with probability 4/7, here 5 standard errors: fails by chance
    # less than once in 10⁵ seeds.
    scenario = eq.GaussianScenario(noise=UNEQUAL, dim=2, budget=32)
    counts = eq.simulate(scenario, ["uniform"], trials=2_000, seed=1)["uniform"].ledger.counts
    assert set(np.unique(counts)) == {4, 5}
    extra = np.mean(counts == 5, axis=0)
    assert np.all(np.abs(extra - 4 / 7) < 5 * np.sqrt(4 / 7 * 3 / 7 / 2_000))


def test_a_trial_s_order_does_not_depend_on_those_before():
    scenario = eq.GaussianScenario(noise=UNEQUAL, dim=2, budget=30)
    bench = SimulatedTrials(scenario, eq.Uniform(), 5)
    for trial in (4, 0, 9, 4):
        bench.run(trial)
        expected = tie_order(scenario.arms, 5, trial)
        np.testing.assert_array_equal(bench.state.arms["order"], expected)
        np.testing.assert_array_equal(bench.state.rows["arm"][:7], np.argsort(expected))


def test_replays_draw_the_order_anew_for_every_trial():
    rng = np.random.default_rng(2)
    table = eq.as_table(rng.normal(size=(60, 5)), contexts=[0, 1], targets=[2, 3, 4])
    arena = new_arena(table, 20, moment="table", center="intercept", estimator="ridge")
    bench = ReplayedTrials(arena, eq.Uniform(), seed=5)
    orders = []
    for trial in (4, 0, 9, 4):
        bench.run(trial)
        orders.append(bench.state.arms["order"].tolist())
        assert orders[-1] == tie_order(arena.arms, 5, trial).tolist()
    assert len({tuple(order) for order in orders}) > 1
    # Twenty units are two more than six for each of three arms: each is left out in a third of the trials,
    # here 5 standard errors: fails by chance less than once in 10⁵ seeds.
    counts = eq.replay(table, ["uniform"], budget=20, trials=900, seed=1)["uniform"].ledger.counts
    assert np.all(np.abs(np.mean(counts == 6, axis=0) - 1 / 3) < 5 * np.sqrt(2 / 9 / 900))


def test_policies_share_the_order_of_a_trial():
    scenario = eq.GaussianScenario(noise=UNEQUAL, dim=2, budget=30)
    benches = [
        SimulatedTrials(scenario, eq.parse_policy(spec), 5) for spec in ("uniform", "trace-ucb", "oracle")
    ]
    orders = []
    for bench in benches:
        bench.run(3)
        orders.append(bench.state.arms["order"].tolist())
    assert orders[0] == orders[1] == orders[2]
