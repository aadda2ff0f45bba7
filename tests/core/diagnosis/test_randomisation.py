"""The rule replayed over redrawn lots, and how predictable it was."""

from __future__ import annotations

import time

import numpy as np
import pytest
from bent_world import run
from inner_state import fingerprint

import equipoise as eq
from equipoise.core.diagnosis.guessing import guessed_by_count
from equipoise.errors import InvalidArgument, NoPropensities, NotReplayable

LOTS = eq.TraceGain(chance=0.4)


def test_p_values_are_uniform_where_arms_make_no_difference():
    """100 experiments with equal arms and a curve: p below 0.1 in 2 to 21, outside by chance in 1 of 1000."""
    found = [
        run(LOTS, units=60, curve=1.0, noise=(1.0, 1.0), late=seed % 4, seed=seed)
        .randomisation_test(draws=99)
        .p_value
        for seed in range(100)
    ]
    assert 2 <= np.count_nonzero(np.array(found) <= 0.1) <= 21
    assert 0.35 < np.mean(found) < 0.65


def test_an_effect_is_found_and_the_p_value_counts_the_experiment_itself():
    test = run(LOTS, units=120, effect=2.0, noise=(1.0, 1.0)).randomisation_test(draws=199)
    assert test.p_value == 1 / 200
    assert test.draws == len(test.replayed) == 199
    assert test.statistic > test.replayed.max()
    assert "p value" in str(test)
    assert "<table>" in test._repr_html_()
    assert test.record() == {"statistic": test.statistic, "p_value": 1 / 200, "draws": 199}


def test_a_statistic_of_ones_own():
    experiment = run(LOTS, units=60, noise=(1.0, 1.0), late=5)
    seen = []

    def units_of_the_first(arms, outcomes, contexts):
        seen.append((arms.shape, outcomes.shape, contexts.shape))
        return float(np.count_nonzero(arms == 0))

    test = experiment.randomisation_test(draws=50, seed=3, statistic=units_of_the_first)
    assert set(seen) == {((55,), (55,), (55, 3))}
    assert len(set(test.replayed.tolist())) > 3
    again = experiment.randomisation_test(draws=50, seed=3, statistic=units_of_the_first)
    other = experiment.randomisation_test(draws=50, seed=4, statistic=units_of_the_first)
    assert again.replayed.tolist() == test.replayed.tolist() != other.replayed.tolist()


def test_lost_and_late_outcomes_come_when_they_came():
    experiment = run(LOTS, units=70, late=6)
    for id in experiment.pending[:3]:
        experiment.lose(id)
    before = fingerprint(experiment)
    assert 0.0 < experiment.randomisation_test(draws=20).p_value <= 1.0
    assert fingerprint(experiment) == before


def test_a_thousand_redraws_of_500_units_take_seconds():
    experiment = run(LOTS, units=500)
    experiment.randomisation_test(draws=1)
    begin = time.process_time()
    experiment.randomisation_test(draws=1000)
    assert time.process_time() - begin < 20.0


def test_what_cannot_be_replayed_is_refused():
    with pytest.raises(NoPropensities, match="no lots"):
        run("trace-gain", units=40).randomisation_test()
    experiment = run(LOTS, units=60)
    for wrong in ({"draws": 0}, {"draws": 1.5}, {"seed": -1}):
        with pytest.raises(InvalidArgument):
            experiment.randomisation_test(**wrong)
    experiment.correct(20, 1e6)
    with pytest.raises(NotReplayable, match="does not lead to the arms"):
        experiment.randomisation_test()
    experiment = run(LOTS, units=60)
    experiment.withdraw(3)
    with pytest.raises(NotReplayable, match="units were withdrawn, which the test does not go through again"):
        experiment.randomisation_test()
    experiment = run(LOTS, units=60)
    experiment.close_arm("arm 0")
    with pytest.raises(NotReplayable, match="arms are closed, which the test does not go through again"):
        experiment.randomisation_test()


