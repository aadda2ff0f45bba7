"""A policy that is not at hand is not simulated: neither its own rule nor another one under its name."""

from __future__ import annotations

import numpy as np
import pytest

import equipoise as eq
from equipoise.core.policies.base.policy import known_policies, restore_policies
from equipoise.errors import PolicyNotAtHand


@pytest.fixture
def absent():
    """An experiment under a policy of one's own that is no longer registered."""
    known = known_policies()
    try:

        @eq.register("test-forecast-absent")
        class Mine(eq.Policy):
            looks = True

            def lots(self):
                return 0.5

            @staticmethod
            def score(arm, trial, settings):
                return 1.0 if arm.position == 0 else 0.0

        experiment = eq.Experiment(eq.Problem(["a", "b"], 2, budget=60), "test-forecast-absent", seed=3)
        rng, first = np.random.default_rng(5), experiment.created_event()
        with experiment.recording() as events:
            for _ in range(30):
                x = rng.normal(size=2)
                experiment.tell(experiment.ask(x).id, float(x.sum() + rng.normal()))
    finally:
        restore_policies(known)
    return eq.Experiment.replay([first, *events])


def test_it_is_refused_and_others_that_are_named_are_forecast(absent):
    with pytest.raises(PolicyNotAtHand, match="'test-forecast-absent' cannot be simulated") as refused:
        eq.forecast(absent, trials=20)
    assert "import_policies" in refused.value.hint
    assert "policies=['uniform']" in refused.value.hint
    found = eq.forecast(absent, policies=["uniform", "trace-ucb"], budgets=[50], trials=20)
    assert found.policies == ("uniform", "trace-ucb")
    assert found.course().policy == "uniform"
    assert "test-forecast-absent" not in str(found)
    with pytest.raises(PolicyNotAtHand):
        eq.forecast(absent, policies=[absent.policy, "uniform"], trials=20)


def test_nothing_else_simulates_it(absent):
    with pytest.raises(PolicyNotAtHand, match="cannot be simulated"):
        eq.simulate(eq.Scenario(noise=[1.0, 2.0], dim=2, budget=30), [absent.policy], trials=2)
    with pytest.raises(PolicyNotAtHand, match="cannot be simulated"):
        absent.randomisation_test(draws=10)
