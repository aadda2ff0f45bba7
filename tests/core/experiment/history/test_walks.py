"""Walks at random through all that makes events: the log is the experiment, also where it is erased."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from inner_state import fingerprint

import equipoise as eq

pytestmark = pytest.mark.filterwarnings("ignore::equipoise.errors.FitWarning")

SPECS = ["uniform", "trace-ucb:spread=unequal", "trace-gain", "trace-gain:chance=0.4", "b-as", "wei-urn"]
SPECS += ["sparse-trace-ucb:screen=3:reuse=true:refresh=1.5", "sparse-trace-ucb:screen=4", "minimisation"]
NAMES = ["a", "b", "c", "d", "e"]
OFTEN = {
    **{"ask": 20, "give": 4, "restrict": 4, "together": 5, "given_together": 2, "tell": 25, "tell_many": 6},
    **{"correct": 4, "lose": 4, "withdraw": 4, "received": 6, "close_arm": 2, "reopen_arm": 3, "add_arm": 1},
    **{"change_budget": 3, "pause": 1, "resume": 3, "redact": 5},
}


class Walk:
    """An experiment, its events, and the same events as they are when those of redacted units are erased."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        while not hasattr(self, "experiment"):
            try:
                self.experiment = eq.Experiment(self.problem(), self.pick(SPECS), seed=seed)
            except eq.EquipoiseError:  # costs, floors and caps that do not go together
                continue
        self.log = [self.experiment.created_event()]
        self.erased = [*self.log]

    def pick(self, values):
        return values[self.rng.integers(len(values))]

    def problem(self):
        rng, arms = self.rng, NAMES[: self.rng.integers(1, 4)]
        dim = int(rng.integers(1, 4))
        terms = {"budget": len(arms) * (dim + 1) + int(rng.integers(60))}
        if rng.random() < 0.4:
            terms["costs"] = {arm: self.pick([0.1, 1.5, 3.3]) for arm in arms}
        if rng.random() < 0.3:
            terms["floors"] = {"a": int(rng.integers(20))}
        if rng.random() < 0.3:
            terms["caps"] = {arm: int(rng.integers(dim + 1, 60)) for arm in arms[1:]}
        moment = None if rng.random() < 0.5 else np.diag(rng.uniform(0.5, 2.0, dim))
        return eq.Problem(arms, dim, moment=moment, **terms)

    def context(self):
        return self.rng.integers(-2, 3, self.experiment.problem.dim).astype(float).tolist()

    def unit(self):
        return int(self.rng.integers(1, self.experiment.asked + 2))

    def key(self):
        return None if self.rng.random() < 0.4 else f"P-{self.rng.integers(40)}"

    def call(self, what):
        """A method, and what it is given."""
        rng, arms = self.rng, self.experiment.problem.arms
        many = [self.context() for _ in range(rng.integers(6))]
        pending, y = self.experiment.pending, float(np.round(rng.normal(), 2))
        match what:
            case "ask" | "give" | "restrict":
                more = {"give": {"arm": self.pick(arms)}, "restrict": {"arms": [self.pick(arms)]}}
                return "ask", (self.context(), self.key()), more.get(what, {})
            case "together":
                return "ask_many", (many,), {}
            case "given_together":
                return "ask_many", (many,), {"given_arms": [self.pick(arms) for _ in many]}
            case "tell" | "correct":
                return what, (self.pick(pending) if pending and what == "tell" else self.unit(), y), {}
            case "tell_many":
                return what, (dict.fromkeys(pending[:5], y),), {}
            case "received":
                return what, (self.unit(), self.pick(arms)), {}
            case "close_arm" | "reopen_arm":
                return what, (self.pick(arms),), {}
            case "add_arm":
                terms = {"cost": self.pick([0.5, 1.0, 4.0]), "floor": int(rng.integers(20))}
                return what, (self.pick(NAMES),), terms
            case "change_budget":
                return (
                    what,
                    (round(self.experiment.spent * self.pick([1.0, 1.5]) + self.pick([0, 1, 20])),),
                    {},
                )
            case "pause" | "resume":
                return what, (), {}
            case _:
                return what, (self.unit(),), {}

    def step(self):
        shares = np.array(list(OFTEN.values())) / sum(OFTEN.values())
        method, arguments, options = self.call(str(self.rng.choice(list(OFTEN), p=shares)))
        before = fingerprint(self.experiment)
        with self.experiment.recording() as events:
            try:
                getattr(self.experiment, method)(*arguments, **options)
            except eq.EquipoiseError:
                assert events == []
                assert fingerprint(self.experiment) == before
        new = json.loads(json.dumps(events, allow_nan=False))
        self.log += new
        self.erased += new
        for unit in (unit for event in new if event["kind"] == "redacted" for unit in event["ids"]):
            self.erased = [
                {"kind": event["kind"]} if event.get("id") == unit else event for event in self.erased
            ]

    def check(self):
        """Whatever leads to the experiment leads to the same bits, and goes on alike."""
        step_by_step = eq.Experiment.replay(self.log[:1])
        for event in self.log[1:]:
            step_by_step.apply(event)
        ways = [step_by_step, eq.Experiment.restore(self.experiment.snapshot())]
        ways += [
            eq.Experiment.replay(log, verify=verify)
            for log in (self.log, self.erased)
            for verify in (False, True)
        ]
        ways.append(pickle.loads(pickle.dumps(self.experiment)))
        wanted = self.experiment.snapshot()
        for one in ways:
            assert fingerprint(one) == fingerprint(self.experiment)
            assert {name: array.tobytes() for name, array in one.snapshot().items()} == {
                name: array.tobytes() for name, array in wanted.items()
            }
        for one in (step_by_step, ways[-1]):
            table = repr(one.units(scores=True).records())
            assert table == repr(self.experiment.units(scores=True).records())
        for x in [self.context() for _ in range(3)]:
            assert len({_answer(one, x) for one in ways}) == 1


def _answer(experiment, x):
    try:
        unit = experiment.ask(x)
    except eq.EquipoiseError as error:
        return str(error)
    return unit.id, unit.arm, unit.score_values.tobytes(), repr(unit.propensity)


def walk(seed):
    taken = Walk(seed)
    for _ in range(taken.rng.integers(20, 150)):
        taken.step()
        if taken.rng.random() < 0.01:
            taken.check()
    taken.check()


@pytest.mark.parametrize("seed", range(12))
def test_a_walk(seed):
    walk(seed)


@pytest.mark.slow
def test_many_walks():
    for seed in range(100, 1100):
        walk(seed)