def test_predictability_of_an_experiment():
    certain = run("trace-gain", units=60).predictability()
    assert certain.best == 1.0
    drawn = run(eq.TraceGain(chance=1.0), units=400, noise=(1.0, 1.0)).predictability()
    assert drawn.best == pytest.approx(0.5, abs=0.02)  # the start may leave a single arm
    assert 0.4 < drawn.fewest < 0.6
    assert 0.4 < drawn.most < 0.6
    assert drawn.past == max(drawn.fewest, drawn.most)
    assert drawn.chance == 0.5
    assert f"knows past arms, names {drawn.past_names} {drawn.past:.3f}" in " ".join(str(drawn).split())
    assert "<table>" in drawn._repr_html_()
    nothing = eq.Experiment(eq.Problem(["a", "b"], 2, budget=20)).predictability()
    assert np.isnan(nothing.best)


def test_who_guesses_by_past_arms():
    even, most = guessed_by_count(np.array([0, 1, 2, 0, 1, 2]), np.ones((6, 3), bool))
    assert even == pytest.approx((1 / 3 + 1 / 2 + 1) / 3)
    assert most == pytest.approx((1 / 3 + 1 / 3) / 6)
    assert guessed_by_count(np.zeros(4, int), np.ones((4, 2), bool)) == pytest.approx((0.125, 0.875))


@pytest.mark.parametrize("policy", ["permuted-blocks", "uniform", "trace-gain:chance=0.2"])
@pytest.mark.parametrize("store", [None, "memory:"])
def test_nobody_names_an_arm_that_is_not_on_offer(policy, store):
    problem = eq.Problem(["a", "b", "c"], dim=2, budget=90)
    made = eq.Experiment(problem, policy, seed=3) if store is None else None
    experiment = made or eq.create_experiment(
        store=store, name="trial", problem=problem, policy=policy, seed=3
    )
    rng = np.random.default_rng(1)
    offered, counts, right, blind = ["a", "b", "c"], dict.fromkeys("abcd", 0), {min: 0.0, max: 0.0}, 0.0
    for number in range(90):
        if number == 30:
            experiment.close_arm("c", **({} if store is None else {"reason": "recall"}))
            offered.remove("c")
        if number == 40:
            experiment.add_arm("d")
            offered.append("d")
        eligible = ["a", "b"] if number % 7 == 0 else None
        arm = experiment.ask([1.0, rng.normal()], arms=eligible).arm
        known = eligible or offered
        for extreme in right:
            named = [each for each in known if counts[each] == extreme(counts[other] for other in known)]
            right[extreme] += (arm in named) / len(named) / 90
        blind += 1.0 / len(known) / 90
        counts[arm] += 1
    found = experiment.predictability()
    assert found.fewest == pytest.approx(right[min])
    assert found.most == pytest.approx(right[max])
    assert found.chance == pytest.approx(blind)


def test_where_a_rule_prefers_an_arm_the_most_used_one_is_the_better_guess():
    found = run("trace-gain", units=200, noise=(0.01, 4.0)).predictability()
    assert found.most > 0.6 > found.fewest
    assert (found.past, found.past_names) == (found.most, "the arm with the most units so far")


def test_predictability_of_a_scenario():
    scenario = eq.GaussianScenario(noise=[1.0, 1.0, 1.0], dim=1, budget=60)
    found = eq.predictability(scenario, ["uniform", "trace-gain:chance=0.6"], trials=20, seed=1)
    assert found["uniform"].best == 1.0
    assert found["uniform"].past == pytest.approx((1 / 3 + 1 / 2 + 1) / 3)
    lots = found["trace-gain:chance=0.6"]
    assert lots.best == pytest.approx(0.6, abs=0.02)  # 0.4 + 0.6/3, but for the start
    assert lots.trials == 20
    assert 0.0 < lots.fewest_stderr < 0.05
    assert 0.0 < lots.best_stderr < 0.02  # starts differ in length
    assert 0.0 < lots.most_stderr < 0.05
    assert f"± {lots.most_stderr if lots.most > lots.fewest else lots.fewest_stderr:.3f}" in str(lots)
    assert found["uniform"].best_stderr == 0.0
    with pytest.raises(InvalidArgument):
        eq.predictability("nowhere", ["uniform"])
