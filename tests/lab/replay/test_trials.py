"""Replayed trials: the arms that Experiment picks, and errors that a plain computation finds too."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest
from built_in import ONE_STAGE_OF_EACH_KIND
from single_trials import ReplayedTrials

import equipoise as eq
from equipoise.core.stages.fresh import number_trial
from equipoise.lab.replay.arena import new_arena
from equipoise.lab.replay.rows import deal
from equipoise.lab.replay.table import ReplayTable
from equipoise.lab.running import simulate as running
from equipoise.lab.running.simulate import run_policies

# Ratings are made up, and not linear.
pytestmark = pytest.mark.filterwarnings("ignore::equipoise.errors.FitWarning")

SPECS = list(ONE_STAGE_OF_EACH_KIND)
SETTINGS = [("table", "intercept"), ("online", "intercept"), ("table", "table"), ("online", "none")]


def ratings(rows=300, dim=4, arms=3, seed=3) -> ReplayTable:
    """Whole numbers with a mean, correlated and full of ties, as people's ratings are."""
    rng = np.random.default_rng(seed)
    taste = rng.normal(size=(rows, 2))
    contexts = np.clip(np.rint(5 + taste @ rng.normal(size=(2, dim)) + rng.normal(size=(rows, dim))), 1, 9)
    spread = np.linspace(0.3, 3.0, arms)
    targets = 3 + contexts @ rng.normal(size=(dim, arms)) + rng.normal(size=(rows, arms)) * spread
    names = [f"x{c}" for c in range(dim)], [f"y{i}" for i in range(arms)]
    return ReplayTable("ratings", contexts, targets, tuple(names[0]), tuple(names[1]))


@pytest.mark.parametrize(("moment", "center"), SETTINGS)
@pytest.mark.parametrize("spec", SPECS)
def test_the_same_bits_as_experiment(spec, moment, center):
    """Same rows: the same arms; and held-out errors of the very models that Experiment reports."""
    table = ratings()
    arena = new_arena(
        table,
        90,
        moment=moment,
        center=center,
        estimator="ridge",
        objective="mean",
        weights={"y1": 2.0, "y2": 0.5},
    )
    policy = eq.parse_policy(spec)
    bench = ReplayedTrials(arena, policy, seed=11)
    ledger, dealt = bench.run(5), bench.dealt
    assert len(set(dealt.tolist())) == 90
    contexts, targets = plain_columns(table, arena, center)
    experiment = eq.Experiment(arena.problem(), policy.informed(arena.noise), seed=11)
    number_trial(experiment._state, experiment.problem, 5)
    targets, first = targets.copy(), {}
    for t, row in enumerate(dealt):
        np.testing.assert_array_equal(bench.state.contexts[t], contexts[row])
        assignment = experiment.ask(contexts[row])
        i = experiment.problem.index(assignment.arm)
        assert i == bench.state.rows["arm"][t], f"unit {t + 1}"
        if center == "intercept" and i not in first:
            first[i] = targets[row, i]
            targets[:, i] -= first[i]
        experiment.tell(assignment.id, targets[row, i])
    assert ledger.counts[0].tolist() == list(experiment.counts.values())
    np.testing.assert_array_equal(bench.state.coefs, experiment._state.coefs)
    held_out = np.setdiff1d(np.arange(table.rows), dealt)
    for i, arm in enumerate(experiment.estimates(estimator="ridge")):
        expected = np.mean((targets[held_out, i] - contexts[held_out] @ arm.coef) ** 2)
        assert ledger.errors[0, i] == pytest.approx(expected, rel=1e-9)


def plain_columns(table, arena, center):
    """Contexts and targets as the policy meets them, by the definition of the setting."""
    if center == "none":
        return table.contexts, table.targets
    contexts = table.contexts - arena.fit.shift
    np.testing.assert_allclose(arena.fit.shift, table.contexts.mean(axis=0), rtol=1e-12)
    if center == "table":
        return contexts, table.targets - arena.fit.target_shift
    return np.column_stack([np.ones(table.rows), contexts]), table.targets


@pytest.mark.parametrize("offset", [1e6, -1e8])
def test_precise_where_numbers_are_large_and_differences_small(offset):
    """Errors come from sums over the whole table; offsets far above the spread must not drown them."""
    plain = ratings()
    moved = ReplayTable(
        "moved", plain.contexts + offset, plain.targets - offset, plain.context_names, plain.target_names
    )
    found = [
        run_policies(new_arena(table, 100, estimator="ridge"), ["uniform"], trials=20, seed=2)[
            "uniform"
        ].ledger.errors
        for table in (plain, moved)
    ]
    np.testing.assert_allclose(found[1], found[0], rtol=1e-5)


