"""One decision: the arm that is chosen, or the arm that was recorded."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from inner_state import fingerprint

import equipoise as eq
from equipoise.core.arms.least_squares import is_settled, settle
from equipoise.core.choice.batch import most_decided, score_arm, score_contexts
from equipoise.core.choice.decide import CHOOSE, NO_ARM
from equipoise.core.experiment.admission import ALL_ARMS, NO_ROOM, NOT_RECORDED, admit
from equipoise.core.experiment.asking import Arrival, ask_one, eligible_arms
from equipoise.core.experiment.record import draft
from equipoise.errors import NoArmLeft


def started(spec="trace-gain", units=25, **terms):
    rng = np.random.default_rng(2)
    experiment = eq.Experiment(eq.Problem(["a", "b", "c"], 2, budget=40, **terms), spec, seed=6)
    for _ in range(units):
        experiment.tell(experiment.ask(rng.normal(size=2)).id, float(rng.normal()))
    return experiment


def decided(experiment, told=CHOOSE, rows=None):
    record = experiment._record
    stage, scores = record.stage, np.zeros(len(record.problem.arms))
    state = stage.state if rows is None else stage.state._replace(rows=stage.state.rows[:rows])
    context = np.array([1.0, -0.5])
    known = (state, record.contexts, stage.columns, context, stage.score, stage.settings, scores)
    return admit(*known, told, 0, ALL_ARMS, NOT_RECORDED), scores


@pytest.mark.parametrize("spec", ["trace-ucb", "trace-gain", "trace-gain:chance=0.5"])
def test_a_recorded_history_is_followed_to_the_same_bits(spec):
    """Told the arms of another experiment: the same scores all the way, and the same state."""
    rng = np.random.default_rng(0)
    chosen = eq.Experiment(eq.Problem(["a", "b", "c"], 2, budget=40), spec, seed=6)
    followed = copy.deepcopy(chosen)
    record = followed._record
    for _ in range(40):
        x, y = rng.normal(size=2), float(rng.normal())
        unit = chosen.ask(x)
        line = chosen._state.rows[unit.id - 1]
        recorded = np.array([line[name] for name in ("propensity", "likeliest", "possible", "top")], float)
        record, again = ask_one(record, Arrival(x, told=int(line["arm"]), recorded=recorded))
        assert again == unit
        assert again.top == unit.top
        for experiment in (chosen, followed):
            experiment.tell(unit.id, y)
    assert fingerprint(followed) == fingerprint(chosen)


@pytest.mark.parametrize("told", [0, 1, 2])
def test_the_told_arm_gets_the_unit(told):
    experiment, free = started(), started()
    before = experiment.counts
    (arm, chosen, _), scores = decided(experiment, told)
    (choice, *_), others = decided(free)
    assert (arm, experiment.asked) == (told, 26)
    assert chosen == choice
    assert scores.tobytes() == others.tobytes()
    name = experiment.problem.arms[told]
    assert experiment.counts == {**before, name: before[name] + 1}


def test_without_a_decision_nothing_changes():
    closed, full, short = started(), started(units=40), started()
    for arm in "abc":
        closed.close_arm(arm)
    cases = [(closed, CHOOSE, None, NO_ARM), (full, CHOOSE, None, NO_ARM), (full, 1, None, NO_ARM)]
    cases += [(short, 3, None, NO_ARM), (short, CHOOSE, 25, NO_ROOM), (closed, 0, None, NO_ARM)]
    for experiment, told, rows, code in cases:
        before = [array.tobytes() for array in experiment._state]
        assert decided(experiment, told, rows)[0][0] == code
        assert [array.tobytes() for array in experiment._state] == before


def step_by_step(experiment, contexts, eligible):
    """The arms of a batch, place by place, by a call of compiled code for every step."""
    record = draft(experiment._record, len(contexts), share_rows=True)
    stage, m = record.stage, len(record.problem.arms)
    waiting, table, arms = np.ones(len(contexts), np.int64), np.zeros((len(contexts), m)), {}
    if not is_settled(stage.state):
        settle(stage.state)
    score_contexts(stage.state, stage.score, stage.settings, contexts, waiting, table)
    table[:, np.flatnonzero(eligible == 0)] = 0.0
    for _ in contexts:
        j = most_decided(stage.state, waiting, table, np.zeros(m))
        waiting[j] = 0
        record, unit = ask_one(record, Arrival(contexts[j], key=f"u{j}", eligible=eligible))
        arms[j] = (unit.id, unit.arm, tuple(unit.score_values))
        i = record.problem.arms.index(unit.arm)
        score_arm(stage.state, stage.score, stage.settings, contexts, waiting, table, i)
    return arms, [array.tobytes() for array in (record.state.arms, record.state.factors, record.state.rows)]


@pytest.mark.parametrize(
    ("spec", "terms", "arms"),
    [
        ("trace-gain", {}, None),
        ("trace-gain:chance=0.5", {"moment": np.eye(2)}, None),
        ("trace-gain", {"caps": {"b": 9}}, ["b", "c"]),
    ],
)
def test_a_batch_is_one_call_with_the_same_bits_as_many(spec, terms, arms):
    contexts = np.random.default_rng(3).normal(size=(12, 2))
    one, many = started(spec, 20, **terms), started(spec, 20, **terms)
    eligible = ALL_ARMS if arms is None else eligible_arms(one.problem, arms)
    expected, bits = step_by_step(many, contexts, eligible)
    units = one.ask_many(contexts, [f"u{j}" for j in range(12)], arms=arms)
    assert {j: (unit.id, unit.arm, tuple(unit.score_values)) for j, unit in enumerate(units)} == expected
    state = one._record.state
    assert [array.tobytes() for array in (state.arms, state.factors, state.rows)] == bits


def test_a_batch_for_which_arms_do_not_suffice_changes_nothing():
    experiment = started(caps={"a": 9, "b": 9, "c": 30}, units=20)
    before = fingerprint(experiment)
    with pytest.raises(NoArmLeft, match="none of the arms that the unit may go to"):
        experiment.ask_many(np.eye(2)[[0, 1] * 8], arms=["a", "b"])
    assert fingerprint(experiment) == before
