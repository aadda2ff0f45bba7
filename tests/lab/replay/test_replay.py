"""The whole of a replay: what comes out, what it is measured against, and tables that are difficult."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
from built_in import ONE_STAGE
from hypothesis import given, settings
from hypothesis import strategies as st

import equipoise as eq
from equipoise.lab.replay.saved import UniformCurve
from equipoise.lab.results.estimate import Estimate

# Targets are in one unit here.
replay = partial(eq.replay, scale="none")
POLICIES = ["uniform", "oracle", "trace-ucb"]


def people(rows=500, spread=(0.2, 1.0, 3.0), seed=5):
    rng = np.random.default_rng(seed)
    columns = {f"x{c}": rng.normal(size=rows) for c in range(3)}
    x = np.column_stack(list(columns.values()))
    for i, scale in enumerate(spread):
        columns[f"y{i}"] = 2.0 + x @ rng.normal(size=3) + scale * rng.normal(size=rows)
    return columns


TARGETS = ["y0", "y1", "y2"]


@pytest.fixture(scope="module")
def result():
    return replay(people(), POLICIES, targets=TARGETS, budget=60, trials=200, seed=3)


def test_losses_pulls_and_settings(result):
    table = result.losses()
    assert set(table.column("loss")) == {"expected_max", "median_max", "mean", "regret"}
    assert all(math.isfinite(value) for value in table.column("stderr"))
    assert [sum(estimate.value for estimate in policy.pulls()) for policy in result.policies.values()] == [
        pytest.approx(60)
    ] * 3
    assert result.table.noise == pytest.approx([0.04, 1.0, 9.0], rel=0.2)
    found = result.record()
    assert found["scenario"]["table"] == "dictionary"
    assert found["scenario"]["digest"] == eq.as_table(people(), targets=TARGETS).digest
    assert (found["trials"], found["seed"], found["version"]) == (200, 3, eq.__version__)
    keys = {"expected_max", "median_max", "mean", "regret", "pulls", "decisions_per_second", "targets"}
    keys |= {"units", "errors", "difference"}
    assert set(found["policies"]["uniform"]) == keys
    assert found["policies"]["trace-ucb"]["units_saved"]["value"] > 0


def test_the_oracle_is_told_the_residual_variance(result):
    units = [estimate.value for estimate in result["oracle"].pulls()]
    expected = eq.theory.optimal_allocation(noise=result.table.noise, dim=4, budget=60)
    assert units == expected.tolist()


def test_adaptive_allocation_pays_on_unequal_noise():
    found = replay(
        people(), ["uniform", "trace-ucb"], targets=TARGETS, budget=60, trials=1_000, seed=3, saved=False
    )
    difference = found.difference("trace-ucb", "uniform", "median_max")
    # About 14 standard errors below zero: 6 are reached by chance but once in 10⁸ seeds.
    assert difference.value < -6 * difference.stderr


def test_saved_units_are_what_uniform_needs(result):
    """Uniform sampling, given the units that were saved on top, reaches the policy's loss."""
    saved = result.saved["trace-ucb"]
    more = replay(
        people(), ["uniform"], targets=TARGETS, budget=round(saved.uniform_budget.value), trials=200, seed=3
    )
    reached, own = more["uniform"].median_max(), result["trace-ucb"].median_max()
    # Two medians and an interpolation, fixed seed: 4 standard errors.
    assert abs(reached.value - own.value) < 4 * math.hypot(reached.stderr, own.stderr)
    low, high = saved.interval
    assert 0 < low < saved.saved.value < high


def test_saving_and_loading(result, tmp_path):
    result.save(tmp_path / "kept.npz")
    kept = eq.ReplayResult.load(tmp_path / "kept.npz")
    assert kept.table == result.table
    assert str(kept.losses()) == str(result.losses())
    assert (kept.saved, kept.unsaved, kept.file) == (result.saved, None, None)
    assert kept.reading == {"contexts": ["x0", "x1", "x2"], "targets": TARGETS}
    assert kept.record() == result.record()


