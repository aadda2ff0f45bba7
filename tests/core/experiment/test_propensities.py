"""Rows keep the probability with which a unit got its arm, and when it was closed."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import equipoise as eq
from equipoise.core.experiment.asking import Arrival, ask_one
from equipoise.core.experiment.record import first_record

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


def test_an_arm_that_a_person_chose_has_none_unless_the_rule_chose_it_too():
    policy = eq.TraceGain(chance=0.5)
    chosen = PROBLEM.index(eq.Experiment(PROBLEM, policy, seed=4).ask(np.ones(3)).arm)
    for told in range(3):
        record = first_record(PROBLEM, policy, 4)
        record, _ = ask_one(record, Arrival(np.ones(3), told=told))
        record, _ = ask_one(record, Arrival(np.ones(3)))
        kept = record.state.rows["propensity"][:2]
        assert np.isnan(kept[0]) == (told != chosen)
        assert 0.0 < kept[1] < 1.0


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
