"""Rows keep the probability with which a unit got its arm, and when it was closed."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest

import equipoise as eq

PROBLEM = eq.Problem(["a", "b", "c"], 3, budget=80)


def run(policy, units=60, late=3):
    rng = np.random.default_rng(3)
    experiment, assigned = eq.Experiment(PROBLEM, policy, seed=4), []
    for t in range(units):
        unit = experiment.ask(rng.normal(size=3))
        assigned.append(unit)
        if t >= late and (t - late) % 9:
            experiment.tell(assigned[t - late].id, float(rng.normal()))
    return experiment, assigned


def rows(experiment):
    return experiment._state.rows[: experiment.asked]


@pytest.mark.parametrize("policy", ["uniform", "trace-ucb", "trace-gain", "sparse-trace-ucb:screen=4"])
def test_without_lots_it_is_one(policy):
    experiment, _ = run(policy)
    assert np.all(rows(experiment)["propensity"] == 1.0)


@pytest.mark.parametrize("chance", [0.25, 1.0])
def test_with_lots_it_is_what_the_assignment_said(chance):
    experiment, assigned = run(eq.TraceGain(chance=chance))
    kept = rows(experiment)["propensity"]
    assert kept.tolist() == [unit.propensity for unit in assigned]
    assert len(np.unique(kept)) > 1
    every = [list(unit.propensities.values()) for unit in assigned]
    assert rows(experiment)["likeliest"].tolist() == [max(shares) for shares in every]
    assert rows(experiment)["possible"].tolist() == [np.count_nonzero(shares) for shares in every]
    # It stays when outcomes are lost, corrected or withdrawn, when arms join, and in copies.
    experiment.lose(experiment.pending[0])
    experiment.correct(12, 5.0)
    experiment.withdraw(13)
    experiment.add_arm("d")
    for twin in (experiment, copy.copy(experiment), pickle.loads(pickle.dumps(experiment))):
        assert rows(twin)["propensity"].tolist() == kept.tolist()


def test_batches_keep_it_too():
    contexts = np.random.default_rng(5).normal(size=(30, 3))
    experiment = eq.Experiment(PROBLEM, eq.TraceGain(chance=0.5), seed=4)
    by_id = {unit.id: unit.propensity for unit in experiment.ask_many(contexts)}
    assert rows(experiment)["propensity"].tolist() == [by_id[id] for id in range(1, 31)]


@pytest.mark.parametrize("policy", ["uniform", "trace-gain:chance=0.5", "efron"])
def test_an_arm_that_a_person_gave_has_none_also_where_the_rule_chose_it(policy):
    chosen = eq.Experiment(PROBLEM, policy, seed=4).ask(np.ones(3), "given").arm
    for arm in PROBLEM.arms:
        experiment = eq.Experiment(PROBLEM, policy, seed=4)
        first = experiment.ask(np.ones(3), "given", arm=arm)
        second = experiment.ask(np.ones(3), "drawn")
        assert (first.arm, first.chosen, first.given_by_person) == (arm, chosen, True)
        assert second.given_by_person is False
        kept = rows(experiment)["propensity"]
        for unit, propensity in ((first, kept[0]), (experiment.ask(np.ones(3), "given"), kept[0])):
            assert math.isnan(unit.propensity)
            assert math.isnan(propensity)
        assert second.propensity == kept[1] > 0.0
        assert experiment["given"].given_by_person is True
        assert experiment.units().column("given_by_person") == [True, False]


def given_and_drawn():
    """An experiment with lots in which a person gave every fifth arm, as the rule chose; and its events."""
    experiment = eq.Experiment(eq.Problem(["a", "b"], 2, budget=80), eq.TraceGain(chance=0.5), seed=4)
    rng, log = np.random.default_rng(6), [experiment.created_event()]
    with experiment.recording() as events:
        for t in range(60):
            x = rng.normal(size=2)
            arm = copy.deepcopy(experiment).ask(x, f"u{t}").arm if t % 5 == 4 else None
            experiment.tell(experiment.ask(x, f"u{t}", arm=arm).id, float(rng.normal()))
    return experiment, [*log, *events]


def test_weights_and_replayed_lots_leave_arms_that_persons_gave_out():
    experiment, log = given_and_drawn()
    drawn = sum(unit["propensity"] < 1.0 for unit in experiment.units())
    assert sum(unit["given_by_person"] for unit in experiment.units()) == 12
    fits = experiment.weighted_estimates()
    assert sum(fits[arm].observed for arm in ("a", "b")) == drawn <= 48
    with pytest.raises(eq.errors.NotReplayable, match="unit 5 went where a person sent it"):
        experiment.randomisation_test(draws=10)
    # Logs of earlier versions have a probability there.
    older = [{**event, "propensity": 0.5} if "chosen" in event else event for event in log]
    for events in (log, older):
        for details in (True, False):
            replayed = eq.Experiment.replay(events, details=details, verify=events is log)
            assert rows(replayed).tobytes() == rows(experiment).tobytes()
            assert replayed.units().column("given_by_person") == experiment.units().column("given_by_person")
    step_by_step = eq.Experiment.replay(older[:1])
    for event in older[1:]:
        step_by_step.apply(event)
    assert rows(step_by_step).tobytes() == rows(experiment).tobytes()


def test_who_gave_the_arm_is_known_in_copies_and_where_it_is_not_kept_that_is_said():
    experiment, _ = given_and_drawn()
    experiment.received("u4", "a" if experiment["u4"].arm == "b" else "b")
    experiment.received("u5", "a" if experiment["u5"].arm == "b" else "b")
    twins = [copy.copy(experiment), pickle.loads(pickle.dumps(experiment))]
    for twin in twins:
        assert [twin[f"u{t}"].given_by_person for t in (4, 5, 6, 9)] == [True, False, False, True]
    restored = eq.Experiment.restore(experiment.snapshot())
    assert [restored[f"u{t}"].given_by_person for t in (4, 5, 6, 9)] == [None, None, False, True]


def test_rows_tell_when_they_were_closed():
    experiment, _ = run("trace-gain")
    closed_at, status = rows(experiment)["closed_at"], rows(experiment)["status"]
    pending = [id - 1 for id in experiment.pending]
    assert not closed_at[pending].any()
    told = np.flatnonzero(status == 1)
    np.testing.assert_array_equal(closed_at[told], told + 4)
    experiment.lose(pending[0] + 1)
    experiment.tell(pending[1] + 1, 0.5)
    experiment.correct(pending[2] + 1, 0.5)
    experiment.correct(int(told[0]) + 1, 0.5)
    assert rows(experiment)["closed_at"][pending[:3]].tolist() == [60, 60, 60]
    assert rows(experiment)["closed_at"][told[0]] == told[0] + 4
