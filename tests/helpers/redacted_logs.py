"""Experiments with a log whose entries can be erased, and what tests of redaction look at."""

from __future__ import annotations

import json

import numpy as np
import pytest

import equipoise as eq
from equipoise.core.experiment.history.redacting import redact

DIM = 3
MOMENTS = {"learned": None, "given": np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 3.0]])}
both_moments = pytest.mark.parametrize("moment", MOMENTS.values(), ids=MOMENTS)

_METHODS = {
    "told": "tell",
    "corrected": "correct",
    "lost": "lose",
    "withdrawn": "withdraw",
    "received": "received",
    "added": "add_arm",
    "closed": "close_arm",
}


class Logged:
    """An experiment and its events; of those that were erased the kind is left."""

    def __init__(self, problem, policy, seed=3):
        self.experiment = eq.Experiment(problem, policy, seed)
        self.log = [self.experiment.created_event()]

    @property
    def record(self):
        return self.experiment._record

    def ask(self, x, arm=None):
        """The id of a unit."""
        with self.experiment.recording() as new:
            id = self.experiment.ask(np.array(x, float), f"P-{self.experiment.asked + 1}", arm=arm).id
        self.log += new
        return id

    def ask_many(self, contexts):
        with self.experiment.recording() as new:
            ids = [unit.id for unit in self.experiment.ask_many(contexts)]
        self.log += new
        return ids

    def do(self, kind, **event):
        """Carry out what changes a unit or the arms, and note it."""
        with self.experiment.recording() as new:
            getattr(self.experiment, _METHODS[kind])(*event.values())
        self.log += new

    def redact(self, *ids, again=()):
        """Redact units and erase what the log holds of them, and of those that are told again."""
        if len(ids) == 1 and not again:
            with self.experiment.recording() as new:
                self.experiment.redact(*ids)
        else:
            rows, told_again = [id - 1 for id in ids], [id - 1 for id in again]
            self.experiment._record, data = redact(self.record, rows, again=told_again)
            new = [{"kind": "redacted", **data}]
        gone = {*ids, *again}
        for place, event in enumerate(self.log):
            if event.get("id") in gone or gone & set(event.get("ids", ())):
                self.log[place] = {"kind": event["kind"]}
        self.log += json.loads(json.dumps(new, allow_nan=False))

    def fold(self, upto=None, verify=True):
        """The experiment that the log leads to."""
        return eq.Experiment.replay(self.log[:upto], verify=verify)


def started(spec="trace-gain", moment=None, dim=DIM, budget=200, arms=("a", "b", "c")):
    return Logged(eq.Problem(list(arms), dim, budget=budget, moment=moment), spec)


def half_way(logged, units=45, seed=1, scale=1.0):
    """Some units told, some lost, some withdrawn, some awaited; ids by what became of them."""
    rng = np.random.default_rng(seed)
    dim = logged.experiment.problem.dim
    ids = {"told": [], "lost": [], "withdrawn": [], "pending": []}
    for t in range(units):
        id = logged.ask(rng.normal(size=dim) + 0.5)
        y = float(scale * rng.normal())
        if t % 9 == 4:
            logged.do("lost", id=id)
            ids["lost"].append(id)
        elif t % 11 == 5:
            logged.do("told", id=id, outcome=y)
            logged.do("withdrawn", id=id)
            ids["withdrawn"].append(id)
        elif t % 7 == 6:
            ids["pending"].append(id)
        else:
            logged.do("told", id=id, outcome=y)
            ids["told"].append(id)
    return ids


def go_on(logged, units=20):
    """What is decided next, with all scores."""
    rng = np.random.default_rng(2)
    found = []
    for _ in range(units):
        id = logged.ask(rng.normal(size=logged.experiment.problem.dim) + 0.5)
        event = logged.log[-1]
        found.append((id, event["arm"], event["propensity"], event["scores"]))
        logged.do("told", id=id, outcome=float(rng.normal()))
    return found


def models(experiment):
    """What estimates rest on, to the last bit."""
    return [
        (arm.coef.tobytes(), str(arm.least_squares), arm.residual_variance, arm.count, arm.observed, arm.dof)
        for arm in experiment.estimates()
    ]


def same_models(one, other, tolerance=1e-9):
    for mine, theirs in zip(one.estimates(), other.estimates(), strict=True):
        assert (mine.count, mine.observed, mine.dof) == (theirs.count, theirs.observed, theirs.dof)
        if theirs.least_squares is not None:
            np.testing.assert_allclose(mine.least_squares, theirs.least_squares, rtol=tolerance, atol=1e-11)
            assert mine.residual_variance == pytest.approx(theirs.residual_variance, rel=tolerance)
            assert mine.outcome_variance == pytest.approx(theirs.outcome_variance, rel=tolerance)
            np.testing.assert_allclose(mine.coef, theirs.coef, rtol=1e-7, atol=1e-11)
