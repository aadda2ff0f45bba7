"""Compiled trials: identical to Experiment, and statistically what theory says."""

from __future__ import annotations

import numpy as np
import pytest

import equipoise as eq
from equipoise.lab import run_trials
from equipoise.lab.trials import _stream

UNEQUAL = (0.01, 0.02, 0.75, 1.0, 2.0, 2.0, 3.0)
EQUAL = (1.0,) * 7
SPECS = [
    name if name != "oracle" else "oracle:noise=0.01,0.02,0.75,1,2,2,3"
    for name, kind in eq.registered_policies().items()
    if kind.__module__.startswith("equipoise.")
]


def problem(dim=10, budget=350, arms=7, moment=None):
    return eq.Problem(arms, dim, budget, np.eye(dim) if moment is None else moment)


@pytest.mark.parametrize("learned", [False, True])
@pytest.mark.parametrize("spec", SPECS)
def test_the_same_bits_as_experiment(spec, learned):
    """Same contexts and outcomes: the same arms and the same estimates, bit for bit."""
    setting = eq.Problem(7, 4, 120, None if learned else np.eye(4), objective=2.0, weights={"arm-3": 2.0})
    policy = eq.parse_policy(spec)
    batch = run_trials(setting, policy, UNEQUAL, trials=3, seed=11)
    for trial in range(3):
        contexts = _stream(11, trial, 0).standard_normal((120, 4))
        shocks = np.sqrt(UNEQUAL)[:, None] * _stream(11, trial, 1).standard_normal((7, 120))
        experiment = eq.Experiment(setting, policy, seed=11)
        for x in contexts:
            assignment = experiment.ask(x)
            i = setting.index(assignment.arm)
            experiment.tell(assignment.id, shocks[i, experiment.counts[assignment.arm] - 1])
        assert batch.counts[trial].tolist() == list(experiment.counts.values())
        np.testing.assert_array_equal(batch.coefs[trial], experiment._state.coefs)
        np.testing.assert_array_equal(batch.variances[trial], experiment._state.arms["noise_variance"])


def test_a_trial_does_not_depend_on_its_batch():
    few = run_trials(problem(), eq.TraceUCB(), UNEQUAL, trials=2, seed=4)
    many = run_trials(problem(), eq.TraceUCB(), UNEQUAL, trials=5, seed=4)
    np.testing.assert_array_equal(few.coefs, many.coefs[:2])
    assert not np.array_equal(many.coefs[0], many.coefs[1])


@pytest.mark.parametrize(
    ("policy", "noise"), [("uniform", UNEQUAL), ("oracle:noise=0.01,0.02,0.75,1,2,2,3", UNEQUAL)]
)
def test_static_losses_match_the_closed_form(policy, noise):
    # d·σ²/(k−d−1). 7 arms at 5 standard errors: fails by chance less than once in 10⁵ seeds.
    batch = run_trials(problem(dim=5), eq.parse_policy(policy), noise, trials=4_000, seed=2)
    errors = batch.errors(ridge=0.0)
    expected = eq.theory.static_losses(noise, batch.counts[0], dim=5)
    assert np.all(batch.counts == batch.counts[0])
    stderr = errors.std(axis=0, ddof=1) / np.sqrt(len(errors))
    # Arms at k = d+1 pulls would have an infinite mean; none here has.
    assert np.all(np.abs(errors.mean(axis=0) - expected) < 5 * stderr)


def test_noise_variance_is_unbiased_under_static_allocation():
    # 7 arms at 5 standard errors: fails by chance less than once in 10⁵ seeds.
    batch = run_trials(problem(), eq.Uniform(), UNEQUAL, trials=2_000, seed=3)
    stderr = batch.variances.std(axis=0, ddof=1) / np.sqrt(2_000)
    assert np.all(np.abs(batch.variances.mean(axis=0) - UNEQUAL) < 5 * stderr)


def test_adaptive_allocation_beats_uniform_and_theory_width_does_not():
    # DESIGN's figures for the unequal scenario: uniform 0.784, oracle 0.326, theory 0.742.
    setting = problem()
    losses = {
        spec: run_trials(setting, eq.parse_policy(spec), UNEQUAL, trials=2_000, seed=5).expected_max()
        for spec in (
            "uniform",
            "oracle:noise=0.01,0.02,0.75,1,2,2,3",
            "trace-ucb",
            "trace-ucb:width=theory:bound=3",
        )
    }
    uniform, oracle, default, theory = losses.values()
    assert uniform[0] == pytest.approx(0.769, abs=6 * uniform[1])  # d·σ²/(k−d−1) at k = 50
    assert oracle[0] == pytest.approx(eq.theory.optimal_loss(UNEQUAL, 10, 350), abs=6 * oracle[1] + 0.01)
    assert oracle[0] < default[0] < 1.25 * oracle[0]
    assert theory[0] > 0.9 * uniform[0]


def coverage(noise, budget, trials, seed, policy="trace-ucb", dim=10):
    """Share of coefficients inside their 95 % intervals, by arm, through Experiment's own estimates."""
    setting = problem(dim=dim, budget=budget, arms=len(noise))
    hits = np.zeros(len(noise))
    variance_hits = np.zeros(len(noise))
    for trial in range(trials):
        contexts = _stream(seed, trial, 0).standard_normal((budget, dim))
        shocks = np.sqrt(noise)[:, None] * _stream(seed, trial, 1).standard_normal((len(noise), budget))
        experiment = eq.Experiment(setting, policy, seed=seed)
        pulls = dict.fromkeys(setting.arms, 0)
        for x in contexts:
            assignment = experiment.ask(x)
            i = setting.index(assignment.arm)
            experiment.tell(assignment.id, shocks[i, pulls[assignment.arm]])
            pulls[assignment.arm] += 1
        for i, arm in enumerate(experiment.estimates()):
            low, high = arm.intervals.T
            hits[i] += np.mean((low <= 0) & (high >= 0))
            low, high = arm.noise_interval
            variance_hits[i] += low <= noise[i] <= high
    return 100 * hits / trials, 100 * variance_hits / trials


@pytest.mark.parametrize("budget", [115, 350])
@pytest.mark.parametrize("noise", [EQUAL, UNEQUAL], ids=["equal", "unequal"])
def test_intervals_cover_after_adaptive_allocation(noise, budget):
    # 70 coefficients a trial, correlated within an arm: a standard error of 0.25 points at 400
    # trials, so 94.5–96.5 is widened by 4 of them here; make test-slow holds the narrow band.
    covered, _ = coverage(noise, budget, trials=400, seed=6)
    assert 93.5 <= covered.mean() <= 97.5


@pytest.mark.slow
@pytest.mark.parametrize("budget", [115, 350])
@pytest.mark.parametrize("noise", [EQUAL, UNEQUAL], ids=["equal", "unequal"])
def test_intervals_cover_in_the_promised_band(noise, budget):
    # Standard error 0.05 points at 10,000 trials.
    covered, variance_covered = coverage(noise, budget, trials=10_000, seed=7)
    assert 94.5 <= covered.mean() <= 96.5
    assert np.all((covered > 94.0) & (covered < 96.5))
    assert np.all(variance_covered > 92.0)
