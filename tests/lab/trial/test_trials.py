"""Compiled trials: identical to Experiment, and statistically what theory says."""

from __future__ import annotations

import numpy as np
import pytest
from built_in import ONE_STAGE_OF_EACH_KIND
from single_trials import SimulatedTrials

import equipoise as eq
from equipoise.core.estimates.estimators import ESTIMATORS
from equipoise.core.stages.fresh import number_trial
from equipoise.lab import Delay, OneHotContexts, StudentContexts, StudentNoise

UNEQUAL = (0.01, 0.02, 0.75, 1.0, 2.0, 2.0, 3.0)
EQUAL = (1.0,) * 7
SPECS = [*ONE_STAGE_OF_EACH_KIND, "trace-gain:chance=0.3"]


def one_trial(scenario, policy, seed, trial):
    """A bench that has just run one trial, and its ledger."""
    bench = SimulatedTrials(scenario, policy, seed)
    return bench, bench.run(trial)


def repeated(scenario, policy, seed, bench):
    """The same contexts and outcomes, fed to an Experiment unit by unit; arms must agree at once."""
    state = bench.state
    experiment = eq.Experiment(scenario.problem(), policy.informed(scenario.noise), seed=seed)
    number_trial(experiment._state, experiment.problem, int(state.trial["number"][0]))
    for t in range(int(state.trial["step"][0])):
        assignment = experiment.ask(state.contexts[t])
        assert experiment.problem.index(assignment.arm) == state.rows["arm"][t], f"unit {t + 1}"
        experiment.tell(assignment.id, state.outcomes[t])
    assert experiment.remaining == 0
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
    "limits": {
        "objective": "mean",
        "costs": (1.0, 2.0, 0.5, 1.0, 0.3, 1.0, 1.7),
        "floors": (20, 0, 0, 7, 0, 0, 0),
        "caps": (None, None, 9, None, None, 15, 6),
    },
    "heavy tails": {"noise_shape": StudentNoise(dof=4), "heteroscedasticity": 2.0, "intercept": True},
}


@pytest.mark.parametrize("variation", VARIATIONS)
@pytest.mark.parametrize("spec", SPECS)
def test_the_same_bits_as_experiment(spec, variation):
    """Same contexts and outcomes: the same arms and the same estimates, bit for bit."""
    scenario = eq.GaussianScenario(
        noise=UNEQUAL, dim=4, budget=120, estimator="ridge", **VARIATIONS[variation]
    )
    policy = eq.parse_policy(spec)
    bench, ledger = one_trial(scenario, policy, seed=11, trial=5)
    experiment = repeated(scenario, policy, 11, bench)
    assert ledger.counts[0].tolist() == list(experiment.counts.values())
    np.testing.assert_array_equal(bench.state.coefs, experiment._state.coefs)
    np.testing.assert_array_equal(
        bench.state.arms["noise_variance"], experiment._state.arms["noise_variance"]
    )
    estimates = experiment.estimates(estimator="ridge")
    moment, truth = scenario.true_moment(), bench.truth
    for i, arm in enumerate(estimates):
        gap = arm.coef - truth[i]
        assert ledger.errors[0, i] == pytest.approx(gap @ moment @ gap, rel=1e-8)
        low, high = arm.intervals.T
        inside = np.mean((low <= truth[i]) & (truth[i] <= high))
        assert ledger.coverage[0, i] == pytest.approx(inside)


@pytest.mark.parametrize("variation", VARIATIONS)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_errors_are_those_of_the_experiment_s_estimates(estimator, variation):
    scenario = eq.GaussianScenario(
        noise=UNEQUAL, dim=4, budget=120, estimator=estimator, **VARIATIONS[variation]
    )
    bench, ledger = one_trial(scenario, eq.TraceUCB(), seed=11, trial=5)
    experiment = repeated(scenario, eq.TraceUCB(), 11, bench)
    estimates = experiment.estimates(estimator=estimator)
    if estimator != "ridge":  # whose trials are judged inside of the compiled loop
        np.testing.assert_array_equal(bench.workspace.coefs, [arm.coef for arm in estimates])
    for i, arm in enumerate(estimates):
        gap = arm.coef - bench.truth[i]
        assert ledger.errors[0, i] == pytest.approx(gap @ scenario.true_moment() @ gap, rel=1e-10)
        low, high = arm.intervals.T
        inside = np.mean((low <= bench.truth[i]) & (bench.truth[i] <= high))
        assert ledger.coverage[0, i] == pytest.approx(inside)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_estimators_in_unusual_worlds(estimator):
    pieces = {"delay": Delay(mean=5), "lost": 0.2, "contexts": OneHotContexts(), "moment": "learned"}
    scenario = eq.Scenario(noise=(1.0, 2.0, 0.5), dim=5, budget=90, estimator=estimator, **pieces)
    result = eq.simulate(scenario, ["uniform", "trace-ucb"], trials=20, seed=1)
    usual = eq.simulate(scenario, ["uniform", "trace-ucb"], trials=20, seed=1, estimator="ridge")
    for name, policy in result.policies.items():
        assert np.all(np.isfinite(policy.errors))
        np.testing.assert_array_equal(policy.ledger.counts, usual[name].ledger.counts)
        np.testing.assert_array_equal(policy.ledger.coverage, usual[name].ledger.coverage)
        assert np.any(policy.errors != usual[name].errors) == (estimator != "ridge")


