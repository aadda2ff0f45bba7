"""Every method in any order, against plain lists, and against a fresh experiment with the same history."""

from __future__ import annotations

import copy
import json
import math
import pickle
import warnings
from collections import deque

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from inner_state import fingerprint

import equipoise as eq

# Made-up outcomes are bent now and then.
pytestmark = pytest.mark.filterwarnings("ignore::equipoise.errors.FitWarning")

DIM, BUDGET = 2, 60
SPECS = ["uniform", "trace-ucb", "trace-gain", "trace-gain:chance=0.3", "sparse-trace-ucb:screen=5"]
SPECS += ["sparse-trace-ucb:screen=4:reuse=true:refresh=1.5", "var-ucb", "gafs-max", "permuted-blocks"]
TERMS = [{}, {"floors": {"a": 7}, "caps": {"b": 45}}, {"costs": {"a": 1.5, "b": 0.5}}]
PENDING, TOLD, LOST, WITHDRAWN = "pending", "told", "lost", "withdrawn"

numbers = st.floats(-5, 5).map(lambda value: round(value, 2))
contexts = st.lists(st.tuples(numbers, numbers), min_size=0, max_size=7)
ids = st.integers(-1, BUDGET + 2)
names = st.sampled_from(["a", "b", "c", "d", "nobody"])
keys = st.sampled_from([None, *(f"P-{number}" for number in range(12))])


