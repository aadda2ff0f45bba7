"""Compiled trials: identical to Experiment, and statistically what theory says."""

from __future__ import annotations

import numpy as np
import pytest

import equipoise as eq
from equipoise.lab import Delay, OneHotContexts, StudentContexts, StudentNoise
from equipoise.lab.trials import new_bench, new_ledger, run_trials

UNEQUAL = (0.01, 0.02, 0.75, 1.0, 2.0, 2.0, 3.0)
EQUAL = (1.0,) * 7
SPECS = [name for name, kind in eq.registered_policies().items() if kind.__module__.startswith("equipoise.")]


def one_trial(scenario, policy, seed, trial):
    """A bench that has just run one trial, and its ledger."""
    bench, ledger = new_bench(scenario, policy, seed), new_ledger(1, len(scenario.noise))
    run_trials(bench, trial, ledger)
    return bench, ledger


def repeated(scenario, policy, seed, bench):
    """The same contexts and outcomes, fed to an Experiment unit by unit; arms must agree at once."""
    state = bench.state
    experiment = eq.Experiment(scenario.problem(), policy.informed(scenario.noise), seed=seed)
    for t in range(scenario.budget):
        assignment = experiment.ask(state.contexts[t])
        assert experiment.problem.index(assignment.arm) == state.rows["arm"][t], f"unit {t + 1}"
        experiment.tell(assignment.id, state.outcomes[t])
    return experiment


VARIATIONS = {
    "plain": {},
    "learned moment": {"moment": "learned"},
    "correlated, weighted, mean": {
        "covariance": "ar1:0.8",
        "objective": "mean",
        "weights": (1.0, 2.0, 1.0, 1.0, 0.5, 1.0, 1.0),
    },
    "wrong moment": {"moment": np.diag([1.0, 5.0, 0.1, 1.0]), "objective": 3.0},
    "heavy tails": {"noise_shape": StudentNoise(dof=4), "heteroscedasticity": 2.0, "intercept": True},
}


@pytest.mark.parametrize("variation", VARIATIONS)
@pytest.mark.parametrize("spec", SPECS)
def test_the_same_bits_as_experiment(spec, variation):
    """Same contexts and outcomes: the same arms and the same estimates, bit for bit."""
    scenario = eq.GaussianScenario(noise=UNEQUAL, dim=4, budget=120, **VARIATIONS[variation])
    policy = eq.parse_policy(spec)
    bench, ledger = one_trial(scenario, policy, seed=11, trial=5)
    experiment = repeated(scenario, policy, 11, bench)
    assert ledger.counts[0].tolist() == list(experiment.counts.values())
    np.testing.assert_array_equal(bench.state.coefs, experiment._state.coefs)
    np.testing.assert_array_equal(
        bench.state.arms["noise_variance"], experiment._state.arms["noise_variance"]
    )
    estimates = experiment.estimates()
    moment, truth = scenario.true_moment(), bench.world.coefs
    for i, arm in enumerate(estimates):
        gap = arm.coef - truth[i]
        assert ledger.errors[0, i] == pytest.approx(gap @ moment @ gap, rel=1e-8)
        low, high = arm.intervals.T
        inside = np.mean((low <= truth[i]) & (truth[i] <= high))
        assert ledger.coverage[0, i] == pytest.approx(inside)


@pytest.mark.parametrize("spec", ["trace-ucb", "var-ucb", "uniform"])
def test_late_and_lost_outcomes_are_those_of_experiment(spec):
    scenario = eq.GaussianScenario(noise=UNEQUAL, dim=3, budget=150, delay=Delay(mean=12), lost=0.2)
    policy = eq.parse_policy(spec)
    bench, ledger = one_trial(scenario, policy, seed=3, trial=2)
    state = bench.state
    experiment = eq.Experiment(scenario.problem(), policy, seed=3)
    for t in range(int(bench.due.max()) + 1):
        if t < 150:
            assignment = experiment.ask(state.contexts[t])
            assert experiment.problem.index(assignment.arm) == state.rows["arm"][t]
        for row in np.flatnonzero(bench.due == t):
            if state.rows["status"][row] == 2:
                experiment.lose(int(row) + 1)
            else:
                experiment.tell(int(row) + 1, state.outcomes[row])
    assert experiment.pending == []
    lost = int(np.count_nonzero(state.rows["status"] == 2))
    assert ledger.counts.sum() == 150 - lost
    assert 10 < lost < 55
    np.testing.assert_array_equal(state.coefs, experiment._state.coefs)


