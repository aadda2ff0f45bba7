"""The start of a trial, dealt all at once, leaves what decisions about its units leave."""

from __future__ import annotations

import numpy as np
import pytest

import equipoise as eq
from equipoise.core.arms.least_squares import is_settled
from equipoise.core.jit.decorators import compiled
from equipoise.lab.trial.bench import ScenarioBench
from equipoise.lab.trial.opening import deal_first_units, room_for
from equipoise.lab.trial.rule import rule_of
from equipoise.lab.trial.run import run_stage, start_trial
from equipoise.lab.trial.world import hold_clock

# Scratch, and what is left over from the last choice.
PASSING = {"z", "f", "g", "scratch", "gains", "contexts", "factors"}
LAST_CHOICE = ["top", "chosen", "propensity", "likeliest", "possible"]


@compiled
def deal(state, rule, world, room):
    deal_first_units(state, rule, world, room)
    is_settled(state)


def opened(scenario, policy, *, at_once, units):
    """State and world after so many units of trial 3."""
    bench = ScenarioBench(scenario, [eq.parse_policy(policy)], 5)
    bench.draws.draw(3, 1)
    seat, world = bench.seats[0], bench.draws.world
    state, rule = seat.stage.state, rule_of(seat.stage)
    start_trial(state, seat.ties, world, 0, 3)
    if at_once:
        deal(state, rule, world, room_for(state))
    dealt = int(world.clock["unit"][0])
    hold_clock(world, units)
    run_stage(state, rule, world)
    return state, world, dealt


def assert_same(one, other):
    for name in set(one._fields) - PASSING:
        mine, others = getattr(one, name).copy(), getattr(other, name).copy()
        if name == "trial":
            mine[LAST_CHOICE] = others[LAST_CHOICE]
        np.testing.assert_array_equal(mine, others, err_msg=name)
    step = int(one.trial["step"][0])
    np.testing.assert_array_equal(one.contexts[:step], other.contexts[:step])
    for i, buffer in enumerate(one.arms["buffer"]):
        np.testing.assert_array_equal(one.factors[i, buffer], other.factors[i, buffer])


def scenario(arms=3, dim=3, **more):
    noise = [0.1 + 0.4 * i for i in range(arms)]
    return eq.GaussianScenario(noise=noise, dim=dim, budget=arms * (dim + 1) + 20, estimator="ridge", **more)


SCENARIOS = {
    "d = 3": scenario(),
    "d = 1": scenario(dim=1),
    "d = 8": scenario(dim=8),
    "19 arms": scenario(arms=19, dim=2),
    "covariance": scenario(dim=5, covariance="ar1:0.8"),
    "S is singular for long": eq.Scenario(
        noise=[0.5, 1.0], dim=4, budget=60, contexts=eq.BinaryContexts(share=0.1), estimator="ridge"
    ),
}


@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize("policy", ["trace-ucb", "var-ucb", "gafs-max"])
def test_the_state_is_the_same(name, policy):
    arms, each = len(SCENARIOS[name].noise), SCENARIOS[name].dim + 1
    for more in (0, 1, 20):
        found = [
            opened(SCENARIOS[name], policy, at_once=at_once, units=arms * each + more)
            for at_once in (True, False)
        ]
        assert found[0][2] == arms * each
        assert_same(found[0][0], found[1][0])
        np.testing.assert_array_equal(found[0][1].pulls, found[1][1].pulls)


@pytest.mark.parametrize(
    ("scenario", "policy"),
    [
        (scenario(), "trace-gain"),
        (scenario(), "complete"),
        (scenario(), "uniform"),
        (scenario(delay=eq.Delay(mean=3.0)), "trace-ucb"),
    ],
)
def test_where_turns_are_not_certain_nothing_is_dealt(scenario, policy):
    assert opened(scenario, policy, at_once=True, units=0)[2] == 0
