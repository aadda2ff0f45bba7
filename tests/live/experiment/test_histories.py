"""Histories that nobody thought of: whatever is done, a live experiment is the one in memory."""

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import equipoise as eq
from equipoise.errors import EquipoiseError
from equipoise.live.experiment.state import snapshots

KEYS = st.sampled_from([f"u{i}" for i in range(12)])
CONTEXTS = st.tuples(*[st.sampled_from([-1.5, 0.25, 1.0, 3.0])] * 2)
OUTCOMES = st.sampled_from([-2.0, 0.1, 0.5, 7.25])
ARMS = st.sampled_from(["a", "b", "c", "d"])
POLICIES = st.sampled_from(["trace-gain", "trace-ucb:width=0.5", "trace-gain:chance=0.5", "complete"])


class Histories(RuleBasedStateMachine):
    """The same calls to both; two hosts take turns with the live one."""

    @initialize(policy=POLICIES, seed=st.integers(0, 3))
    def begin(self, policy, seed):
        problem = eq.Problem(arms=["a", "b", "c"], dim=2, budget=30, moment=np.eye(2))
        self.store = eq.open_store("memory:")
        self.memory = eq.Experiment(problem, policy, seed)
        live = eq.create_experiment(store=self.store, name="t", problem=problem, policy=policy, seed=seed)
        self.hosts = [live, eq.load_experiment(store=self.store, name="t")]

    def both(self, live, memory=None):
        """Do the same to both, and compare answers and errors."""
        self.hosts.reverse()
        answers = []
        for act, experiment in ((live, self.hosts[0]), (memory or live, self.memory)):
            before = self.store.head("t").sequence
            try:
                answers.append(act(experiment))
            except EquipoiseError as error:
                answers.append((type(error), str(error)))
                assert self.store.head("t").sequence == before
        assert answers[0] == answers[1]

    @rule(x=CONTEXTS, key=st.none() | KEYS)
    def ask(self, x, key):
        self.both(lambda one: one.ask(x, key))

    @rule(x=CONTEXTS, key=st.none() | KEYS, arm=ARMS)
    def give(self, x, key, arm):
        self.both(lambda one: one.ask(x, key, arm=arm, reason="because"))

    @rule(x=CONTEXTS, key=KEYS, arms=st.lists(ARMS, min_size=1, max_size=3))
    def restrict(self, x, key, arms):
        self.both(lambda one: one.ask(x, key, arms=arms))

    @rule(units=st.dictionaries(KEYS, CONTEXTS, min_size=1, max_size=5))
    def ask_many(self, units):
        self.both(lambda one: one.ask_many(list(units.values()), list(units)))

    @rule(unit=KEYS | st.integers(0, 20), y=OUTCOMES)
    def tell(self, unit, y):
        self.both(lambda one: one.tell(unit, y))

    @rule(outcomes=st.dictionaries(KEYS, OUTCOMES, max_size=4))
    def tell_many(self, outcomes):
        self.both(lambda one: one.tell_many(outcomes))

    @rule(unit=KEYS, y=OUTCOMES)
    def correct(self, unit, y):
        self.both(lambda one: one.correct(unit, y, "because"))

    @rule(unit=KEYS | st.integers(0, 20))
    def lose(self, unit):
        self.both(lambda one: one.lose(unit, "because"))

    @rule(outcomes=st.dictionaries(KEYS, OUTCOMES, max_size=4))
    def correct_many(self, outcomes):
        self.both(lambda one: one.correct_many(outcomes, "because"))

    @rule(units=st.lists(KEYS, max_size=4), lose=st.booleans())
    def leave_together(self, units, lose):
        self.both(lambda one: (one.lose_many if lose else one.withdraw_many)(units, "because"))

    @rule(units=st.dictionaries(KEYS, st.tuples(CONTEXTS, ARMS), min_size=1, max_size=4))
    def give_together(self, units):
        contexts, arms = zip(*units.values(), strict=True)
        self.both(lambda one: one.ask_many(list(contexts), list(units), given_arms=arms, reason="because"))

    @rule(unit=KEYS)
    def withdraw(self, unit):
        self.both(lambda one: one.withdraw(unit, "because"))

    @rule(unit=KEYS)
    def redact(self, unit):
        self.both(lambda one: one.redact(unit, "because"))

    @rule(units=st.lists(KEYS | st.integers(0, 20), max_size=4))
    def redact_together(self, units):
        self.both(lambda one: one.redact_many(units, "because"))

    @rule(arms=st.dictionaries(KEYS, ARMS, max_size=4))
    def receive_together(self, arms):
        self.both(lambda one: one.received_many(arms, "because"))

    @rule(unit=KEYS, arm=ARMS)
    def received(self, unit, arm):
        self.both(lambda one: one.received(unit, arm, "because"))

    @rule(arm=ARMS)
    def close(self, arm):
        self.both(lambda one: one.close_arm(arm, "because"))

    @rule(arm=ARMS)
    def reopen(self, arm):
        self.both(lambda one: one.reopen_arm(arm))

    @rule()
    def add(self):
        self.both(lambda one: one.add_arm("d", weight=2.0, cap=12))

    @rule(budget=st.sampled_from([10, 30, 40]))
    def change_budget(self, budget):
        self.both(lambda one: one.change_budget(budget))

    @rule()
    def pause(self):
        self.both(lambda one: one.pause())

    @rule()
    def resume(self):
        self.both(lambda one: one.resume())

    @rule(snapshot=st.booleans())
    def reopen_host(self, snapshot):
        if snapshot:
            self.hosts[0]._save_snapshot()
            assert snapshots.load_fold(self.store, "t")[1] == self.store.head("t").sequence
        self.hosts[0] = eq.load_experiment(store=self.store, name="t")

    @rule()
    def verify(self):
        self.hosts[0].verify()

    @invariant()
    def is_the_same(self):
        if not hasattr(self, "hosts"):
            return
        wanted = self.memory.snapshot()
        for host in self.hosts:
            with host._lock:
                found = host._ledger.current().experiment.snapshot()
            assert found.keys() == wanted.keys()
            for name, array in wanted.items():
                assert found[name].tobytes() == array.tobytes(), name

    def teardown(self):
        if hasattr(self, "hosts"):
            assert self.hosts[0].verify().units == self.memory.asked
            records = self.memory.units(scores=True).records()
            for mine, theirs in zip(self.hosts[0].in_memory().units(scores=True), records, strict=True):
                assert repr(mine) == repr(theirs)


TestHistories = Histories.TestCase
TestHistories.settings = settings(
    max_examples=8,
    stateful_step_count=20,
    deadline=None,
    # Shrinking takes minutes; the steps as they were are short enough to read.
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    report_multiple_bugs=False,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


@pytest.mark.slow
class TestManyHistories(Histories.TestCase):
    settings = settings(
        TestHistories.settings,
        max_examples=400,
        stateful_step_count=60,
    )