def test_a_file_of_the_other_kind_is_refused_by_name(result, tmp_path):
    result.save(tmp_path / "replay.npz")
    with pytest.raises(eq.errors.InvalidArgument, match="holds a replay") as error:
        eq.SimulationResult.load(tmp_path / "replay.npz")
    assert "eq.ReplayResult.load" in error.value.hint
    scenario = eq.GaussianScenario(noise=[1.0], dim=1, budget=5)
    eq.simulate(scenario, ["uniform"], trials=2).save(tmp_path / "simulation.npz")
    with pytest.raises(eq.errors.InvalidArgument, match="holds a simulation"):
        eq.ReplayResult.load(tmp_path / "simulation.npz")


def test_several_budgets_share_their_trials(result):
    both = replay(people(), POLICIES, targets=TARGETS, budget=[40, 60], trials=200, seed=3)
    assert [one.table.budget for one in both] == [40, 60]
    np.testing.assert_array_equal(both[1]["trace-ucb"].errors, result["trace-ucb"].errors)
    assert both[1].saved == result.saved


@pytest.mark.parametrize(
    ("arguments", "kind", "says"),
    [
        ({"budget": 500}, eq.errors.BudgetTooLarge, "none of the table's 500 rows"),
        ({"budget": 14}, eq.errors.BudgetTooSmall, r"m\(d\+1\) = 15, not 14"),
        ({"budget": 0}, eq.errors.InvalidArgument, "budget=0"),
        ({"budget": 60, "moment": "known"}, eq.errors.InvalidArgument, "moment='known'"),
        ({"budget": 60, "center": "mean"}, eq.errors.InvalidArgument, "center='mean'"),
        ({"budget": 60, "weights": {"y9": 1.0}}, eq.errors.UnknownArm, "y9"),
        ({"budget": 60, "objective": 0.5}, eq.EquipoiseError, "objective"),
        ({"budget": 60, "trials": 0}, eq.errors.InvalidArgument, "trials=0"),
    ],
)
def test_refusals(arguments, kind, says):
    with pytest.raises(kind, match=says):
        replay(people(), ["uniform", "trace-ucb"], targets=TARGETS, **arguments)


def test_static_policies_run_below_the_smallest_budget():
    found = replay(people(), ["uniform", "oracle"], targets=TARGETS, budget=10, trials=20)
    assert found.saved == {}
    assert np.isfinite(found["uniform"].errors).all()


# Difficult tables


def difficult(kind):
    rng = np.random.default_rng(8)
    columns = people(rows=400)
    if kind == "duplicate column":
        columns["x3"] = columns["x0"] * 2.0 + 1.0
    elif kind == "one-hot":
        codes = rng.integers(0, 4, 400)
        columns |= {f"x{3 + c}": (codes == c) * 1.0 for c in range(4)}
    elif kind == "ratings with ties":
        columns = {name: np.rint(values) for name, values in columns.items()}
    elif kind == "constant target":
        columns["y1"] = np.full(400, 0.1)
    elif kind == "constant targets":
        columns |= {name: np.full(400, 7.3) for name in TARGETS}
    elif kind == "rare column":
        columns["x3"] = (np.arange(400) < 3) * 1.0
    elif kind == "large numbers":
        columns["x3"] = 1.7e9 + 1e4 * rng.normal(size=400)
        columns["y1"] = 1e8 + 1e3 * rng.normal(size=400)
    return columns


@pytest.mark.parametrize("moment", ["table", "online"])
@pytest.mark.parametrize(
    "kind",
    [
        *("duplicate column", "one-hot", "ratings with ties", "constant target", "constant targets"),
        *("rare column", "large numbers"),
    ],
)
def test_difficult_tables(kind, moment):
    columns = difficult(kind)
    found = replay(columns, list(ONE_STAGE), targets=TARGETS, budget=120, trials=20, moment=moment)
    for policy in found.policies.values():
        assert np.isfinite(policy.errors).all()
        assert (policy.errors >= 0).all()
        assert (policy.ledger.counts.sum(axis=1) == 120).all()
    redundant = {"duplicate column": ("x3",), "one-hot": ("x6",)}.get(kind, ())
    assert found.table.redundant == redundant
    if kind.startswith("constant target"):
        # The intercept is shrunk by 1/n, and a constant has no noise to speak against that.
        assert found["uniform"].errors[:, 1].max() < 1e-8


