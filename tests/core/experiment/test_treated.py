"""Units that a person sends, and units that received another arm than they were assigned to."""

from __future__ import annotations

import math

import numpy as np
import pytest
from inner_state import fingerprint

import equipoise as eq
from equipoise.errors import AssignmentClosed, ExperimentPaused, NoArmLeft

RNG = np.random.default_rng(8)
CONTEXTS, OUTCOMES = RNG.normal(size=(40, 2)), RNG.normal(size=40)


def run(spec="trace-ucb", **terms):
    experiment = eq.Experiment(eq.Problem(["a", "b"], 2, budget=40, **terms), spec, seed=3)
    for x, y in zip(CONTEXTS[:24], OUTCOMES[:24], strict=True):
        experiment.tell(experiment.ask(x).id, y)
    return experiment


@pytest.mark.parametrize("moment", [None, np.diag([1.0, 2.0])], ids=["learned", "given"])
def test_estimates_are_as_treated(moment):
    """The same models as where a person had given the arm from the start."""
    experiment = run(moment=moment)
    assigned = [unit["arm"] for unit in experiment.units()]
    treated = [*assigned]
    for row in (2, 9, 20):
        treated[row] = "b" if assigned[row] == "a" else "a"
        experiment.received(row + 1, treated[row])
    told = eq.Experiment(experiment.problem, "trace-ucb", seed=3)
    for x, y, arm in zip(CONTEXTS, OUTCOMES, treated, strict=False):
        told.tell(told.ask(x, arm=arm).id, y)
    assert experiment.counts == told.counts
    for one, other in zip(experiment.estimates(), told.estimates(), strict=True):
        assert np.allclose(one.coef, other.coef, rtol=1e-9, atol=1e-12)
        assert one.expected_error == pytest.approx(other.expected_error, rel=1e-9)
    sent = run(moment=moment)
    assert experiment.predictability() == sent.predictability()
    units = experiment.units()
    assert [unit["assigned"] for unit in units] == assigned
    assert [unit["arm"] for unit in units] == treated
    assert math.isnan(units[2]["propensity"])


def test_going_back_is_as_before_but_for_the_probability():
    experiment = run("trace-gain:chance=0.2")
    before = np.array([one.coef for one in experiment.estimates()])
    arm = experiment[5].arm
    experiment.received(5, "b" if arm == "a" else "a")
    assert not np.allclose([one.coef for one in experiment.estimates()], before)
    experiment.received(5, arm)
    assert np.allclose([one.coef for one in experiment.estimates()], before, rtol=1e-9)
    assert math.isnan(experiment[5].propensity)
    with pytest.raises(eq.errors.NotReplayable):
        experiment.randomisation_test(draws=10)


def test_it_is_refused_for_withdrawn_units_and_unknown_arms():
    experiment = run()
    experiment.withdraw(3)
    before = fingerprint(experiment)
    with pytest.raises(AssignmentClosed, match="was withdrawn"):
        experiment.received(3, "b")
    with pytest.raises(eq.errors.UnknownArm):
        experiment.received(4, "z")
    with pytest.raises(eq.errors.AssignmentNotFound):
        experiment.received(25, "b")
    experiment.received(4, experiment[4].arm)  # nothing new
    assert fingerprint(experiment) == before


def test_a_given_arm_must_take_units():
    experiment = run(caps={"a": 20}, costs={"b": 2.0, "a": 1.0})
    unit = experiment.ask(CONTEXTS[30], "H-1", arm="b", reason="treated before the trial")
    assert (unit.arm, unit.unit) == ("b", "H-1")
    experiment.close_arm("b")
    with pytest.raises(NoArmLeft, match="arm 'b' is closed"):
        experiment.ask(CONTEXTS[30], arm="b")
    while experiment.counts["a"] < 20:
        experiment.ask(CONTEXTS[30], arm="a")
    with pytest.raises(NoArmLeft, match="at its cap of 20"):
        experiment.ask(CONTEXTS[30], arm="a")


def test_a_paused_experiment_assigns_nobody():
    experiment = run()
    late = experiment.ask(CONTEXTS[24])
    experiment.pause()
    assert experiment.paused
    for call in (
        lambda: experiment.ask(CONTEXTS[25]),
        lambda: experiment.ask_many(CONTEXTS[25:27]),
        lambda: experiment.ask(CONTEXTS[25], arm="a"),
    ):
        with pytest.raises(ExperimentPaused):
            call()
    experiment.tell(late.id, 1.0)
    experiment.resume()
    assert experiment.ask(CONTEXTS[25]).id == 26


def test_another_budget():
    experiment = run()
    with pytest.raises(eq.errors.BudgetTooSmall, match="24 units assigned have cost 24"):
        experiment.change_budget(23)
    experiment.change_budget(26)
    assert experiment.remaining == 2
    experiment.change_budget(2_000)
    assert experiment.remaining == 1976
    for j in range(1200):
        experiment.tell(experiment.ask(CONTEXTS[j % 40]).id, float(j % 3))
    assert experiment.problem.budget == 2_000
    fresh = eq.Experiment(eq.Problem(["a", "b"], 2, budget=2_000), "trace-ucb:width=theory:bound=3:delta=0.1")
    small = eq.Experiment(eq.Problem(["a", "b"], 2, budget=20), "trace-ucb:width=theory:bound=3:delta=0.1")
    small.change_budget(2_000)  # widths that know the budget know the new one
    assert small._stage.settings.tobytes() == fresh._stage.settings.tobytes()


@pytest.mark.parametrize("spec", ["uniform", "ch-as", "b-as", "trace-ucb:width=theory:bound=3:delta=0.1"])
def test_a_budget_may_be_cut_down_to_what_was_spent(spec):
    experiment = eq.Experiment(eq.Problem(["a", "b"], 2, budget=40), spec)
    experiment.ask(CONTEXTS[0])
    experiment.change_budget(1)
    assert experiment.remaining == 0
    experiment.change_budget(40)
    assert experiment.ask(CONTEXTS[1]).id == 2
