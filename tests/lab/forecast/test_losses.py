"""What becomes of outcomes to come is what became of those so far, or what was said."""

from __future__ import annotations

import numpy as np
import pytest
from experiments.half_way import half_way

import equipoise as eq
from equipoise.lab.forecast.losses import AT_THE_END, draw_fates
from equipoise.lab.forecast.start import record_of


def with_losses(lost, told, awaited=0):
    """A record of two arms that have lost and kept so many outcomes, all at once."""
    problem = eq.Problem(arms=["a", "b"], dim=1, budget=1_000)
    experiment, rng = eq.Experiment(problem, policy="uniform"), np.random.default_rng(0)
    for arm, (gone, kept) in zip("ab", zip(lost, told, strict=True), strict=True):
        for k in range(gone + kept):
            unit = experiment.ask([1.0], arm=arm)
            experiment.lose(unit.id) if k < gone else experiment.tell(unit.id, float(rng.normal()))
    for _ in range(awaited):
        experiment.ask([1.0])
    return record_of(experiment)


def fates_of(record, losses=None, lag=None, trials=4_000):
    return draw_fates(record, losses, lag, trials=trials, seed=3)


def test_arms_that_lose_differently_are_told_apart():
    rates = fates_of(with_losses((2, 40), (78, 40))).rates
    # Beta(2.5, 78.5) and Beta(40.5, 40.5) where arms have nothing in common.
    assert rates.mean(axis=0) == pytest.approx([2.5 / 81, 0.5], abs=0.02)
    assert rates.std(axis=0) == pytest.approx([0.019, 0.055], rel=0.25)


def test_arms_that_lose_alike_learn_from_each_other():
    alone = fates_of(with_losses((8, 0), (72, 0))).rates[:, 0]
    both = fates_of(with_losses((8, 8), (72, 72))).rates
    assert both.mean(axis=0) == pytest.approx([0.1, 0.1], abs=0.015)
    assert both[:, 0].std() < 0.9 * alone.std()
    assert np.corrcoef(both.T)[0, 1] > 0.3


def test_nothing_lost_so_far_is_nothing_lost_later():
    fates = fates_of(with_losses((0, 0), (5, 5)))
    assert not fates.rates.any()
    assert fates.seen == (0, 10)


def test_waits_count_what_is_awaited_as_long_as_it_has_been():
    problem = eq.Problem(arms=1, dim=1, budget=50)
    experiment = eq.Experiment(problem, policy="uniform")

    def ask(units):
        for _ in range(units):
            experiment.ask([1.0])

    ask(2)
    experiment.tell(2, 1.0)  # no wait
    ask(1)
    experiment.tell(1, 2.0)  # two further units
    ask(3)
    experiment.lose(4)  # two
    experiment.tell(5, 1.5)  # one
    fates = fates_of(record_of(experiment))
    # Unit 3 has been awaited for three further units, and unit 6 for none.
    # At risk: five at a wait of 0, one came; four at 1, one came; three at 2, one came and one was lost.
    assert fates.told.units.tolist() == [0, 1, 2]
    told, lost = np.cumsum([1 / 5, 1 / 5, 1 / 5]), np.array([0.0, 0.0, 1 / 5])
    later, chance = 1 / 5, 0.25
    assert fates.told.shares == pytest.approx(told / (0.6 + later * (1 - chance)))
    assert fates.lost.shares == pytest.approx(lost / (0.2 + later * chance))
    assert fates.beyond == AT_THE_END
    assert fates_of(record_of(experiment), lag=4).told.units.tolist() == [4]


def test_losses_cost_what_they_take():
    experiment, _ = half_way(awaited=4, noise=[1.0, 1.0, 1.0])
    none, half = (eq.forecast(experiment, trials=300, losses=each, lag=0) for each in (0, 0.5))
    # Half of the 30 units to come and of the 4 awaited: 26 + 17 outcomes instead of 60.
    as_few = eq.forecast(experiment, trials=300, losses=0, lag=0, budgets=[43])
    medians = [found.band(course).median for found in (none, half) for course in found.courses]
    assert medians[1] > 1.15 * medians[0]
    assert medians[1] == pytest.approx(as_few.band(as_few.course(budget=43)).median, rel=0.2)
    assert np.all(half.course().counts.sum(axis=1) == 30)
    assert "Losses to come, as given: 50 %. Outcomes come at once, as given." in str(half)
    assert "No outcome is lost. " in str(none)


def test_losses_so_far_are_those_to_come():
    experiment, world = half_way(asked=30)
    while experiment.asked < 40:
        x = world.context()
        unit = experiment.ask(x)
        experiment.lose(unit.id) if unit.id % 2 else experiment.tell(unit.id, world.outcome(x, 0))
    found = eq.forecast(experiment, trials=50)
    assert "Losses to come as so far, 5 of 40 outcomes: in mean" in str(found)
    assert found.record()["experiment"]["losses"]["lost_so_far"] == 5
    assert np.mean(found.origin.loss_rates) == pytest.approx(5 / 40, abs=0.05)
    assert "No outcome is lost: none of 30 outcomes was so far." in str(eq.forecast(half_way()[0], trials=5))