def test_a_redundant_column_changes_nothing():
    plain = replay(people(), ["trace-ucb"], targets=TARGETS, budget=60, trials=20, saved=False)
    columns = people() | {"x3": people()["x1"] - 3.0 * people()["x0"]}
    more = replay(columns, ["trace-ucb"], targets=TARGETS, budget=60, trials=20, saved=False)
    assert more.table.redundant == ("x3",)
    np.testing.assert_array_equal(more["trace-ucb"].errors, plain["trace-ucb"].errors)


@settings(max_examples=25)
@given(
    seed=st.integers(0, 2**32),
    scale=st.sampled_from([1e-3, 1.0, 1e3]),
    moment=st.sampled_from(["table", "online"]),
)
def test_units_of_the_outcome_do_not_matter(seed, scale, moment):
    columns = people(rows=120, seed=seed)
    other = {name: values * (scale if name in TARGETS else 1.0) for name, values in columns.items()}
    one, two = (
        replay(data, ["trace-ucb"], targets=TARGETS, budget=40, trials=3, moment=moment, saved=False)
        for data in (columns, other)
    )
    np.testing.assert_array_equal(one["trace-ucb"].ledger.counts, two["trace-ucb"].ledger.counts)
    np.testing.assert_allclose(two["trace-ucb"].errors, one["trace-ucb"].errors * scale**2, rtol=1e-6)


# Units saved


def curve_of(power=-1.0, rows=10_000, least=10, stderr=0.0):
    return UniformCurve(lambda n: Estimate(100.0 * n**power, stderr, 50), "mean", rows, least)


@given(
    budget=st.integers(100, 1000),
    factor=st.floats(0.3, 5.0),
    power=st.floats(-2.0, -0.3),
)
def test_powers_of_the_budget_are_found_exactly(budget, factor, power):
    curve = curve_of(power)
    saved = curve.saved(budget, Estimate(100.0 * (budget * factor) ** power, 0.0, 50))
    assert saved.limit is None
    assert saved.uniform_budget.value == pytest.approx(budget * factor, rel=1e-9)
    assert saved.worse == (factor < 1.0)


def test_the_error_of_units_saved():
    saved = curve_of(stderr=0.0).saved(200, Estimate(0.25, 0.01, 50))
    # 4 % of the loss is 4 % of the budget where the loss falls as 1/n.
    assert saved.uniform_budget.value == pytest.approx(400)
    assert saved.uniform_budget.stderr == pytest.approx(16)
    assert saved.interval == pytest.approx((168, 232))
    assert str(saved) == "200 ± 16"


def test_a_table_that_is_too_small_to_tell():
    saved = curve_of(rows=400).saved(200, Estimate(0.01, 0.001, 50))
    assert (saved.limit, saved.worse) == (360, False)
    assert str(saved) == "more than 160: the table is too small to tell"
    assert saved.record()["value"] is None


def test_a_policy_that_is_far_worse():
    saved = curve_of(least=100).saved(200, Estimate(50.0, 1.0, 50))
    assert (saved.limit, saved.worse) == (100, True)
    assert str(saved) == "none: uniform needs fewer than 100"


def test_exact_targets_have_no_logarithm():
    zero = UniformCurve(lambda n: Estimate(0.0, 0.0, 5), "mean", 1000, 10)
    assert zero.saved(100, Estimate(0.0, 0.0, 5)).saved.value == 0
    falling = UniformCurve(lambda n: Estimate(max(0.0, 150.0 - n), 0.0, 5), "mean", 1000, 10)
    found = falling.saved(100, Estimate(0.0, 0.0, 5))
    assert (found.limit, found.worse) == (None, False)
    assert 150 <= found.uniform_budget.value <= 200  # from 150 units on uniform sampling is exact, too