@pytest.mark.parametrize("policy", ["trace-ucb", "var-ucb"])
@pytest.mark.parametrize("moment", ["table", "online"])
def test_where_numbers_start_does_not_matter_with_an_intercept(policy, moment):
    plain = ratings()
    moved = ReplayTable(
        "moved", plain.contexts + 64.0, plain.targets - 32.0, plain.context_names, plain.target_names
    )
    one, other = (
        run_policies(new_arena(table, 80, moment=moment, estimator="ridge"), [policy], trials=20, seed=2)[
            policy
        ].ledger
        for table in (plain, moved)
    )
    np.testing.assert_array_equal(other.counts, one.counts)
    np.testing.assert_allclose(other.errors, one.errors, rtol=1e-9)


def test_the_last_row_alone_measures():
    table = ratings(rows=40)
    arena = new_arena(table, 39, center="none", estimator="ridge")
    bench = ReplayedTrials(arena, eq.Uniform(), 0)
    ledger = bench.run(7)
    [row] = set(range(40)) - set(bench.dealt.tolist())
    for i in range(3):
        mine = bench.state.rows["arm"] == i
        x, y = bench.state.contexts[mine], bench.state.outcomes[mine]
        coef = np.linalg.solve(x.T @ x + np.eye(4) / 39, x.T @ y)
        assert ledger.errors[0, i] == pytest.approx((table.targets[row, i] - table.contexts[row] @ coef) ** 2)


def test_rows_are_dealt_fairly_and_the_deck_is_put_back():
    arena = new_arena(ratings(rows=12), 5)
    rows = ReplayedTrials(arena, eq.Uniform(), 4).rows
    counts = np.zeros((5, 12))
    trials, block = 12_000, len(rows.dealt)
    for first in range(0, trials, block):
        count = min(block, trials - first)
        deal(rows, 4, first, count)
        for dealt in rows.dealt[:count]:
            counts[np.arange(5), dealt] += 1
        assert (rows.order == np.arange(12)).all()
    # Every place meets every row equally often. 60 binomial counts, each within 6 standard errors:
    # fails by chance less than once in 10⁶ seeds, and the seed is fixed.
    expected = trials / 12
    assert np.abs(counts - expected).max() < 6 * np.sqrt(expected * (1 - 1 / 12))


def test_small_budgets_are_prefixes_of_large_ones():
    table = ratings()
    dealt = {}
    for budget in (20, 80):
        bench = ReplayedTrials(new_arena(table, budget), eq.Uniform(), 9)
        bench.run(3)
        dealt[budget] = bench.dealt
    assert (dealt[80][:20] == dealt[20]).all()


@pytest.mark.parametrize("chunk", [1, 7, 1000])
def test_workers_and_chunks_do_not_matter(chunk, monkeypatch):
    arena = new_arena(ratings(), 60)
    policies = ["uniform", "trace-ucb"]
    expected = run_policies(arena, policies, trials=30, seed=5, workers=1)
    monkeypatch.setattr(running, "_DECISIONS_A_CHUNK", chunk * 60)
    found = run_policies(arena, policies, trials=30, seed=5, workers=3)
    for name in policies:
        np.testing.assert_array_equal(found[name].ledger.errors, expected[name].ledger.errors)
        np.testing.assert_array_equal(found[name].ledger.counts, expected[name].ledger.counts)


def test_another_process_finds_the_same():
    arena = new_arena(ratings(), 60)
    expected = run_policies(arena, ["trace-ucb"], trials=10, seed=5)["trace-ucb"]
    with ProcessPoolExecutor(1) as pool:
        found = run_policies(arena, ["trace-ucb"], trials=10, seed=5, executor=pool)["trace-ucb"]
    np.testing.assert_array_equal(found.ledger.errors, expected.ledger.errors)


def test_an_interrupted_replay_goes_on(tmp_path):
    arena = new_arena(ratings(), 60)
    first = run_policies(arena, ["trace-ucb"], trials=10, seed=5, checkpoint=tmp_path)
    again = run_policies(arena, ["trace-ucb"], trials=10, seed=5, checkpoint=tmp_path)
    assert again["trace-ucb"].seconds == first["trace-ucb"].seconds  # kept, not run again
    other = new_arena(ratings(seed=4), 60)
    with pytest.raises(eq.errors.CheckpointMismatch, match="scenario"):
        run_policies(other, ["trace-ucb"], trials=10, seed=5, checkpoint=tmp_path)