@pytest.mark.parametrize("estimator", ["empirical-bayes", "pooled"])
@pytest.mark.parametrize("size", [0.0, 1.0, 10.0, 100.0])
def test_shrinking_is_not_worse_than_the_usual_penalty(size, estimator):
    # 4 standard errors of the paired difference; 16 comparisons: fails by chance once in 2,000 seeds.
    coef = size * np.random.default_rng(1).normal(size=(7, 10))
    scenario = eq.GaussianScenario(noise=UNEQUAL, dim=10, budget=115, coef=coef)
    for policy in ("uniform", "trace-ucb"):
        usual = eq.simulate(scenario, [policy], trials=500, seed=3, estimator="ridge")[policy]
        shrunk = eq.simulate(scenario, [policy], trials=500, seed=3, estimator=estimator)[policy]
        gap = shrunk.errors.mean(axis=1) - usual.errors.mean(axis=1)
        assert gap.mean() <= 4 * gap.std() / np.sqrt(500) + 1e-9 * usual.errors.mean()
        if size <= 1.0:
            assert shrunk.errors.mean() < 0.9 * usual.errors.mean()


def test_pooling_pays_where_arms_are_alike():
    coef = np.tile(np.random.default_rng(1).normal(size=10), (7, 1))
    scenario = eq.GaussianScenario(noise=UNEQUAL, dim=10, budget=115, coef=coef)
    alone, pooled = (
        eq.simulate(scenario, ["uniform"], trials=200, seed=3, estimator=estimator)["uniform"].errors.mean()
        for estimator in ("empirical-bayes", "pooled")
    )
    assert pooled < 0.6 * alone


LIMITS = {"costs": (1.0, 2.0, 0.5, 1.0, 1.0, 1.0, 1.7), "floors": (12,) * 7, "caps": (None, 30, *[None] * 5)}


@pytest.mark.parametrize("limits", [{}, LIMITS], ids=["free", "limits"])
@pytest.mark.parametrize("spec", ["trace-ucb", "var-ucb", "uniform", "trace-gain"])
def test_late_and_lost_outcomes_are_those_of_experiment(spec, limits):
    scenario = eq.GaussianScenario(noise=UNEQUAL, dim=3, budget=150, delay=Delay(mean=12), lost=0.2, **limits)
    policy = eq.parse_policy(spec)
    bench, ledger = one_trial(scenario, policy, seed=3, trial=2)
    state = bench.state
    experiment = eq.Experiment(scenario.problem(), policy, seed=3)
    number_trial(experiment._state, experiment.problem, 2)
    asked = int(state.trial["step"][0])
    due = bench.due[:asked]
    for t in range(int(due.max()) + 1):
        if t < asked:
            assignment = experiment.ask(state.contexts[t])
            assert experiment.problem.index(assignment.arm) == state.rows["arm"][t]
        for row in np.flatnonzero(due == t):
            if state.rows["status"][row] == 2:
                experiment.lose(int(row) + 1)
            else:
                experiment.tell(int(row) + 1, state.outcomes[row])
    assert experiment.pending == []
    assert experiment.remaining == 0
    lost = int(np.count_nonzero(state.rows["status"][:asked] == 2))
    assert ledger.counts.sum() == asked - lost
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
    scenario = eq.GaussianScenario(
        noise=UNEQUAL, dim=5, budget=350, covariance="ar1:0.7", estimator="ridge", ridge=0.0
    )
    result = eq.simulate(scenario, [policy], trials=5_000, seed=2)[policy]
    expected = eq.theory.static_losses(UNEQUAL, result.ledger.counts[0], dim=5)
    assert np.all(result.ledger.counts == result.ledger.counts[0])
    stderr = result.errors.std(axis=0, ddof=1) / np.sqrt(result.trials)
    assert np.all(np.abs(result.errors.mean(axis=0) - expected) < 5 * stderr)


def test_noise_variance_is_unbiased_under_static_allocation():
    # 7 arms at 5 standard errors: fails by chance less than once in 10⁵ seeds.
    scenario = eq.GaussianScenario(noise=UNEQUAL, dim=10, budget=350)
    bench = SimulatedTrials(scenario, eq.Uniform(), 3)
    variances = np.empty((1_000, 7))
    for trial in range(1_000):
        bench.run(trial)
        variances[trial] = bench.state.arms["noise_variance"]
    stderr = variances.std(axis=0, ddof=1) / np.sqrt(1_000)
    assert np.all(np.abs(variances.mean(axis=0) - UNEQUAL) < 5 * stderr)


