"""Plans in a scenario, both ways, by closed form and by simulation."""

from __future__ import annotations

import numpy as np
import pytest

import equipoise as eq
from equipoise.core.theory.planning import static_plan
from equipoise.lab.running.budget_curve import simulated_budget
from equipoise.lab.running.planned_error import simulated_error
from equipoise.lab.running.planned_world import Simulating, outcome_shares
from equipoise.lab.trial.world import Draws

DOSES = eq.Scenario(
    noise=(1.0, 1.5, 2.0, 4.0),
    dim=3,
    budget=120,
    intercept=True,
    arms=("placebo", "low", "middle", "high"),
    accrual=eq.Accrual(rate=4),
    delay=eq.Delay(mean=13, least=12),
    lost=(0.05, 0.05, 0.05, 0.1),
    drop_out=eq.DropOut(rate=(0.0, 0.002, 0.002, 0.02)),
    closures=(eq.Closure("high", after=80),),
)


def test_a_scenario_is_planned_with_its_budget_and_its_calendar():
    plan = eq.plan(DOSES)
    assert plan.budget == 120
    assert plan.arms == DOSES.arms
    assert plan.unknown == ("closures",)
    assert plan["oracle"].duration == 120 / 4 + 13
    assert plan.outcomes == pytest.approx(outcome_shares(DOSES))
    text = str(plan)
    assert "units of placebo, low, middle, high" in text
    assert "about weeks" in text
    assert "does not know closures" in text
    assert plan.record()["time"] == "weeks"
    plain = eq.plan(noise=DOSES.noise, dim=3, budget=120)
    assert plain["oracle"].expected_error < plan["oracle"].expected_error
    assert "duration" not in plain.record()["policies"]["oracle"]


def test_what_is_said_takes_precedence():
    plan = eq.plan(
        DOSES, budget=200, objective="mean", lost=0.0, noise=[(1.0, 4.0)] * 4, weights=[1, 1, 1, 2]
    )
    assert (plan.budget, plan.objective, plan.noise[0]) == (200, "mean", pytest.approx(2.0))
    assert plan.outcomes[0] == 1.0
    assert eq.plan(DOSES, target=0.3).target == 0.3
    with pytest.raises(eq.errors.InvalidArgument, match="both"):
        eq.plan(DOSES, target=0.3, budget=100)
    with pytest.raises(eq.errors.InvalidArgument, match="is not a scenario"):
        eq.plan("uniform")


def test_simulated_errors_are_those_of_a_simulation():
    (found,) = eq.plan(DOSES, policies=["trace-ucb"], trials=30, seed=4).simulated
    result = eq.simulate(DOSES, ["trace-ucb"], trials=30, seed=4)["trace-ucb"]
    assert found.error == result.expected_max()
    assert found.duration == result.duration()
    assert found.pulls == tuple(units.value for units in result.pulls())
    assert found.likely == pytest.approx(np.quantile(result.worst, [0.1, 0.9]))
    plan = eq.plan(DOSES, budget=160, policies=["uniform", "trace-ucb"], trials=10)
    assert [each.budget for each in plan.simulated] == [160, 160]
    assert list(plan.record()["simulated"]) == ["uniform", "trace-ucb"]
    assert "8 of 10 trials" in str(plan)


def test_the_closed_form_with_losses_is_about_what_is_simulated():
    # Jensen: the number of outcomes varies, so that errors are a little larger than at its mean. 600 trials
    # have a standard error of 2 %.
    plan = eq.plan(
        noise=[1.0, 3.0], dim=2, budget=80, lost=0.3, policies=["uniform"], trials=600, estimator="ridge"
    )
    (found,) = plan.simulated
    assert 0.93 < found.error.value / plan["uniform"].expected_error < 1.2


def test_delays_reach_simulations():
    asked = {"noise": [0.1, 4.0], "dim": 2, "budget": 60, "policies": ["trace-ucb"], "trials": 60}
    prompt, late = (eq.plan(**asked, delay=delay).simulated[0] for delay in (None, eq.Delay(mean=200)))
    # Nothing is known of the noise while units are assigned: about as many for both.
    assert late.pulls[0] > 1.5 * prompt.pulls[0]


def test_each_simulation_answers_its_own_question():
    by_target, by_budget = (
        static_plan(noise=[1.0], dim=1, **asked) for asked in ({"target": 0.5}, {"budget": 9})
    )
    with pytest.raises(eq.errors.InvalidArgument, match="no budget"):
        simulated_error(by_target, "uniform", Simulating())
    with pytest.raises(eq.errors.InvalidArgument, match="no target"):
        simulated_budget(by_budget, "uniform", Simulating())


@pytest.mark.parametrize("accrual", [None, eq.Accrual(rate=1, pattern="steady")], ids=["units", "time"])
@pytest.mark.parametrize("shape", ["fixed", "geometric", "uniform"])
def test_shares_of_outcomes_are_those_that_are_drawn(shape, accrual):
    # 6 standard errors: fails by chance less than once in 10⁸ seeds.
    scenario = DOSES.replace(
        budget=40_000,
        accrual=accrual,
        delay=eq.Delay(mean=12, least=4, shape=shape),
        lost=(0.0, 0.1, 0.0, 0.3),
    )
    draws = Draws(scenario, 5)
    draws.draw(0, 1)
    come = (draws.world.fates[0] >= 0).mean(axis=0)
    expected = outcome_shares(scenario)
    assert np.all(np.abs(come - expected) <= 6 * np.sqrt(expected * (1 - expected) / 40_000))
