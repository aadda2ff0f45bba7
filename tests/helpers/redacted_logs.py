"""A log of what happened in an experiment, with entries that can be erased, and its fold."""

from __future__ import annotations

import json

import numpy as np

from equipoise.core.experiment import entries
from equipoise.core.experiment.asking import ask_one
from equipoise.core.experiment.experiment import Experiment
from equipoise.core.experiment.redacting import admit_blanks, fold_redacted, is_redacted, lacks_data, redact
from equipoise.core.experiment.roster import with_another, with_open

_OF_ROWS = ("propensity", "likeliest", "possible")


class Logged:
    """An experiment, and a list of what was done to it; of an entry that was erased its kind is left."""

    def __init__(self, problem, policy, seed=3):
        self.experiment = Experiment(problem, policy, seed)
        self.log = []

    @property
    def record(self):
        return self.experiment._record

    def ask(self, x, arm=None):
        """The id of a unit."""
        told = -1 if arm is None else self.experiment.problem.index(arm)
        self.experiment._record, unit = ask_one(self.record, np.array(x, float), told)
        line = self.record.state.rows[unit.id - 1]
        self.log.append(
            {
                "kind": "asked",
                "id": unit.id,
                "x": [float(value) for value in x],
                "arm": unit.arm,
                **{name: line[name].item() for name in _OF_ROWS},
            }
        )
        return unit.id

    def do(self, kind, **event):
        """Carry out what changes a unit or the arms, and note it."""
        _carry_out(self.experiment, kind, event)
        self.log.append({"kind": kind, **event})

    def redact(self, *ids, again=()):
        """Redact units and erase what the log holds of them, and of those that are told again."""
        rows, told_again = [id - 1 for id in ids], [id - 1 for id in again]
        self.experiment._record, data = redact(self.record, rows, again=told_again)
        gone = {*ids, *again}
        for place, event in enumerate(self.log):
            if event.get("id") in gone or gone & set(event.get("ids", ())):
                self.log[place] = {"kind": event["kind"]}
        self.log.append({"kind": "redacted", **json.loads(json.dumps(data, allow_nan=False))})

    def fold(self, upto=None):
        """The experiment that the log leads to."""
        experiment = Experiment(self.first_problem(), self.experiment.policy, self.experiment.seed)
        for event in self.log[:upto]:
            if len(event) > 1:
                _fold_one(experiment, event)
            elif event["kind"] == "asked":
                experiment._record = admit_blanks(experiment._record, experiment._record.step + 1)
        return experiment

    def first_problem(self):
        added = sum(event["kind"] == "added" for event in self.log)
        return self._problem if added else self.experiment.problem

    def started_with(self, problem):
        """Remember the problem as it was, for logs in which arms join."""
        self._problem = problem
        return self


def is_verifiable(experiment):
    return not lacks_data(experiment._record)


def _fold_one(experiment, event):
    kind, record = event["kind"], experiment._record
    if kind == "redacted":
        experiment._record = fold_redacted(record, event)
    elif kind == "asked":
        record, _ = ask_one(record, np.array(event["x"]), record.problem.index(event["arm"]))
        for name in _OF_ROWS:
            record.state.rows[name][event["id"] - 1] = event[name]
        experiment._record = record
    elif "id" in event:
        if not is_redacted(record, event["id"] - 1):
            _carry_out(experiment, kind, event)
    else:
        _carry_out(experiment, kind, event)


def _carry_out(experiment, kind, event):
    record = experiment._record
    if kind in ("told", "corrected"):
        entry = entries.tell if kind == "told" else entries.correct
        entry(record.state, event["id"] - 1, event["outcome"])
    elif kind in ("lost", "withdrawn"):
        entry = entries.lose if kind == "lost" else entries.withdraw
        entry(record.state, event["id"] - 1)
    elif kind == "added":
        experiment._record = with_another(record, event["arm"], weight=1.0, cost=1.0, floor=0, cap=None)
    else:
        experiment._record = with_open(record, event["arm"], kind == "opened")