@pytest.mark.parametrize("contexts", [OneHotContexts(), StudentContexts(dof=3.0)], ids=["one-hot", "heavy"])
def test_unusual_contexts_run_to_the_end(contexts):
    scenario = eq.Scenario(noise=(1.0, 2.0, 0.0), dim=5, budget=200, contexts=contexts)
    result = eq.simulate(scenario, ["trace-ucb", "uniform"], trials=20, seed=1)
    for policy in result.policies.values():
        assert np.all(np.isfinite(policy.errors))
        assert np.all(policy.ledger.counts.sum(axis=1) == 200)


@pytest.mark.parametrize("policy", ["uniform", "oracle"])
def test_static_losses_match_the_closed_form(policy):
    # d·σ²/(k−d−1), exact for OLS and any covariance. 7 arms at 5 standard errors: fails by chance
    # less than once in 10⁵ seeds.
    scenario = eq.GaussianScenario(noise=UNEQUAL, dim=5, budget=350, covariance="ar1:0.7", ridge=0.0)
    result = eq.simulate(scenario, [policy], trials=5_000, seed=2)[policy]
    expected = eq.theory.static_losses(UNEQUAL, result.ledger.counts[0], dim=5)
    assert np.all(result.ledger.counts == result.ledger.counts[0])
    stderr = result.errors.std(axis=0, ddof=1) / np.sqrt(result.trials)
    assert np.all(np.abs(result.errors.mean(axis=0) - expected) < 5 * stderr)


def test_noise_variance_is_unbiased_under_static_allocation():
    # 7 arms at 5 standard errors: fails by chance less than once in 10⁵ seeds.
    scenario = eq.GaussianScenario(noise=UNEQUAL, dim=10, budget=350)
    bench, ledger = new_bench(scenario, eq.Uniform(), 3), new_ledger(1, 7)
    variances = np.empty((1_000, 7))
    for trial in range(1_000):
        run_trials(bench, trial, ledger)
        variances[trial] = bench.state.arms["noise_variance"]
    stderr = variances.std(axis=0, ddof=1) / np.sqrt(1_000)
    assert np.all(np.abs(variances.mean(axis=0) - UNEQUAL) < 5 * stderr)


def test_adaptive_allocation_beats_uniform_and_theory_width_does_not():
    scenario = eq.GaussianScenario(noise=UNEQUAL, dim=10, budget=350)
    theory = "trace-ucb:width=theory:bound=3:delta=0.05"
    result = eq.simulate(scenario, ["uniform", "oracle", "trace-ucb", theory], trials=4_000, seed=5)
    uniform, oracle, default, wide = (policy.expected_max() for policy in result.policies.values())
    # 6 standard errors: fails by chance less than once in 10⁸ seeds. λ = 1/n moves the loss by far less.
    assert uniform.value == pytest.approx(30 / 39, abs=6 * uniform.stderr)
    assert oracle.value == pytest.approx(
        eq.theory.optimal_loss(UNEQUAL, 10, 350), abs=6 * oracle.stderr + 0.01
    )
    assert oracle.value < default.value < 1.25 * oracle.value
    assert wide.value > 0.9 * uniform.value
    assert result.difference("trace-ucb", "uniform").value < -0.3