def test_adaptive_allocation_beats_uniform_and_theory_width_does_not():
    scenario = eq.GaussianScenario(noise=UNEQUAL, dim=10, budget=350, estimator="ridge")
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
@pytest.mark.parametrize("budget", [115, pytest.param(350, marks=pytest.mark.slow)])
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


@pytest.mark.parametrize("budget", [115, pytest.param(350, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "noise", [pytest.param(EQUAL, id="equal", marks=pytest.mark.slow), pytest.param(UNEQUAL, id="unequal")]
)
def test_noise_intervals_cover_after_adaptive_allocation(noise, budget):
    # 300 trials of 7 arms: a standard error of 0.5 points, so the band is 95 % − 4 of them to 99 %.
    scenario = eq.GaussianScenario(noise=noise, dim=10, budget=budget)
    bench = SimulatedTrials(scenario, eq.TraceUCB(), 5)
    covered, bounded = [], []
    for trial in range(300):
        bench.run(trial)
        for arm in repeated(scenario, eq.TraceUCB(), 5, bench).estimates():
            truth = noise[scenario.arms.index(arm.arm)]
            low, high = arm.noise_interval
            covered.append(low <= truth <= high)
            plain = arm.expected_error / arm.error_factor / arm.residual_variance
            bounded.append(truth * plain <= arm.error_bound * (1 + 1e-9))
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
    scenario = eq.Scenario(
        noise=(1.0, 2.0), dim=6, budget=16, contexts=OneHotContexts(), estimator="ridge", ridge=0.0
    )
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
    with pytest.raises(eq.errors.BudgetTooSmall, match="uniform, oracle, designs and policies that choose"):
        eq.simulate(scenario, ["uniform", "trace-ucb"], trials=50)


def test_caps_that_leave_no_model():
    scenario = eq.GaussianScenario(noise=[1.0, 1.0], dim=10, budget=60, caps=(5, None))
    with pytest.raises(eq.errors.LimitConflict, match="can never be estimated: that takes 11 units"):
        eq.simulate(scenario, ["uniform"], trials=2)
    eq.simulate(scenario, ["sparse-trace-ucb:support=0,1"], trials=2)


COSTS = (1.0, 1.0, 8.0, 8.0)


@pytest.mark.parametrize("spec", ["oracle", "trace-ucb", "var-ucb", "trace-gain"])
def test_minding_costs_buys_more_accuracy(spec):
    """Weights equal to the costs cancel 1/c, so that choices ignore costs while the money still goes.

    The difference is 5 standard errors at least: fails by chance less than once in 10⁶ runs.
    """
    world = eq.GaussianScenario(noise=[1, 2, 1, 2], dim=5, budget=600, objective="mean", costs=COSTS)
    ledgers = [
        eq.simulate(scenario, [spec], trials=2_000, seed=1)[spec].ledger
        for scenario in (world, world.replace(weights=COSTS))
    ]
    minding, ignoring = (ledger.errors.mean(axis=1) for ledger in ledgers)
    gain = ignoring - minding
    assert gain.mean() > 5 * gain.std() / np.sqrt(len(gain))
    for ledger in ledgers:
        spent = ledger.counts @ np.array(COSTS)
        assert spent.max() <= 600
        assert spent.min() > 600 - 1


def test_limits_hold_in_every_trial():
    scenario = eq.GaussianScenario(
        noise=[0.1, 1, 3], dim=3, budget=100.5, costs=[1, 2.5, 0.7], floors=[20, 0, 5], caps=[None, 12, 60]
    )
    result = eq.simulate(scenario, SPECS, trials=50, seed=2)
    for policy in result.policies.values():
        counts = policy.ledger.counts
        assert np.all(counts >= [20, 0, 5])
        assert np.all(counts[:, 1:] <= [12, 60])
        assert np.all(counts @ np.array([1, 2.5, 0.7]) <= 100.5 + 1e-6)
        assert policy.decisions == counts.sum()
    assert eq.Scenario.from_toml(scenario.to_toml()) == scenario


def test_costs_of_one_are_no_costs():
    scenario = eq.GaussianScenario(noise=[0.1, 1, 3], dim=3, budget=80, objective=2.0)
    ones = scenario.replace(costs=(1.0, 1.0, 1.0), floors=(0, 0, 0), caps=(None, 80, None))
    plain, costly = (eq.simulate(world, SPECS, trials=30, seed=5) for world in (scenario, ones))
    for name in SPECS:
        for left, right in zip(plain[name].ledger, costly[name].ledger, strict=True):
            np.testing.assert_array_equal(left, right)


def test_a_forced_start_must_be_paid_for():
    scenario = eq.GaussianScenario(noise=[1, 2], dim=3, budget=11, costs=[1, 2])
    with pytest.raises(eq.errors.BudgetTooSmall, match="trace-ucb needs a budget of at least 12, not 11"):
        eq.simulate(scenario, ["trace-ucb"], trials=1)
    counts = eq.simulate(scenario, ["uniform"], trials=1)["uniform"].ledger.counts
    assert (counts @ [1, 2]).tolist() == [11]
