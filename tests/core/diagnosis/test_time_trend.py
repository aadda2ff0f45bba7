"""Drift over time: the classical test without adaptation, its size with it, and what it finds."""

from __future__ import annotations

import numpy as np
import pytest
from bent_world import run
from scipy import stats

import equipoise as eq


def drifting(policy, drift, *, units=150, noise=(0.3, 1.0), seed=0):
    """Outcomes that change by ``drift`` from the first unit to the last, in all arms."""
    rng = np.random.default_rng([seed, 23])
    names = [f"arm {i}" for i in range(len(noise))]
    experiment = eq.Experiment(eq.Problem(names, 3, budget=units), policy, seed=seed)
    for t in range(units):
        x = np.append(1.0, rng.normal(size=2))
        unit = experiment.ask(x)
        shock = np.sqrt(noise[names.index(unit.arm)]) * rng.normal()
        experiment.tell(unit.id, float(x.sum() + drift * t / (units - 1) + shock))
    return experiment


def test_it_is_the_classical_test_without_adaptive_allocation():
    experiment = run("uniform", units=90)
    arms = np.array([unit["arm"] for unit in experiment.units()])
    for trend in experiment.time_trends().arms:
        contexts, outcomes = experiment.data(trend.arm)
        times = np.flatnonzero(arms == trend.arm) / 89
        design = np.column_stack([contexts, times])
        coef, (rss,), _, _ = np.linalg.lstsq(design, outcomes, rcond=None)
        dof = len(outcomes) - 4
        error = np.sqrt(rss / dof * np.linalg.inv(design.T @ design)[3, 3])
        assert trend.change == pytest.approx(coef[3], rel=1e-9)
        half = stats.t.ppf(0.975, dof) * error
        assert trend.interval == pytest.approx((coef[3] - half, coef[3] + half), rel=1e-9)
        assert trend.mean_time == pytest.approx(times.mean())
        single = 2 * stats.t.sf(abs(coef[3]) / error, dof)
        assert single <= trend.p_value + 1e-12 <= 2 * single + 1e-9  # Holm, of two arms


@pytest.mark.parametrize("policy", ["trace-ucb", "trace-gain"])
def test_its_size_is_kept_after_adaptive_allocation(policy):
    """120 worlds without drift at a small budget: at 5 %, more than 14 findings by chance in 1 of 1000."""
    found = [
        run(policy, units=40, noise=(0.1, 1.0, 3.0), seed=seed).time_trends().p_value for seed in range(120)
    ]
    assert np.count_nonzero(np.array(found) < 0.05) <= 14


def test_a_drift_is_found_and_measured():
    trends = drifting("trace-gain", 3.0).time_trends()
    assert trends.p_value < 1e-6
    assert trends.interval[0] < 3.0 < trends.interval[1]
    assert trends.records()[-1]["arm"] is None
    assert "all arms" in str(trends)


@pytest.mark.parametrize("units", [0, 1, 6])
def test_young_experiments_have_no_drift(units):
    experiment = eq.Experiment(eq.Problem(["a", "b"], 3, budget=40))
    for t in range(units):
        experiment.tell(experiment.ask([1.0, float(t), float(t * t % 5)]).id, float(t))
    trends = experiment.time_trends()
    assert trends.p_value == 1.0
    assert np.isnan(trends.change)


def test_periods_cover_all_units_and_compare_arms_within_them():
    experiment = run("trace-gain", units=90, noise=(0.3, 1.0, 2.0))
    experiment.withdraw(1)
    periods = experiment.balance_by_period(3)
    assert [(period.first, period.last) for period in periods] == [(2, 31), (32, 61), (62, 90)]
    for name, balance in ((arm.arm, arm) for arm in experiment.balance()):
        within = [period.arms[name] for period in periods]
        assert sum(arm.units for arm in within) == balance.units
        means = sum(arm.units * arm.means for arm in within if arm.units)
        assert means == pytest.approx(balance.units * balance.means)
    assert experiment.balance_by_period(500)[-1].last == 90  # one unit each
    with pytest.raises(eq.errors.InvalidArgument, match="periods=0"):
        experiment.balance_by_period(0)


def test_people_who_change_over_time_are_seen_in_periods():
    rng = np.random.default_rng(4)
    experiment = eq.Experiment(eq.Problem(2, 2, budget=200), "uniform")
    for t in range(200):
        experiment.ask([1.0, float(rng.normal() + (t >= 100))])
    periods = experiment.balance_by_period(2)
    assert max(period.contexts.p_value for period in periods) < 1e-4
    assert periods[0].contexts.largest_difference < -0.3
    assert min(arm.p_value for period in periods for arm in period.arms) > 0.01
