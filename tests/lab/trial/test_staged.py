"""Trials of policies that choose features: identical to Experiment, and as good as they must be."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from single_trials import SimulatedTrials, drawn

import equipoise as eq
from equipoise.core.stages.fresh import number_trial
from equipoise.errors import BudgetTooSmall, InvalidPolicy, InvalidScenario, SupportWarning
from equipoise.lab import Delay, SparseTruth, StudentNoise

NOISE = (0.1, 0.5, 1.0, 2.0)
SPECS = [
    "sparse-trace-ucb",
    "sparse-trace-ucb:shared=true",
    "sparse-trace-ucb:screen=15:reuse=false",
    "sparse-trace-ucb:screen=15:sparsity=3",
    "sparse-trace-ucb:screen=15:sparsity=2:reuse=true",
    "sparse-trace-ucb:screen=15:sparsity=3:look=true",
    "sparse-trace-ucb:screen=6:reuse=true:look=true:refresh=1.5",
    "sparse-trace-ucb:support=1,4",
    "sparse-oracle",
    "uniform-lasso",
    "uniform-lasso:joint=true:refit=true",
    "static-lasso",
]
VARIATIONS = {
    "plain": {},
    "learned moment": {"moment": "learned"},
    "correlated, weighted, mean": {
        "covariance": "ar1:0.6",
        "objective": "mean",
        "weights": (1.0, 2.0, 1.0, 0.5),
        "noise_shape": StudentNoise(dof=5),
    },
    "limits": {"costs": (1.0, 2.0, 0.5, 1.0), "floors": (40, 0, 0, 0), "caps": (None, None, 80, 60)},
    "late and lost": {"delay": Delay(mean=9), "lost": 0.2},
}


def sparse_scenario(variation="plain", budget=240, **changes):
    pieces = {"truth": SparseTruth(features=3), "estimator": "ridge", **VARIATIONS[variation], **changes}
    return eq.GaussianScenario(NOISE, dim=18, budget=budget, **pieces)


def repeated(scenario, bench, number):
    """The trial that the bench has just run, fed to an Experiment unit by unit, outcomes in order."""
    stage = bench.stage
    state, policy = stage.state, bench.policy.shown(bench.support)
    experiment = eq.Experiment(scenario.problem(), policy, seed=bench.seed)
    number_trial(experiment._state, experiment.problem, number)
    step = int(state.trial["step"][0])
    due = np.maximum(bench.due[:step], np.arange(step))
    for t in range(step):
        unit = experiment.ask(bench.contexts[t])
        assert experiment.problem.index(unit.arm) == state.rows["arm"][t], f"unit {t + 1}"
        last = t == step - 1
        for row in np.flatnonzero((due >= t) if last else (due == t)):
            if row <= t:
                close(experiment, state, row)
    return stage, experiment


def close(experiment, state, row):
    if state.rows["status"][row] == 2:
        experiment.lose(int(row) + 1)
    else:
        experiment.tell(int(row) + 1, state.outcomes[row])


@pytest.mark.parametrize("variation", VARIATIONS)
@pytest.mark.parametrize("spec", SPECS)
def test_the_same_bits_as_experiment(spec, variation):
    scenario = sparse_scenario(variation)
    bench = SimulatedTrials(scenario, eq.parse_policy(spec), 11)
    ledger = bench.run(5)
    stage, experiment = repeated(scenario, bench, 5)
    np.testing.assert_array_equal(stage.columns, experiment._stage.columns)
    assert stage.state.trial["number"][0] == experiment._state.trial["number"][0] == 5
    np.testing.assert_array_equal(stage.state.rows["arm"], experiment._state.rows["arm"][: scenario.units])
    if "late" not in variation:  # outcomes that come after the last unit come in another order there
        np.testing.assert_array_equal(stage.state.coefs, experiment._state.coefs)
    assert ledger.counts[0].tolist() == list(experiment.counts.values())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SupportWarning)
        estimates = experiment.estimates(estimator="ridge")
    truth, moment = bench.truth, scenario.true_moment()
    for i, arm in enumerate(estimates):
        gap = arm.coef - truth[i]
        assert ledger.errors[0, i] == pytest.approx(gap @ moment @ gap, rel=1e-6)
        if estimates.support is not None and arm.columns.size:
            low, high = arm.intervals[arm.columns].T
            inside = np.mean((low <= truth[i, arm.columns]) & (truth[i, arm.columns] <= high))
            assert ledger.coverage[0, i] == pytest.approx(inside)
    if estimates.support is not None:
        chosen = set(estimates.support.columns)
        matters = set(bench.support.tolist())
        assert ledger.support[0].tolist() == [len(matters - chosen), len(chosen - matters)]
    else:
        assert ledger.support[0].tolist() == [-1, -1]


@pytest.mark.parametrize("estimator", ["pooled", "leave-one-out"])
def test_methods_of_estimation(estimator):
    scenario = sparse_scenario(estimator=estimator)
    bench = SimulatedTrials(scenario, eq.SparseTraceUCB(screen=15), 11)
    ledger = bench.run(5)
    _, experiment = repeated(scenario, bench, 5)
    for i, arm in enumerate(experiment.estimates(estimator=estimator)):
        gap = arm.coef - bench.truth[i]
        assert ledger.errors[0, i] == pytest.approx(gap @ gap, rel=1e-9)


@pytest.mark.parametrize("variation", ["plain", "late and lost"])
def test_a_trial_does_not_depend_on_its_neighbours(variation):
    scenario = sparse_scenario(variation)
    specs = SPECS[:8:2] if variation == "plain" else SPECS[1:8:2]
    whole = eq.simulate(scenario, specs, trials=12, seed=4, workers=2)
    again = eq.simulate(scenario, specs, trials=12, seed=4, workers=1)
    for spec in specs:
        for one, other in zip(whole[spec].ledger, again[spec].ledger, strict=True):
            np.testing.assert_array_equal(one, other)
        alone = SimulatedTrials(scenario, eq.parse_policy(spec), 4).run(7)
        for one, other in zip(whole[spec].ledger, alone, strict=True):
            np.testing.assert_array_equal(one[7], other[0])


def test_checkpoints_and_files_keep_the_support(tmp_path):
    scenario = sparse_scenario()
    options = {"trials": 6, "seed": 3, "checkpoint": tmp_path / "kept"}
    first = eq.simulate(scenario, SPECS[:2], **options)
    again = eq.simulate(scenario, SPECS[:2], **options)
    again.save(tmp_path / "result.npz")
    loaded = eq.SimulationResult.load(tmp_path / "result.npz")
    assert loaded.scenario == scenario
    for spec in SPECS[:2]:
        np.testing.assert_array_equal(loaded[spec].ledger.support, first[spec].ledger.support)
        assert loaded[spec].recovery().value == np.mean(np.all(first[spec].ledger.support == 0, axis=1))
    assert "recovery" in {row["loss"] for row in first.losses()}


@pytest.mark.parametrize(
    "spec", ["sparse-trace-ucb:screen=30:sparsity=3", "sparse-trace-ucb:screen=30:shared=true"]
)
def test_outcomes_that_all_come_after_the_last_unit(spec):
    scenario = sparse_scenario(delay=Delay(mean=3000))
    result = eq.simulate(scenario, [spec, "sparse-oracle"], trials=10, seed=3)
    assert result[spec].recovery().value >= 0.8
    assert result[spec].expected_max().value < 4 * result["sparse-oracle"].expected_max().value


# The truth


@pytest.mark.parametrize("overlap", [1.0, 0.5, 0.0])
@pytest.mark.parametrize("values", ["unit", "normal"])
def test_sparse_truths(overlap, values):
    truth = SparseTruth(features=5, overlap=overlap, values=values, scale=2.0)
    scenario = eq.GaussianScenario([1.0] * 6, dim=40, budget=60, truth=truth)
    places, sizes = np.zeros(40), []
    for trial in range(300):
        coefs = drawn(scenario, 3, trial).coefs[0]
        active = coefs != 0.0
        assert np.count_nonzero(active.any(axis=0)) == 5
        assert set(active.sum(axis=0).tolist()) == {0, {1.0: 6, 0.5: 3, 0.0: 1}[overlap]}
        places += active.any(axis=0)
        sizes += coefs[active].tolist()
    # 1,500 features over 40 places: 37.5 each, standard deviation 5.7; and their signs are even.
    assert np.all(np.abs(places - 37.5) < 5 * 5.7)
    sizes = np.array(sizes)
    assert abs(sizes.mean()) < 5 * 2.0 / np.sqrt(len(sizes))
    assert np.mean(sizes**2) == pytest.approx(4.0, rel=0.2)
    if values == "unit":
        assert set(np.abs(sizes)) == {2.0}


@pytest.mark.parametrize(("features", "own"), [(3, 2), (0, 4)])
def test_truths_with_features_of_every_arm_alone(features, own):
    truth = SparseTruth(features=features, own=own, scale=0.5)
    scenario = eq.GaussianScenario([1.0] * 5, dim=40, budget=60, truth=truth)
    for trial in range(20):
        active = drawn(scenario, 3, trial).coefs[0] != 0.0
        assert active.sum(axis=1).tolist() == [features + own] * 5
        assert np.bincount(active.sum(axis=0), minlength=6)[[1, 5]].tolist() == [5 * own, features]
    assert eq.Scenario.from_dict(scenario.to_dict()) == scenario
    assert scenario.to_dict()["truth"]["own"] == own
    # What arms share is drawn as it is without features of their own.
    shared = eq.GaussianScenario(
        [1.0] * 5, dim=40, budget=60, truth=SparseTruth(features=features, scale=0.5)
    )
    both, alone = (drawn(each, 3, 7).coefs[0] for each in (scenario, shared))
    np.testing.assert_array_equal(np.where(alone != 0.0, both, 0.0), alone)
    with pytest.raises(InvalidScenario, match="features that matter are more than the 40"):
        eq.GaussianScenario([1.0] * 5, dim=40, budget=60, truth=SparseTruth(features=1, own=8))


def test_every_policy_meets_the_same_truth():
    scenario = sparse_scenario(budget=200)
    result = eq.simulate(scenario, ["uniform", "trace-ucb", "sparse-oracle"], trials=40, seed=2)
    # All features take 18 coefficients, three take 3: errors in proportion, one that no chance explains.
    assert result["sparse-oracle"].mean().value < 0.4 * result["uniform"].mean().value
    assert np.all(result["uniform"].ledger.support == -1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"truth": SparseTruth(features=19)}, "19 features that matter are more than the 18"),
        ({"coef": np.zeros((4, 18))}, "either given or drawn"),
        ({"truth": "sparse"}, "truth='sparse' is not a piece"),
    ],
)
def test_refuses_scenarios(changes, message):
    with pytest.raises(InvalidScenario, match=message):
        sparse_scenario(**changes)


@pytest.mark.parametrize(
    "values",
    [
        {"features": -1},
        {"features": 2.0},
        {"features": 2, "overlap": 1.5},
        {"features": 2, "scale": 0.0},
        {"features": 2, "own": -1},
        {"features": 2, "values": "many"},
    ],
)
def test_refuses_truths(values):
    with pytest.raises(InvalidScenario):
        SparseTruth(**values)


def test_scenarios_travel_as_toml():
    scenario = sparse_scenario(truth=SparseTruth(features=2, overlap=0.5, values="normal"))
    assert eq.Scenario.from_toml(scenario.to_toml()) == scenario
    assert scenario.to_dict()["truth"]["kind"] == "sparse"


def test_small_budgets_and_what_can_run_on_them():
    scenario = eq.GaussianScenario([1.0] * 4, dim=100, budget=120, truth=SparseTruth(features=2))
    result = eq.simulate(scenario, ["uniform", "sparse-trace-ucb"], trials=2, seed=1)
    assert result["sparse-trace-ucb"].expected_max().value < result["uniform"].expected_max().value
    with pytest.raises(BudgetTooSmall, match="trace-ucb needs a budget of at least"):
        eq.simulate(scenario, ["trace-ucb"], trials=2)
    with pytest.raises(BudgetTooSmall, match="31 units an arm"):
        eq.simulate(scenario, ["sparse-trace-ucb:screen=31"], trials=2)
    with pytest.raises(InvalidPolicy):
        eq.simulate(scenario, ["sparse-trace-ucb:sparsity=101"], trials=2)


# What it must be worth

SETTING = {"noise": [1.0] * 10, "dim": 500, "truth": SparseTruth(features=8)}


@pytest.mark.parametrize(
    "spec", ["sparse-trace-ucb:screen=60:sparsity=8", "sparse-trace-ucb:screen=60:shared=true"]
)
def test_support_is_recovered_in_95_of_100_trials(spec):
    # At the 100 % that longer runs find, it cannot fail; at 95 % it would do so in 35 of 100 seeds.
    scenario = eq.GaussianScenario(budget=700, **SETTING)
    result = eq.simulate(scenario, [spec], trials=60, seed=2)[spec]
    assert result.recovery().value >= 0.95


def test_partial_recovery_is_graceful():
    # 12 outcomes an arm are too few for 8 of 500 features, 17 are not always enough.
    scenario = eq.GaussianScenario(budget=700, **SETTING)
    specs = ["sparse-trace-ucb:screen=12:shared=true", "sparse-trace-ucb:screen=17:shared=true"]
    few, more = eq.simulate(scenario, specs, trials=20, seed=2).policies.values()
    assert few.recovery().value < 0.2 < more.recovery().value < 1.0
    assert np.all(np.isfinite(few.errors))
    assert np.all(np.isfinite(more.errors))
    assert more.coverage().value > 0.8


@pytest.mark.slow
def test_worst_errors_at_3000_units():
    # Measured: 0.21 of the lasso's and 1.3 of the oracle's, with standard errors of 2 % and 3 %.
    scenario = eq.GaussianScenario(budget=3000, **SETTING)
    sparse = "sparse-trace-ucb:screen=60:shared=true"
    result = eq.simulate(scenario, [sparse, "sparse-oracle"], trials=300, seed=5)
    lasso = eq.simulate(scenario, ["uniform-lasso"], trials=30, seed=5)["uniform-lasso"]
    for loss in ("expected_max", "median_max"):
        ours, oracle, theirs = (getattr(r, loss)().value for r in (*result.policies.values(), lasso))
        assert ours < 0.5 * theirs
        assert ours < 1.5 * oracle
    assert result[sparse].coverage().value == pytest.approx(0.95, abs=0.01)
