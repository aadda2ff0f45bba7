import numpy as np
import pytest

import equipoise as eq
from equipoise.studies.noise import UNEQUAL
from equipoise.studies.rate.measure import BUDGETS, _measure, _slope, rate_trials
from equipoise.studies.rate.width_bias import balanced_pulls, balanced_slope
from equipoise.studies.runner import Meter, Runner
from equipoise.studies.store import Store

RUNNER = Runner(seed=3, workers=2, store=Store(None), meter=Meter(1.0, None))


def test_balanced_pulls_have_equal_scores():
    noise, dim, budget, width = np.array(UNEQUAL), 5, 4_000, 0.7
    pulls = balanced_pulls(UNEQUAL, dim, budget, width)
    scores = (noise + width * noise.mean() / np.sqrt(pulls - dim)) * dim / (pulls - dim - 1)
    assert pulls.sum() == pytest.approx(budget)
    assert scores == pytest.approx(np.full(7, scores[0]))


def test_without_a_width_the_balance_is_the_optimum():
    optimum = eq.theory.ideal_allocation(noise=UNEQUAL, dim=5, budget=4_000)
    assert balanced_pulls(UNEQUAL, 5, 4_000, width=0.0) == pytest.approx(optimum)


def test_the_width_s_bias_has_theorem_2_s_rate_in_the_end():
    assert balanced_slope(UNEQUAL, 5, 1e12) == pytest.approx(-1.5, abs=0.01)
    assert balanced_slope(UNEQUAL, 5, 1e4) > -1.45


def test_regret_is_the_simulation_s():
    scenario = eq.GaussianScenario(UNEQUAL, 5, 300)
    point = _measure(scenario, 3_000, RUNNER)
    result = eq.simulate(scenario, ["trace-ucb"], trials=3_000, seed=3)
    loss = result["trace-ucb"].expected_max()
    # 5 standard errors of the simulated loss, and 1 % for the ridge.
    assert point.regret + point.optimal == pytest.approx(loss.value, abs=5 * loss.stderr + 0.01 * loss.value)
    assert point.regret_stderr < loss.stderr / 3
    assert point.pulls == pytest.approx([pulls.value for pulls in result["trace-ucb"].pulls()])


def test_regret_does_not_depend_on_workers():
    scenario = eq.GaussianScenario(UNEQUAL, 5, 100)
    alone = Runner(seed=3, workers=1, store=Store(None), meter=Meter(1.0, None))
    assert _measure(scenario, 7, alone) == _measure(scenario, 7, RUNNER)


def test_a_slope_is_found_with_its_error():
    rows = [(10.0, 1.0, 0.01), (100.0, 0.1, 0.002), (1000.0, 0.01, 0.0001)]
    assert _slope(rows).value == pytest.approx(-1.0)
    rng = np.random.default_rng(1)
    draws = [_slope([(n, y + s * rng.standard_normal(), s) for n, y, s in rows]).value for _ in range(4_000)]
    assert _slope(rows).stderr == pytest.approx(np.std(draws), rel=0.1)


def test_a_negative_regret_has_no_slope():
    assert np.isnan(_slope([(10.0, 1.0, 0.1), (100.0, -0.1, 0.1)]).value)


def test_fewer_trials_as_budgets_grow():
    trials = [rate_trials(budget, 1.0) for budget in BUDGETS]
    assert trials == sorted(trials, reverse=True)
    assert trials[-1] >= 300