class AllMethods(RuleBasedStateMachine):
    """The model: a list of units, each [status, arm, context, outcome], and a set of closed arms."""

    @initialize(
        spec=st.sampled_from(SPECS), terms=st.sampled_from(TERMS), learned=st.booleans(), seed=ids.map(abs)
    )
    def begin(self, spec, terms, learned, seed):
        self.problem = eq.Problem(
            ["a", "b"], DIM, budget=BUDGET, moment=None if learned else np.diag([1.0, 4.0]), **terms
        )
        self.start = lambda: eq.Experiment(self.problem, spec, seed=seed)
        self.experiment = self.start()
        self.costs = {"a": 1.0, "b": 1.0, **terms.get("costs", {})}
        self.units, self.closed, self.history, self.keys, self.paused = [], set(), [], {}, False

    def does(self, method, *arguments, **options):
        """Call a method that should work, and remember it with its answer."""
        answer = getattr(self.experiment, method)(*arguments, **options)
        self.history.append((method, arguments, options, answer))
        return answer

    def refuses(self, method, *arguments, **options):
        before = fingerprint(self.experiment)
        with pytest.raises(eq.EquipoiseError):
            getattr(self.experiment, method)(*arguments, **options)
        assert fingerprint(self.experiment) == before

    def status(self, id):
        return self.units[id - 1][0] if 1 <= id <= len(self.units) else None

    @rule(x=st.tuples(numbers, numbers), key=keys)
    def ask(self, x, key):
        if key in self.keys:
            return self.ask_again(x, key)
        if not self.experiment.remaining or self.paused:
            return self.refuses("ask", x, key)
        unit = self.does("ask", x, key)
        assert (unit.id, unit.unit) == (len(self.units) + 1, key)
        assert unit.arm not in self.closed
        assert sum(unit.propensities.values()) == pytest.approx(1.0)
        return self.joins(unit, x)

    def joins(self, unit, x):
        self.units.append([PENDING, unit.arm, x, None])
        if unit.unit is not None:
            self.keys[unit.unit] = unit

    def ask_again(self, x, key):
        first = self.keys[key]
        status, _, context, _ = self.units[first.id - 1]
        if status == WITHDRAWN or context != x:
            self.refuses("ask", x, key)
        if status != WITHDRAWN:
            assert self.experiment.ask(context, key) == first

    @rule(x=st.tuples(numbers, numbers), arm=names)
    def give(self, x, arm):
        """A person decides, against the rule or not."""
        try:
            unit = self.does("ask", x, arm=arm)
        except eq.EquipoiseError:
            return
        assert unit.arm == arm
        assert unit.given_by_person
        assert math.isnan(unit.propensity)
        self.joins(unit, x)

    @rule(x=st.tuples(numbers, numbers), arms=st.sets(names, min_size=1).map(sorted), key=keys)
    def ask_restricted(self, x, arms, key):
        if key in self.keys:
            return
        try:
            unit = self.does("ask", x, key, arms=arms)
        except eq.EquipoiseError:
            return
        assert unit.arm in arms
        assert {arm for arm, score in unit.scores.items() if score > -math.inf} <= {*arms} - self.closed
        self.joins(unit, x)

    @rule(id=ids, arm=names)
    def received(self, id, arm):
        if arm not in self.costs or self.status(id) in (None, WITHDRAWN):
            return self.refuses("received", id, arm)
        self.does("received", id, arm)
        self.units[id - 1][1] = arm

    @rule(budget=st.integers(20, 90))
    def change_budget(self, budget):
        before = fingerprint(self.experiment)
        try:
            self.does("change_budget", budget)
        except eq.EquipoiseError:
            assert fingerprint(self.experiment) == before

    @rule(pause=st.booleans())
    def pause(self, pause):
        self.does("pause" if pause else "resume")
        self.paused = pause

    @rule(outcomes=st.dictionaries(ids, numbers, max_size=5))
    def tell_many(self, outcomes):
        if all(self.takes(id, y) for id, y in outcomes.items()):
            self.does("tell_many", outcomes)
            for id, y in outcomes.items():
                self.units[id - 1][0::3] = TOLD, y
        else:
            self.refuses("tell_many", outcomes)

    def takes(self, id, y):
        told = self.status(id) == TOLD and self.units[id - 1][3] == y
        return told or self.status(id) in (PENDING, LOST)

    @rule(batch=contexts)
    def ask_many(self, batch):
        if batch and (len(batch) > self.experiment.remaining or self.paused):
            return self.refuses("ask_many", batch)
        try:
            units = self.does("ask_many", batch)
        except eq.errors.BudgetExhausted:
            assert len({*self.costs.values()}) > 1  # how far money goes shows on the way
            return None
        assert sorted(unit.id for unit in units) == [len(self.units) + 1 + k for k in range(len(batch))]
        for unit, x in sorted(zip(units, batch, strict=True), key=lambda pair: pair[0].id):
            assert unit.arm not in self.closed
            self.units.append([PENDING, unit.arm, x, None])

    @rule(id=ids, y=numbers)
    def tell(self, id, y):
        if self.takes(id, y):
            self.does("tell", id, y)
            self.units[id - 1][0::3] = TOLD, y
        else:
            self.refuses("tell", id, y)

    @precondition(lambda self: any(unit[0] == PENDING for unit in self.units))
    @rule(y=numbers, last=st.booleans())
    def tell_somebody(self, y, last):
        waiting = [k for k, unit in enumerate(self.units) if unit[0] == PENDING]
        self.tell(waiting[-1 if last else 0] + 1, y)

    @rule(id=ids, y=numbers)
    def correct(self, id, y):
        if self.status(id) in (PENDING, TOLD, LOST):
            self.does("correct", id, y)
            self.units[id - 1][0::3] = TOLD, y
        else:
            self.refuses("correct", id, y)

    @rule(id=ids)
    def lose(self, id):
        if self.status(id) in (PENDING, LOST):
            self.does("lose", id)
            self.units[id - 1][0] = LOST
        else:
            self.refuses("lose", id)

    @rule(id=ids)
    def withdraw(self, id):
        if self.status(id) is None:
            return self.refuses("withdraw", id)
        self.does("withdraw", id)
        self.units[id - 1][0] = WITHDRAWN

    @rule(outcomes=st.dictionaries(ids, numbers, max_size=5))
    def correct_many(self, outcomes):
        if not all(self.status(id) in (PENDING, TOLD, LOST) for id in outcomes):
            return self.refuses("correct_many", outcomes)
        known = sum(self.status(id) == TOLD and self.units[id - 1][3] == y for id, y in outcomes.items())
        assert self.does("correct_many", outcomes) == len(outcomes) - known
        for id, y in outcomes.items():
            self.units[id - 1][0::3] = TOLD, y

    @rule(listed=st.lists(ids, max_size=5), method=st.sampled_from(["lose_many", "withdraw_many"]))
    def leave_together(self, listed, method):
        status = LOST if method == "lose_many" else WITHDRAWN
        allowed = (PENDING, LOST) if status == LOST else (PENDING, TOLD, LOST, WITHDRAWN)
        if not all(self.status(id) in allowed for id in listed):
            return self.refuses(method, listed)
        assert self.does(method, listed) == sum(self.status(id) != status for id in {*listed})
        for id in listed:
            self.units[id - 1][0] = status

    @rule(arms=st.dictionaries(ids, names, max_size=5))
    def receive_together(self, arms):
        """As if noted of one after the other, or of none."""
        if not all(self.status(id) in (PENDING, TOLD, LOST) for id in arms) or {*arms.values()} - {
            *self.costs
        }:
            return self.refuses("received_many", arms)
        twin = copy.deepcopy(self.experiment)
        new = [(id, arm) for id, arm in arms.items() if self.units[id - 1][1] != arm]
        assert self.does("received_many", arms) == len(new)
        for id, arm in new:
            twin.received(id, arm)
            self.units[id - 1][1] = arm
        assert fingerprint(self.experiment) == fingerprint(twin)

    @rule(batch=st.lists(st.tuples(st.tuples(numbers, numbers), names), max_size=4))
    def give_together(self, batch):
        """A person decides about many: as if about one after the other, or about none."""
        before, xs, arms = fingerprint(self.experiment), [x for x, _ in batch], [arm for _, arm in batch]
        twin = copy.deepcopy(self.experiment)
        try:
            units = self.does("ask_many", xs, given_arms=arms)
        except eq.EquipoiseError:
            assert fingerprint(self.experiment) == before
            with pytest.raises(eq.EquipoiseError):
                deque(twin.ask(x, arm=arm) for x, arm in batch)
            return
        assert _decisions([twin.ask(x, arm=arm) for x, arm in batch]) == _decisions(units)
        assert fingerprint(self.experiment) == fingerprint(twin)
        for unit, x in zip(units, xs, strict=True):
            self.joins(unit, x)

    @rule(arm=names, close=st.booleans())
    def close_or_reopen(self, arm, close):
        if arm not in self.costs:
            return self.refuses("close_arm" if close else "reopen_arm", arm)
        self.does("close_arm" if close else "reopen_arm", arm)
        (self.closed.add if close else self.closed.discard)(arm)

    @rule(
        arm=st.sampled_from(["c", "d", "a"]), cost=st.sampled_from([1.0, 0.5, 2.0]), floor=st.integers(0, 6)
    )
    def add(self, arm, cost, floor):
        if arm in self.costs:
            return self.refuses("add_arm", arm, cost=cost, floor=floor)
        before = fingerprint(self.experiment)
        try:
            self.does("add_arm", arm, cost=cost, floor=floor)
        except eq.errors.BudgetTooSmall:
            assert fingerprint(self.experiment) == before
        else:
            self.costs[arm] = cost

    @rule(x=st.sampled_from([[1.0], [math.nan, 0.0], None, "xy"]))
    def ask_for_nonsense(self, x):
        self.refuses("ask", x)
        self.refuses("ask_many", [[1.0, 2.0], x])
        self.refuses("tell", 1, x)

    @rule(way=st.sampled_from([copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))]))
    def go_on_with_a_copy(self, way):
        twin = way(self.experiment)
        assert fingerprint(twin) == fingerprint(self.experiment)
        self.experiment = twin

    @rule(estimator=st.sampled_from(["pooled", "empirical-bayes", "leave-one-out", "ridge"]))
    def estimates(self, estimator):
        before = fingerprint(self.experiment)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = self.experiment.estimates(estimator=estimator)
        assert [arm.arm for arm in found] == list(self.costs)
        assert fingerprint(self.experiment) == before

    @invariant()
    def reads_agree(self):
        if not hasattr(self, "units"):
            return
        experiment, before = self.experiment, fingerprint(self.experiment)
        assert experiment.asked == len(self.units)
        assert experiment.problem.arms == tuple(self.costs)
        assert experiment.closed_arms == tuple(arm for arm in self.costs if arm in self.closed)
        assert experiment.pending == [k + 1 for k, unit in enumerate(self.units) if unit[0] == PENDING]
        assert experiment.spent == pytest.approx(sum(self.costs[unit[1]] for unit in self.units))
        if self.closed == set(self.costs):
            assert experiment.remaining == 0
        assert 0 <= experiment.remaining <= experiment.problem.units - len(self.units)
        told = sum(unit[0] == TOLD for unit in self.units)
        assert f"asked={len(self.units)}, told={told}," in repr(experiment)
        for arm in self.costs:
            mine = [unit for unit in self.units if unit[1] == arm]
            assert experiment.counts[arm] == sum(unit[0] in (PENDING, TOLD) for unit in mine)
            known, outcomes = experiment.data(arm)
            assert known.tolist() == [list(unit[2]) for unit in mine if unit[0] == TOLD]
            assert outcomes.tolist() == [unit[3] for unit in mine if unit[0] == TOLD]
        assert experiment.support is None or set(experiment.support) <= set(range(DIM))
        assert fingerprint(experiment) == before

    def teardown(self):
        if not hasattr(self, "units"):
            return
        fresh = self.start()
        log = [fresh.created_event()]
        with fresh.recording() as events:
            for method, arguments, options, answer in self.history:
                again = getattr(fresh, method)(*arguments, **options)
                assert _decisions(again) == _decisions(answer)
        assert fingerprint(fresh) == fingerprint(self.experiment)
        log = json.loads(json.dumps([*log, *events], allow_nan=False))
        for verify in (False, True):
            replayed = eq.Experiment.replay(log, verify=verify)
            assert fingerprint(replayed) == fingerprint(fresh)
            assert repr(replayed.units(scores=True).records()) == repr(fresh.units(scores=True).records())
        assert fingerprint(eq.Experiment.restore(fresh.snapshot())) == fingerprint(fresh)


def _decisions(answer):
    if isinstance(answer, int):  # how many outcomes were new
        return answer
    units = [] if answer is None else answer if isinstance(answer, list) else [answer]
    return [(unit.id, unit.arm, unit.top, unit.chance, unit.score_values.tobytes()) for unit in units]


TestAllMethods = AllMethods.TestCase
TestAllMethods.settings = settings(
    max_examples=25,
    stateful_step_count=50,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)


@pytest.mark.slow
class TestAllMethodsLong(AllMethods.TestCase):
    settings = settings(
        max_examples=600, stateful_step_count=120, deadline=None, suppress_health_check=list(HealthCheck)
    )
