import dataclasses

import pytest

import equipoise as eq
from equipoise.studies.leaderboard import (
    BAR_POLICIES,
    SUITE,
    bar_record,
    check_bar,
    run_leaderboard,
    write_bar,
)
from equipoise.studies.leaderboard.markdown import bar_table
from equipoise.studies.losses import Losses
from equipoise.studies.verdicts import FEWEST_TRIALS

UNEQUAL = (0.01, 0.02, 0.75, 1.0, 2.0, 2.0, 3.0)


@pytest.fixture(scope="module")
def board():
    names = ["equal-d40-n350", "unequal-d40-n350", "unequal-d20-n350", "mean-objective"]
    return run_leaderboard(names, policies=BAR_POLICIES, trials=6, seed=2)


def with_losses(board, gain, oracle, published):
    """The same board with given losses everywhere, without errors."""
    values = dict(zip(BAR_POLICIES, (oracle, published, gain), strict=True))
    none = ((0.0,) * 3,) * 3
    rows = [
        dataclasses.replace(row, losses=dict.fromkeys(row.entry.losses, Losses(values, none)))
        for row in board.rows
    ]
    return dataclasses.replace(board, rows=tuple(rows), trials=FEWEST_TRIALS)


def test_limits(board):
    limits = {
        name: {(limit.loss, limit.reference): limit.most for limit in found}
        for name, found in check_bar(board).items()
    }
    for name, most in (("equal-d40-n350", 1.0), ("unequal-d40-n350", 1.05), ("unequal-d20-n350", 1.0)):
        assert limits[name] == {
            ("expected_max", "oracle"): most,
            ("median_max", "oracle"): 0.95,
            ("expected_max", "trace-ucb"): 1.0,
            ("median_max", "trace-ucb"): 1.0,
        }
    blind = dataclasses.replace(board.rows[0], entry=next(e for e in SUITE if e.name == "intercept-only"))
    found = check_bar(dataclasses.replace(board, rows=(blind,)))["intercept-only"]
    assert {(limit.reference, limit.most) for limit in found} == {("trace-ucb", 1.01)}
    # Off the paper the oracle's allocation is not optimal, so it is no yardstick.
    assert limits["mean-objective"] == {("mean", "trace-ucb"): 1.0, ("median_mean", "trace-ucb"): 1.0}


def test_limits_between_the_starts_budget_and_twice_that():
    relaxed = [
        entry.name
        for entry in SUITE
        if entry.group == "paper"
        and entry.scenario.noise == UNEQUAL
        and entry.scenario.budget < 14 * (entry.scenario.dim + 1)
    ]
    assert relaxed == ["unequal-d30-n350", "unequal-d40-n350", "unequal-d10-n115", "unequal-d10-n150"]


@pytest.mark.parametrize(
    ("gain", "oracle", "published", "missed"),
    [
        (0.9, 1.0, 1.0, 0),
        (0.96, 1.0, 1.0, 3),  # median against the oracle, in three scenarios of the paper
        (1.04, 1.0, 1.1, 5),  # and the mean in two
        (0.9, 1.0, 0.8, 8),  # everything against trace-ucb
    ],
)
def test_what_is_missed_is_counted_and_marked(board, gain, oracle, published, missed):
    changed = with_losses(board, gain, oracle, published)
    found = [limit.met for limits in check_bar(changed).values() for limit in limits]
    assert found.count(False) == missed
    assert bar_record(changed)["met"] == (missed == 0)
    table = bar_table(changed)
    assert ("**no**" in table) == (missed > 0)
    assert ("All limits are met." if missed == 0 else f"Limits missed: {missed}.") in table


def test_files(board, tmp_path):
    table, record = write_bar(board, tmp_path)
    assert (table.name, record.name) == ("bar.md", "bar.json")
    assert "seed 2 · 6 trials" in table.read_text()


@pytest.mark.parametrize("noise", [(1.0,) * 7, UNEQUAL], ids=["equal", "unequal"])
def test_trace_gain_beats_the_noise_knowing_oracle(noise):
    # The ratio is 0.84 or 0.88 with a standard error below 0.015 at 1,000 trials: above 1 would be 8 of
    # them, less than once in 10¹⁴ seeds.
    scenario = eq.GaussianScenario(noise, dim=10, budget=350)
    result = eq.simulate(scenario, ["oracle", "trace-gain"], trials=1_000, seed=11)
    assert result["trace-gain"].median_max().value < result["oracle"].median_max().value


@pytest.mark.slow
@pytest.mark.parametrize("group", ["paper", "robustness"])
def test_the_bar(group):
    # A policy exactly at one of 100 limits would be 4 standard errors above it in 3 of 100,000 seeds: less
    # than once in 300 runs at 100 limits, and trace-gain is below all of them.
    board = run_leaderboard([group], policies=BAR_POLICIES, trials=4_000, seed=12)
    missed = [
        (name, limit)
        for name, limits in check_bar(board).items()
        for limit in limits
        if limit.ratio - 4.0 * limit.stderr > limit.most
    ]
    assert missed == []
