"""A trial begins with records that say nothing of the one before."""

import numpy as np
import pytest

import equipoise as eq
from equipoise.core.arms.rebuild import clear
from equipoise.lab.trial.bench import ScenarioBench
from equipoise.lab.trial.ledger import new_ledger

SCENARIO = eq.GaussianScenario(noise=[0.3, 0.7, 2.0], dim=3, budget=57, estimator="ridge")


@pytest.mark.parametrize(
    ("policy", "changes"),
    [
        ("uniform", {}),
        ("trace-ucb", {"intercept": True}),
        ("trace-gain", {}),
        ("trace-gain:chance=0.3", {"delay": eq.Delay(mean=5), "lost": 0.1}),
        ("trace-gain", {"moment": "learned"}),
        ("neyman-balanced", {}),
        ("wei-urn", {"costs": (1.0, 2.0, 1.0), "floors": (5, 5, 5)}),
    ],
)
def test_records_are_as_in_the_beginning(policy, changes):
    bench = ScenarioBench(SCENARIO.replace(**changes), [eq.parse_policy(policy)], seed=5)
    state = bench.seats[0].stage.state
    clear(state, 0)
    arms, trial = state.arms.copy(), state.trial.copy()
    bench(0, [new_ledger(3, len(arms))])
    assert state.arms["count"].all()
    clear(state, 0)
    for before, after in ((arms, state.arms), (trial, state.trial)):
        for name in before.dtype.names:
            if name != "order":  # which is drawn for every trial
                np.testing.assert_array_equal(before[name], after[name], err_msg=name)