@pytest.mark.parametrize("policy", ["trace-ucb", "trace-gain"])
@pytest.mark.parametrize("budget", [115, 350])
@pytest.mark.parametrize("noise", [EQUAL, UNEQUAL], ids=["equal", "unequal"])
def test_intervals_cover_after_adaptive_allocation(noise, budget, policy):
    # The promised band; its ends are more than 6 standard errors (0.06 points) from what is expected. An
    # arm has a standard error below 0.2 points, and 94.1 % is the least that is expected of one.
    scenario = eq.GaussianScenario(noise=noise, dim=10, budget=budget)
    result = eq.simulate(scenario, [policy], trials=6_000, seed=7)[policy]
    assert 0.945 <= result.coverage().value <= 0.965
    by_arm = result.ledger.coverage.mean(axis=0)
    assert np.all((by_arm > 0.93) & (by_arm < 0.965))
    assert result.coverage(corrected=False).value < result.coverage().value


@pytest.mark.parametrize("budget", [115, 350])
@pytest.mark.parametrize("noise", [EQUAL, UNEQUAL], ids=["equal", "unequal"])
def test_noise_intervals_cover_after_adaptive_allocation(noise, budget):
    # 300 trials of 7 arms: a standard error of 0.5 points, so the band is 95 % − 4 of them to 99 %.
    scenario = eq.GaussianScenario(noise=noise, dim=10, budget=budget)
    bench, ledger = new_bench(scenario, eq.TraceUCB(), 5), new_ledger(1, 7)
    covered, bounded = [], []
    for trial in range(300):
        run_trials(bench, trial, ledger)
        for arm in repeated(scenario, eq.TraceUCB(), 5, bench).estimates():
            truth = noise[scenario.arms.index(arm.arm)]
            low, high = arm.noise_interval
            covered.append(low <= truth <= high)
            bounded.append(truth * arm.expected_error / arm.noise_variance <= arm.error_bound * (1 + 1e-9))
    assert 0.93 <= np.mean(covered) <= 0.99
    assert 0.93 <= np.mean(bounded) <= 0.99


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["trace-ucb", "trace-gain"])
@pytest.mark.parametrize("budget", [115, 350])
@pytest.mark.parametrize("noise", [EQUAL, UNEQUAL], ids=["equal", "unequal"])
def test_intervals_cover_in_a_long_run(noise, budget, policy):
    scenario = eq.GaussianScenario(noise=noise, dim=10, budget=budget)
    result = eq.simulate(scenario, [policy], trials=60_000, seed=8)[policy]
    assert 0.945 <= result.coverage().value <= 0.965
    by_arm = result.ledger.coverage.mean(axis=0)
    # The noisiest of few degrees of freedom is what the correction reaches least under trace-gain.
    least = {"trace-ucb": 0.942, "trace-gain": 0.938}[policy]
    assert np.all((by_arm > least) & (by_arm < 0.962))


@eq.register("test-lab-own")
def own_score(arm, trial, settings):
    """A plain Python policy from outside the package."""
    return arm.noise_variance * arm.trace + trial.mean_variance / arm.count


def test_a_users_policy_runs_compiled():
    scenario = eq.GaussianScenario(noise=UNEQUAL, dim=4, budget=120)
    policy = eq.parse_policy("test-lab-own")
    bench, _ = one_trial(scenario, policy, seed=1, trial=0)
    repeated(scenario, policy, 1, bench)


def test_no_penalty_and_singular_arms():
    scenario = eq.Scenario(noise=(1.0, 2.0), dim=6, budget=16, contexts=OneHotContexts(), ridge=0.0)
    result = eq.simulate(scenario, ["uniform"], trials=40, seed=1)
    assert np.all(np.isfinite(result["uniform"].errors))
    tiny = eq.simulate(scenario.replace(budget=8), ["uniform"], trials=10, seed=1)
    assert np.isnan(tiny.regret("uniform").value)


def test_small_budgets():
    scenario = eq.GaussianScenario(noise=UNEQUAL, dim=10, budget=60)
    result = eq.simulate(scenario, ["uniform", "oracle"], trials=50, seed=1)
    for policy in result.policies.values():
        assert np.all(policy.ledger.counts.sum(axis=1) == 60)
        assert np.all(np.isfinite(policy.errors))
    with pytest.raises(eq.errors.BudgetTooSmall, match="only uniform and oracle"):
        eq.simulate(scenario, ["uniform", "trace-ucb"], trials=50)
