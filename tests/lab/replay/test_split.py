"""Groups stay together, the past comes before the future, and errors are those of a plain computation."""

from __future__ import annotations

import numpy as np
import pytest
from single_trials import ReplayedTrials

import equipoise as eq
from equipoise.lab.replay.arena import new_arena

SIZES = (40, 3, 3, 2, 7, 5, 1, 9, 11, 19)


def people(**asked):
    rng = np.random.default_rng(7)
    rows = sum(SIZES)
    who = rng.permutation(np.repeat(np.arange(len(SIZES)), SIZES))
    x = rng.normal(size=(rows, 2))
    y = x @ rng.normal(size=(2, 2)) + rng.normal(size=(rows, 2)) * [0.3, 1.0] + 4.0
    when = rng.integers(0, 60, rows)
    data = {"x0": x[:, 0], "x1": x[:, 1], "who": who, "when": when, "a": y[:, 0], "b": y[:, 1]}
    return eq.as_table(data, contexts=["x0", "x1"], targets=["a", "b"], **asked)


def dealt(table, budget, trials):
    """The rows that every trial reads, and those it judges on."""
    trial = ReplayedTrials(new_arena(table, budget), eq.Uniform(), 9)
    for number in range(trials):
        trial.run(number)
        yield trial.dealt.copy(), trial.rows.judged[0, : trial.rows.judged_count[0]].copy()


@pytest.mark.parametrize(
    "asked", [{"group": "who"}, {"order": "when"}, {"group": "who", "order": "when"}], ids=str
)
def test_nothing_is_on_both_sides(asked):
    table = people(**asked)
    first = np.array([np.flatnonzero(table.labels == label)[0] for label in range(table.labels.max() + 1)])
    for read, judged in dealt(table, 30, 40):
        assert len(set(read.tolist())) == 30
        assert not set(table.labels[read]) & set(table.labels[judged])
        assert len(judged) > 0
        if "order" in asked:
            assert (np.diff(read) > 0).all()  # the table is in the order of time
            assert first[table.labels[read]].max() < first[table.labels[judged]].min()
            assert len(judged) <= table.rows / 2


def test_every_group_is_judged_on_sometimes_and_every_row_read():
    table = people(group="who")
    read, judged = map(np.concatenate, zip(*dealt(table, 30, 200), strict=True))
    assert set(read.tolist()) == set(judged.tolist()) == set(range(table.rows))


@pytest.mark.parametrize("asked", [{"group": "who"}, {"order": "when"}], ids=str)
def test_small_budgets_read_rows_of_large_ones(asked):
    table = people(**asked)
    small, large, largest = (list(dealt(table, budget, 5)) for budget in (10, 40, 60))
    for (few, judged), (more, same), (most, _) in zip(small, large, largest, strict=True):
        assert set(few) <= set(more) <= set(most)
        assert sorted(judged) == sorted(same)  # on the same rows, up to half of the table
        if "group" in asked:
            assert (more[:10] == few).all()


@pytest.mark.parametrize("center", ["intercept", "none"])
def test_errors_are_those_of_a_plain_computation(center):
    table = people(group="who")
    arena = new_arena(table, 40, center=center, estimator="ridge")
    trial = ReplayedTrials(arena, eq.Uniform(), 2)
    ledger = trial.run(3)
    judged = trial.rows.judged[0, : trial.rows.judged_count[0]]
    x = table.contexts - arena.fit.shift
    x = np.column_stack([np.ones(len(x)), x]) if center == "intercept" else x
    for i in range(2):
        mine = trial.state.rows["arm"] == i
        y = table.targets[:, i] - trial.rows.origin[i]
        own = x[trial.dealt[mine]]
        coef = np.linalg.solve(own.T @ own + np.eye(x.shape[1]) / 40, own.T @ y[trial.dealt[mine]])
        assert ledger.errors[0, i] == pytest.approx(np.mean((y[judged] - x[judged] @ coef) ** 2), rel=1e-9)


def test_budgets_leave_a_group_to_judge_on():
    grouped, ordered = people(group="who"), people(order="when")
    last = int(np.count_nonzero(ordered.labels == ordered.labels.max()))
    for table, most in ((grouped, 100 - 40), (ordered, 100 - last)):
        for _, judged in dealt(table, most, 20):
            assert len(judged) > 0
        with pytest.raises(eq.errors.BudgetTooLarge, match="to measure errors on") as refused:
            new_arena(table, most + 1)
        assert f"at most {most}" in refused.value.hint


def test_what_is_said_and_kept():
    found = eq.replay(people(group="who"), ["uniform"], budget=30, trials=3)
    assert found.table.group == "who"
    assert "'who' stay together" in found.table.split_words
    assert found.record()["scenario"]["group"] == "who"
    ordered = eq.replay(people(order="when"), ["uniform", "oracle"], budget=30, trials=20)
    assert "by 'when', in that order" in ordered.table.split_words
    assert ordered.saved["oracle"].uniform_budget.value <= 100


def test_features_have_the_columns_names():
    arena = new_arena(people(group="who"), 30)
    assert arena.problem().feature_names == arena.scenario.feature_names == ("1", "x0", "x1")
    assert new_arena(people(), 30, center="table").problem().feature_names == ("x0", "x1")
    rows = np.random.default_rng(1).normal(size=(20, 3))
    by_place = new_arena(eq.as_table(rows, targets=[2]), 9)
    assert by_place.problem().feature_names == ("(intercept)", "0", "1")


def test_groups_that_share_something_are_harder():
    """What was learned about a group by name is worth nothing for the others, and only a split shows it."""
    rng = np.random.default_rng(1)
    place = np.repeat(np.arange(6), 50)
    data = {"site": np.array(list("abcdef"))[place], "x": rng.normal(size=300)}
    data |= {name: 2.0 * rng.normal(size=6)[place] + 0.3 * rng.normal(size=300) for name in ("a", "b")}
    settings = {"contexts": ["site", "x"], "targets": ["a", "b"], "one_hot": True, "scale": "none"}
    settings |= {"budget": 60, "trials": 20, "seed": 1, "saved": False}
    apart = eq.replay(data, ["uniform"], group="site", **settings)["uniform"].mean()
    mixed = eq.replay(data, ["uniform"], **settings)["uniform"].mean()
    assert mixed.value < 0.2  # near the noise, 0.09
    assert apart.value > 1.0  # sites differ by a variance of 4
