"""Trials in calendar time: the decisions of an Experiment that is told the same at the same moments."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from single_trials import SimulatedTrials, drawn

import equipoise as eq
from equipoise.core.arms.state import LOST
from equipoise.core.stages.fresh import number_trial
from equipoise.lab.trial.world import Draws

DOSES = eq.Scenario(
    noise=(0.5, 1.0, 2.0, 4.0),
    dim=4,
    budget=120,
    intercept=True,
    arms=("placebo", "low", "middle", "high"),
    features=("1", "age", "sex", "marker"),
)
CALENDAR = {"accrual": eq.Accrual(rate=4, ramp=6), "delay": eq.Delay(mean=5, least=4)}
LEAVING = {"lost": (0.0, 0.1, 0.1, 0.3), "drop_out": eq.DropOut(rate=(0.0, 0.01, 0.01, 0.05))}
CLOSED = {
    "closures": (eq.Closure("high", after=60), eq.Closure("low", until=30), eq.Closure("middle", 90, 100))
}
LIMITS = {"costs": (1.0, 1.5, 1.0, 0.8), "floors": (0, 0, 0, 40), "caps": (30, None, None, None)}
BY_TIME = {"closures": (eq.Closure("high", after=14.5, by="time"), eq.Closure("low", 50))}
# Every kind of world is compiled for itself, so that most of these are of one kind.
COURSES = {
    "calendar": CALENDAR,
    "leaving, closed by time": {**CALENDAR, **LEAVING, **BY_TIME},
    "leaving in units, closed": {"delay": eq.Delay(mean=15), **LEAVING, **CLOSED},
    "with limits": {**CALENDAR, **LEAVING, **CLOSED, **LIMITS},
}


def repeated(scenario, trials, seed, looks=lambda experiment: None):
    """The same trial told to an Experiment, whose arms must agree at once; the experiment."""
    state, course = trials.state, trials.course
    experiment = eq.Experiment(scenario.problem(), trials.policy, seed=seed)
    number_trial(experiment._state, experiment.problem, int(state.trial["number"][0]))
    asked = int(state.trial["step"][0])
    due = trials.due[:asked]
    for t in range(max(int(due.max()), asked) + 1):
        if t <= asked:
            looks(experiment)
        if t < asked:
            _close(scenario, experiment, course._times[0], t)
            assignment = experiment.ask(trials.contexts[t])
            assert experiment.problem.index(assignment.arm) == state.rows["arm"][t], f"unit {t + 1}"
        for row in np.flatnonzero(due == t):
            if state.rows["status"][row] == LOST:
                experiment.lose(int(row) + 1)
            else:
                experiment.tell(int(row) + 1, state.outcomes[row])
    assert experiment.pending == []
    np.testing.assert_array_equal(state.coefs, experiment._state.coefs)
    return experiment


def _close(scenario, experiment, times, t):
    """Arms as unit t finds them, by the words of the scenario."""
    for arm in scenario.arms:
        closed = False
        for closure in scenario.closures:
            now = t if closure.by == "units" else times[t]
            until = np.inf if closure.until is None else closure.until
            closed = closed or (closure.arm == arm and closure.after <= now < until)
        (experiment.close_arm if closed else experiment.reopen_arm)(arm)


@pytest.mark.parametrize("course", COURSES)
@pytest.mark.parametrize("spec", ["trace-gain", "uniform", "trace-ucb"])
def test_the_same_decisions_as_an_experiment(spec, course):
    scenario = DOSES.replace(**COURSES[course])
    trials = SimulatedTrials(scenario, eq.parse_policy(spec), 3)
    trials.run(1)  # leaves arms closed that the next trial finds open
    ledger = trials.run(2)
    experiment = repeated(scenario, trials, 3)
    assert ledger.counts[0].tolist() == list(experiment.counts.values())
    if "drop_out" in COURSES[course]:
        assert 5 < np.count_nonzero(trials.state.rows["status"] == LOST) < 60
    for closure in scenario.closures:
        mine = np.flatnonzero(
            trials.state.rows["arm"][: experiment.problem.units] == scenario.arms.index(closure.arm)
        )
        now = mine if closure.by == "units" else trials.course._times[0][mine]
        until = np.inf if closure.until is None else closure.until
        assert len(mine) > 0
        assert not np.any((now >= closure.after) & (now < until))


def test_policies_that_choose_features_find_arms_closed():
    scenario = DOSES.replace(budget=200, **CALENDAR, **LEAVING, **CLOSED)
    trials = SimulatedTrials(scenario, eq.parse_policy("sparse-trace-ucb"), 3)
    trials.run(0)
    arms = trials.state.rows["arm"][:200]
    assert not np.any(arms[60:] == 3)
    assert not np.any(arms[:30] == 1)


def test_the_calendar_says_when_outcomes_are_known():
    """An outcome is known to the units that arrive no sooner than it; the last ones come when nobody does."""
    scenario = DOSES.replace(
        accrual=eq.Accrual(rate=2, pattern="steady", batch=2), delay=eq.Delay(mean=2.5, shape="fixed")
    )
    draws = Draws(scenario, 1)
    draws.draw(0, 1)
    times = draws.course._times[0]
    assert times[:6].tolist() == [0, 0, 1, 1, 2, 2]
    # Units of time 0 answer at 2.5, before the batch of time 3, whose first is the seventh unit.
    assert draws.world.delays[0, :2].tolist() == [5, 4]
    assert draws.world.delays[0, -2:].tolist() == [1, 0]
    exactly = scenario.replace(delay=eq.Delay(mean=2, shape="fixed"))
    assert drawn(exactly, 1).delays[0, :2].tolist() == [3, 2]


def test_how_long_a_trial_takes():
    accrual = eq.Accrual(rate=2, pattern="steady")
    scenario = DOSES.replace(accrual=accrual, delay=eq.Delay(mean=6, shape="fixed"))
    found = eq.simulate(scenario, ["uniform"], trials=3)["uniform"]
    assert found.accrual_time().value == 59.5
    assert found.duration().value == 65.5
    assert found.duration(0.9).value == 65.5
    assert found.units().value == 120
    # Everybody leaves, one in a million aside, before the outcome would have come.
    gone = scenario.replace(drop_out=eq.DropOut(rate=2.25), closures=[eq.Closure("low", after=119)])
    found = eq.simulate(gone, ["uniform"], trials=3, estimator="ridge")["uniform"]
    assert [units.value for units in found.pulls()] == [0.0] * 4
    assert 59.5 < found.duration().value < 65.5
    without = eq.simulate(DOSES, ["uniform"], trials=3)["uniform"]
    assert np.isnan(without.duration().value)
    assert np.isnan(without.stopped().value)
    assert without.decisions == 360


def test_arrivals_have_the_stated_rate():
    # Gaps of a Poisson process are exponential: Kolmogorov–Smirnov at 10⁻⁶, fixed seed.
    for accrual in (eq.Accrual(rate=4), eq.Accrual(rate=12, batch=3)):
        draws = Draws(DOSES.replace(budget=9_000, accrual=accrual), 5)
        draws.draw(0, 1)
        times = draws.course._times[0]
        gaps = np.diff(times[:: accrual.batch])
        assert stats.kstest(gaps, stats.expon(scale=0.25).cdf).pvalue > 1e-6
        assert np.all(np.diff(times.reshape(-1, accrual.batch), axis=1) == 0.0)
    ramped = eq.Accrual(rate=4, pattern="steady", ramp=10)
    times = np.zeros((1, 41))
    ramped.fill(times, 0, 0)
    # Half the rate on average while sites open: 20 units in the first 10 weeks, then 4 a week.
    assert times[0, [0, 20, 40]].tolist() == [0.0, 10.0, 15.0]
    assert ramped.expected_time(40) == 15.0


@pytest.mark.parametrize("shape", ["fixed", "geometric", "uniform"])
def test_delays_in_time_have_the_stated_distribution(shape):
    waits = np.zeros((1, 20_000))
    eq.Delay(mean=5, least=2, shape=shape).fill_times(waits, 3, 0)
    if shape == "fixed":
        assert np.all(waits == 5.0)
        return
    law = {"geometric": stats.expon(loc=2, scale=3), "uniform": stats.uniform(loc=2, scale=6)}[shape]
    assert stats.kstest(waits[0], law.cdf).pvalue > 1e-6  # fixed seed


def test_drop_out_goes_with_the_arm_and_the_wait():
    scenario = DOSES.replace(
        budget=20_000, delay=eq.Delay(mean=10, shape="fixed"), drop_out=LEAVING["drop_out"]
    )
    lost = drawn(scenario, 2).fates[0] < 0
    expected = 1.0 - np.exp(-np.array(scenario.drop_out.rate) * 10)
    # 6 standard errors: fails by chance less than once in 10⁸ seeds.
    assert np.all(np.abs(lost.mean(axis=0) - expected) <= 6 * np.sqrt(expected * (1 - expected) / 20_000))
    # Who stays in the arm with the highest rate would have stayed in any other.
    assert np.all(lost[:, 1] <= lost[:, 3])


def test_equal_chances_of_loss_are_drawn_as_one():
    one = drawn(DOSES.replace(lost=0.2), 4).delays[0]
    differing = drawn(DOSES.replace(lost=(0.2, 0.2, 0.2, 0.4)), 4).fates[0]
    np.testing.assert_array_equal(differing[:, 0], one)
    assert np.all(differing[:, 3] <= one)


def test_all_arms_closed_ends_the_trial():
    scenario = DOSES.replace(
        **CALENDAR, **LEAVING, closures=[eq.Closure(arm, after=70) for arm in DOSES.arms]
    )
    found = eq.simulate(scenario, ["uniform"], trials=2)["uniform"]
    assert found.units().value == 70
    assert found.decisions == 140


def test_stopping_where_an_experiment_would_stop():
    rule = eq.StopRule(target=0.6, every=15)
    scenario = DOSES.replace(**CALENDAR, stop=rule)
    trials = SimulatedTrials(scenario, eq.TraceGain(), 3)
    stopped = 0
    for number in range(4):
        ledger = trials.run(number)
        units = int(ledger.course[0, 0])
        objectives = {}

        def look(experiment, objectives=objectives):
            done = sum(experiment.counts.values())
            if done in rule.looks(4, 4, 120):
                objectives[done] = experiment.estimates().objective

        experiment = repeated(scenario, trials, 3, look)
        if ledger.course[0, 3]:
            stopped += 1
            assert objectives.pop(units) <= rule.target
        else:
            assert units == 120
        assert all(value > rule.target for value in objectives.values())
        assert ledger.counts[0].sum() == units == sum(experiment.counts.values())
    assert 0 < stopped < 4


def test_a_bound_stops_later():
    found = {}
    for by in ("objective", "bound"):
        scenario = DOSES.replace(budget=300, stop=eq.StopRule(target=1.0, every=20, by=by))
        found[by] = eq.simulate(scenario, ["trace-ucb"], trials=10, seed=2)["trace-ucb"]
    assert np.all(found["bound"].ledger.course[:, 0] >= found["objective"].ledger.course[:, 0])
    assert found["bound"].units().value > found["objective"].units().value
    assert found["objective"].stopped().value == 1.0
    with pytest.raises(eq.errors.InvalidArgument, match="sparse-trace-ucb chooses features"):
        eq.simulate(scenario, ["trace-ucb", "sparse-trace-ucb"], trials=1)
