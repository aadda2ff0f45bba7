"""One decision: the arm that is chosen, or the arm that was recorded."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from inner_state import fingerprint

import equipoise as eq
from equipoise.core.choice.decide import CHOOSE, NO_ARM
from equipoise.core.experiment.admission import ALL_ARMS, NO_ROOM, NOT_RECORDED, admit
from equipoise.core.experiment.asking import Arrival, ask_one


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
        record, again = ask_one(record, Arrival(x, told=chosen.problem.index(unit.arm)))
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
