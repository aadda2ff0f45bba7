"""Policies that choose features: the stages of an experiment, unit by unit."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from inner_state import settle
from sparse_feed import DEVIATIONS, FEATURES, Feed, problem, quiet_estimates

import equipoise as eq
from equipoise.errors import (
    AssignmentClosed,
    OutcomeConflict,
    SupportWarning,
)


def test_screening_waits_for_outcomes_and_awaited_ones_count():
    feed = Feed(1)
    experiment = eq.Experiment(problem(), eq.SparseTraceUCB(screen=10, sparsity=3), seed=2)
    units = [experiment.ask(feed.contexts[t]) for t in range(45)]
    for unit in units[:30]:
        assert experiment.support is None
        experiment.tell(unit.id, feed.outcome(unit))
    assert experiment.support is None  # nothing changes until the next unit
    experiment.ask(feed.contexts[45])
    assert experiment.support == FEATURES
    # Fifteen outcomes have chosen nothing: they serve the second stage, when they come.
    state = experiment._state.arms
    assert state["set_aside"].tolist() == [10, 10, 10]
    assert int(state["pending"].sum()) == 16
    assert sum(experiment.counts.values()) == 46
    for unit in units[30:]:
        experiment.tell(unit.id, feed.outcome(unit))
    assert int(state["observed"].sum()) == 15
    assert len(experiment.data("a")[1]) == sum(unit.arm == "a" for unit in units)


def test_late_outcomes_are_not_waited_for_beyond_what_the_second_stage_needs():
    experiment = eq.Experiment(problem(budget=100), eq.SparseTraceUCB(screen=20, sparsity=3), seed=2)
    feed = Feed(1)
    units = [experiment.ask(feed.contexts[t]) for t in range(30)]
    for unit in units:
        experiment.tell(unit.id, feed.outcome(unit))
    while experiment.remaining > 12:  # s + 1 units for each of three arms
        experiment.ask(feed.contexts[experiment.asked])
        assert experiment.support is None
    experiment.ask(feed.contexts[experiment.asked])
    assert experiment.support == FEATURES


@pytest.mark.parametrize("more", ["sparsity=3", "shared=true"])
def test_without_outcomes_nothing_is_chosen_for_good(more):
    """All units first, all outcomes later: they choose the features when they come."""
    feed = Feed(1)
    experiment = eq.Experiment(problem(budget=150), f"sparse-trace-ucb:screen=20:{more}", seed=2)
    units = [experiment.ask(feed.contexts[t]) for t in range(150)]
    for unit in units:
        experiment.tell(unit.id, feed.outcome(unit))
    assert experiment.support is None
    estimates = experiment.estimates()
    assert estimates.support.columns == FEATURES
    assert not estimates.support.final
    assert estimates.objective < 0.2


@pytest.mark.parametrize("budget", [63, 66, 80])
def test_prompt_outcomes_are_never_cut_short(budget):
    feed = Feed(1)
    experiment = eq.Experiment(problem(budget=budget), eq.SparseTraceUCB(screen=20, shared=True), seed=2)
    feed.run(experiment)
    assert experiment._stage.screened == 60
    assert experiment.support == FEATURES[: len(experiment.support)]


def test_lost_units_are_replaced_in_the_first_stage():
    feed = Feed(1)
    experiment = eq.Experiment(problem(), eq.SparseTraceUCB(screen=10, sparsity=3), seed=2)
    while experiment.support is None:
        unit = experiment.ask(feed.contexts[experiment.asked])
        if experiment.support is None and unit.arm == "b" and unit.id % 2:
            experiment.lose(unit.id)
        else:
            experiment.tell(unit.id, feed.outcome(unit))
    assert experiment._state.arms["set_aside"].tolist() == [10, 10, 10]
    assert experiment.support == FEATURES


def test_units_that_have_chosen_features_can_be_told_again_corrected_and_withdrawn():
    feed = Feed(1)
    experiment = eq.Experiment(problem(), eq.SparseTraceUCB(screen=20, sparsity=3), seed=2)
    path = feed.run(experiment, units=120)
    known = experiment.data(path[0])
    value = float(known[1][0])
    experiment.tell(1, value)
    with pytest.raises(OutcomeConflict, match="already has outcome"):
        experiment.tell(1, value + 1.0)
    with pytest.raises(AssignmentClosed, match="already has an outcome"):
        experiment.lose(1)
    before = [arm.coef for arm in experiment.estimates()]
    experiment.correct(1, value + 1.0)
    assert experiment.data(path[0])[1][0] == value + 1.0
    for arm, coef in zip(experiment.estimates(), before, strict=True):
        np.testing.assert_array_equal(arm.coef, coef)
    counts = experiment.counts
    experiment.withdraw(1)
    assert experiment.counts[path[0]] == counts[path[0]] - 1
    assert len(experiment.data(path[0])[1]) == len(known[1]) - 1
    feed.run(experiment)
    assert experiment.asked == 240


def test_looking_early_changes_nothing():
    feed = Feed(1)
    experiment = eq.Experiment(problem(), eq.SparseTraceUCB(screen=20, sparsity=3), seed=2)
    twin = copy.deepcopy(experiment)
    for e in (experiment, twin):
        feed.run(e, units=50)
    settle(experiment)
    before = [array.tobytes() for array in experiment._state]
    early = experiment.estimates()
    assert before == [array.tobytes() for array in experiment._state]
    assert experiment.support is None
    assert early.support.columns == FEATURES
    assert not early.support.final
    assert early["a"].observed == experiment.counts["a"]
    assert feed.run(experiment) == feed.run(twin)
    assert experiment.estimates().support.final


@pytest.mark.parametrize("units", [0, 1, 5])
def test_estimates_of_next_to_nothing(units):
    feed = Feed(1)
    experiment = eq.Experiment(problem(), "sparse-trace-ucb", seed=2)
    feed.run(experiment, units=units)
    estimates = experiment.estimates()
    assert len(estimates) == 3
    assert all(np.all(np.isfinite(arm.coef)) for arm in estimates)


def test_refresh_finds_what_the_first_choice_missed():
    feed = Feed(4, scale=0.5)
    shared = "sparse-trace-ucb:screen=5:shared=true:reuse=true"
    specs = [shared, f"{shared}:refresh=1.5"]
    once, again = (eq.Experiment(problem(budget=400), spec, seed=2) for spec in specs)
    feed.run(once)
    feed.run(again)
    assert once.support != FEATURES
    assert again.support == FEATURES
    with pytest.warns(SupportWarning, match="features outside the support seem to matter"):
        missing = once.estimates()
    assert set(missing.support.suspects) <= set(FEATURES) - set(once.support)
    assert again.estimates().support.suspects == ()


def test_features_are_chosen_again_as_often_as_outcomes_have_grown():
    # Arms that do not choose count, too: 60 outcomes and three capped arms, growth by a quarter.
    rng = np.random.default_rng(1)
    names = ["a", "b", "c", "d", "e", "f"]
    caps = dict.fromkeys(names[:3], 4)
    small = eq.Problem(names, 12, budget=200, moment=np.eye(12), caps=caps, allow_small_budget=True)
    experiment = eq.Experiment(
        small, "sparse-trace-ucb:screen=20:shared=true:reuse=true:refresh=1.25", seed=2
    )
    choices = []
    while experiment.remaining:
        x = rng.normal(size=12)
        unit = experiment.ask(x)
        if experiment._stage.recovery is not None and experiment._stage.recovery not in choices:
            choices.append(experiment._stage.recovery)
        experiment.tell(unit.id, float(2 * x[0] + rng.normal()))
    # From 72 outcomes: 90, 113, 142, 178.
    assert len(choices) == 5


@pytest.mark.parametrize(
    "spec",
    [
        "sparse-trace-ucb:screen=15",
        "sparse-trace-ucb:screen=15:shared=true",
        "sparse-trace-ucb:screen=15:reuse=true:look=true",
        "sparse-trace-ucb:screen=15:reuse=false",
    ],
)
@pytest.mark.parametrize("half", [30, 90])
def test_pickled_half_way_it_goes_on_alike(spec, half):
    feed = Feed(1)
    experiment = eq.Experiment(problem(moment=None), spec, seed=2)
    feed.run(experiment, units=half)
    twin = pickle.loads(pickle.dumps(experiment))
    assert feed.run(twin) == feed.run(experiment)
    for one, other in zip(quiet_estimates(twin), quiet_estimates(experiment), strict=True):
        np.testing.assert_array_equal(one.coef, other.coef)


@pytest.mark.parametrize("look", [False, True])
def test_batches(look):
    feed = Feed(1, units=1300)
    policy = eq.SparseTraceUCB(screen=20, shared=True, look=look)
    experiment = eq.Experiment(problem(budget=1200), policy, seed=2)  # more rows than room at first
    while experiment.remaining:
        units = experiment.ask_many(feed.contexts[experiment.asked : experiment.asked + 40])
        for unit in units:
            t = unit.id - 1
            x = experiment._record.contexts[t]
            y = x @ feed.coefs[unit.arm] + feed.shocks[unit.arm][t]
            experiment.tell(unit.id, float(y))
    assert experiment.support == FEATURES
    assert sum(experiment.counts.values()) == 1200
    record = experiment._record
    np.testing.assert_array_equal(record.state.contexts[:1200], record.contexts[:1200][:, FEATURES])


@pytest.mark.slow
@pytest.mark.parametrize("look", [False, True])
def test_a_batch_across_the_choice_is_the_same_as_one_by_one(look):
    feed = Feed(1)
    policy = eq.SparseTraceUCB(screen=15, sparsity=3, look=look)
    together, alone = (eq.Experiment(problem(budget=120), policy, seed=2) for _ in range(2))
    for experiment in (together, alone):
        feed.run(experiment, units=30)  # ten outcomes an arm: the reserve will end the screening
    batch = together.ask_many(feed.contexts[30:120])
    single = [alone.ask(x) for x in feed.contexts[30:120]]
    assert together.support == alone.support == FEATURES
    if look:  # units are assigned in another order, each once, and in the end as evenly
        assert sorted(unit.id for unit in batch) == [unit.id for unit in single]
        assert [unit.id for unit in batch] != [unit.id for unit in single]
        assert sum(together.counts.values()) == sum(alone.counts.values()) == 120
    else:
        assert [unit.arm for unit in batch] == [unit.arm for unit in single]
        assert together.counts == alone.counts


@pytest.mark.parametrize("reuse", [False, True])
def test_a_learned_moment_is_that_of_all_contexts(reuse):
    feed = Feed(1)
    experiment = eq.Experiment(
        problem(moment=None), eq.SparseTraceUCB(screen=20, shared=True, reuse=reuse), seed=2
    )
    path = np.array(feed.run(experiment))
    columns = list(experiment.support)
    seen = feed.contexts[:240, columns]
    for i, arm in enumerate(DEVIATIONS):
        rows = np.flatnonzero(path == arm)
        fitted = seen[rows if reuse else rows[rows >= 60]]
        trace = np.trace(seen.T @ seen / 240 @ np.linalg.inv(fitted.T @ fitted))
        assert experiment._state.arms["trace"][i] == pytest.approx(trace, rel=1e-9)
