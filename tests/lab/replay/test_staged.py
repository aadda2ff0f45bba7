"""Replays of policies that choose features: the arms and models of Experiment on the same rows."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from single_trials import ReplayedTrials

import equipoise as eq
from equipoise.core.stages.fresh import number_trial
from equipoise.errors import InvalidPolicy, SupportWarning
from equipoise.lab.replay.arena import new_arena
from equipoise.lab.replay.table import ReplayTable
from equipoise.lab.running.simulate import run_policies

SETTINGS = [("table", "intercept"), ("online", "intercept"), ("table", "table"), ("online", "none")]
SPECS = [
    "sparse-trace-ucb:screen=15:sparsity=4",
    "sparse-trace-ucb:screen=15:reuse=true:look=true:refresh=2",
    "sparse-trace-ucb:support=0,2,5",
    "sparse-oracle:support=0,2,5",
    "uniform-lasso",
]


def table(rows=400, dim=14, arms=3, seed=3) -> ReplayTable:
    """Targets that depend on two columns of many."""
    rng = np.random.default_rng(seed)
    contexts = np.rint(2 * rng.normal(size=(rows, dim)))
    slopes = np.zeros((dim, arms))
    slopes[[2, 9]] = rng.choice([-1.0, 1.0], size=(2, arms))
    targets = 1 + contexts @ slopes + rng.normal(size=(rows, arms)) * np.linspace(0.3, 2.0, arms)
    names = [f"x{c}" for c in range(dim)], [f"y{i}" for i in range(arms)]
    return ReplayTable("wide", contexts, targets, tuple(names[0]), tuple(names[1]))


@pytest.mark.parametrize(("moment", "center"), SETTINGS)
@pytest.mark.parametrize("spec", SPECS)
def test_the_same_bits_as_experiment(spec, moment, center):
    arena = new_arena(table(), 150, moment=moment, center=center, estimator="ridge")
    bench = ReplayedTrials(arena, eq.parse_policy(spec), 11)
    ledger, stage, dealt = bench.run(5), bench.stage, bench.dealt
    targets = arena.rows.targets - (arena.fit.target_shift if center == "table" else 0.0)
    experiment = eq.Experiment(arena.problem(), bench.policy, seed=11)
    number_trial(experiment._state, experiment.problem, 5)
    first: dict[int, float] = {}
    for t, row in enumerate(dealt):
        unit = experiment.ask(bench.contexts[t])
        i = experiment.problem.index(unit.arm)
        assert i == stage.state.rows["arm"][t], f"unit {t + 1}"
        if center == "intercept" and i not in first:
            first[i] = targets[row, i]
            targets = targets.copy()
            targets[:, i] -= first[i]
        experiment.tell(unit.id, targets[row, i])
    assert ledger.counts[0].tolist() == list(experiment.counts.values())
    held_out = np.setdiff1d(np.arange(400), dealt)
    contexts = arena.rows.contexts - (0.0 if center == "none" else arena.fit.shift)
    if center == "intercept":
        contexts = np.column_stack([np.ones(400), contexts])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SupportWarning)
        estimates = experiment.estimates(estimator="ridge")
    for i, arm in enumerate(estimates):
        expected = np.mean((targets[held_out, i] - contexts[held_out] @ arm.coef) ** 2)
        assert ledger.errors[0, i] == pytest.approx(expected, rel=1e-8)


def test_trials_leave_the_deck_as_it_was():
    arena = new_arena(table(), 150)
    policy = eq.parse_policy(SPECS[0])
    whole = run_policies(arena, [policy], trials=6, seed=2)[policy.spec].ledger
    bench = ReplayedTrials(arena, policy, 2)
    np.testing.assert_array_equal(whole.errors[4], bench.run(4).errors[0])
    np.testing.assert_array_equal(bench.rows.order, np.arange(400))


def test_few_columns_pay_where_few_matter():
    found = eq.replay(
        dict(zip(table().context_names, table().contexts.T, strict=True))
        | dict(zip(table().target_names, table().targets.T, strict=True)),
        ["trace-ucb", "sparse-trace-ucb"],
        targets=list(table().target_names),
        budget=120,
        trials=40,
        seed=1,
    )
    assert found["sparse-trace-ucb"].expected_max().value < 0.9 * found["trace-ucb"].expected_max().value
    # Which columns matter in a real table nobody knows.
    assert not found["sparse-trace-ucb"].chooses_features


def test_the_oracle_must_be_told_the_features():
    arena = new_arena(table(), 150)
    with pytest.raises(InvalidPolicy, match="must be told the features"):
        ReplayedTrials(arena, eq.SparseOracle(), 2)
