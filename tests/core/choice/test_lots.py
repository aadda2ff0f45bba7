"""Assignment by lot: probabilities that are known, draws that repeat themselves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import chisquare

import equipoise as eq
from equipoise.errors import InvalidPolicy


def run(chance, seed=1, units=400, arms=("a", "b", "c", "d")):
    rng = np.random.default_rng(7)
    experiment = eq.Experiment(
        eq.Problem(arms, 2, budget=units, moment=np.eye(2)), eq.TraceGain(chance=chance), seed=seed
    )
    assigned = []
    for _ in range(units):
        unit = experiment.ask(rng.normal(size=2))
        experiment.tell(unit.id, rng.normal())
        assigned.append(unit)
    return assigned


def test_without_chance_the_highest_score_has_probability_one():
    for unit in run(0.0, units=30):
        assert unit.propensity == 1.0
        assert sum(unit.propensities.values()) == 1.0
        assert unit.top == unit.arm
        assert unit.scores[unit.arm] == max(unit.scores.values())


def test_propensities_are_those_of_the_draw():
    """Units drawn away from the top arm, against what was promised; χ² with a fixed seed."""
    units = run(0.4)
    expected = np.zeros(2)
    seen = np.zeros(2)
    for unit in units:
        assert sum(unit.propensities.values()) == pytest.approx(1.0)
        candidates = [arm for arm, score in unit.scores.items() if score > -np.inf]
        assert all((unit.propensities[arm] > 0) == (arm in candidates) for arm in unit.arms)
        assert min(unit.propensities[arm] for arm in candidates) == pytest.approx(
            0.4 / len(candidates) if len(candidates) > 1 else 1.0
        )
        top = unit.propensities[unit.top]
        expected += [top, 1 - top]
        seen += [unit.arm == unit.top, unit.arm != unit.top]
    assert chisquare(seen, expected).pvalue > 1e-3


def test_arms_drawn_by_lot_are_drawn_alike():
    units = [unit for unit in run(1.0, units=2000) if min(unit.scores.values()) > -np.inf]
    counts = [sum(unit.arm == arm for unit in units) for arm in "abcd"]
    assert chisquare(counts).pvalue > 1e-3


def test_draws_repeat_themselves_and_depend_on_the_seed():
    first = [unit.arm for unit in run(0.5)]
    assert first == [unit.arm for unit in run(0.5)]
    assert first != [unit.arm for unit in run(0.5, seed=2)]
    # Listing the arms in another order changes nothing.
    assert first == [unit.arm for unit in run(0.5, arms=("c", "a", "d", "b"))]


def test_trials_of_the_lab_draw_different_lots():
    scenario = eq.GaussianScenario(noise=[1.0, 1.0], dim=1, budget=200)
    result = eq.simulate(scenario, ["trace-gain:chance=1"], trials=40, seed=1)
    pulls = result.policies["trace-gain:chance=1"].ledger.counts[:, 0]
    assert len(set(pulls.tolist())) > 5


def test_a_policy_that_does_not_look_cannot_leave_units_to_chance():
    @dataclass(frozen=True, kw_only=True)
    class Blind(eq.Policy):
        name = "blind"

        def lots(self):
            return 0.5

        @staticmethod
        def score(arm, trial, settings):
            return -float(arm.count)

    with pytest.raises(InvalidPolicy, match=r"Blind\(\) leaves 0\.5 of the units to chance"):
        eq.Experiment(eq.Problem(2, 1, budget=10), Blind())


@pytest.mark.parametrize("chance", [-0.1, 1.1, "often", float("nan"), (0.1, 0.2)])
def test_a_chance_is_a_share(chance):
    with pytest.raises(InvalidPolicy, match="chance"):
        eq.TraceGain(chance=chance)


@pytest.mark.parametrize("caution", [-1.0, "much", float("inf"), (1, 2)])
def test_caution_is_a_number(caution):
    with pytest.raises(InvalidPolicy, match="caution"):
        eq.TraceGain(caution=caution)


def test_large_seeds():
    assert run(0.5, seed=2**80, units=20)
