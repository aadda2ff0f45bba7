"""Interrupted anywhere, a method has done its whole work or nothing, and the experiment goes on."""

from __future__ import annotations

import copy
import dis
import gc
import pickle
import random
import signal
import sys
import time
import warnings
from functools import cache

import numpy as np
import pytest
from inner_state import fingerprint

import equipoise as eq
from equipoise.errors import SupportWarning, WriteInProgress

# Made-up outcomes are bent now and then.
pytestmark = pytest.mark.filterwarnings("ignore::equipoise.errors.FitWarning")

DIM = 3
CONTEXTS = np.random.default_rng(9).normal(size=(400, DIM))


def started(spec, units=30, budget=80, seed=4, **terms):
    """Some units old, with outcomes told, late and lost."""
    rng = np.random.default_rng(seed)
    problem = eq.Problem(["a", "b"], DIM, budget=budget, **terms)
    experiment = eq.Experiment(problem, spec, seed=seed)
    for t in range(units):
        unit = experiment.ask(CONTEXTS[t])
        if t % 6 == 4:
            experiment.lose(unit.id)
        elif t % 5:
            experiment.tell(unit.id, float(rng.normal()))
    return experiment


def full_room(spec):
    """Every row is taken, and the budget allows more."""
    experiment = eq.Experiment(eq.Problem(2, DIM, budget=3_000, moment=np.eye(DIM)), spec, seed=1)
    for t in range(1024):
        experiment.tell(experiment.ask(CONTEXTS[t % 400]).id, float(t % 7))
    return experiment


def before_a_stage():
    """The next unit is the first one of another stage."""
    experiment = eq.Experiment(eq.Problem(["a", "b"], DIM, budget=80), "sparse-trace-ucb:screen=6", seed=2)
    while not experiment._stage.is_due():
        x = CONTEXTS[experiment.asked]
        experiment.tell(experiment.ask(x).id, float(2 * x[1] + x[0]))
    return experiment


def quiet(call):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SupportWarning)
        return call()


ASK, MANY = (lambda e: e.ask([0.3, -1.0, 2.0])), (lambda e: e.ask_many(CONTEXTS[50:56]))
CALLS = {
    "ask": (lambda: started("trace-ucb"), ASK),
    "ask, looking": (lambda: started("trace-gain:chance=0.3"), ASK),
    "ask, with costs": (lambda: started("trace-ucb", costs={"a": 1.5}, floors={"b": 9}), ASK),
    "ask, more rows": (lambda: full_room("trace-ucb"), ASK),
    "ask, next stage": (before_a_stage, ASK),
    "ask together": (lambda: started("trace-ucb"), MANY),
    "ask together, looking": (lambda: started("trace-gain"), MANY),
    "ask together, next stage": (before_a_stage, MANY),
    "ask together, more rows": (lambda: full_room("uniform"), MANY),
    "tell": (lambda: started("trace-ucb"), lambda e: e.tell(1, 0.5)),
    "correct": (lambda: started("trace-gain"), lambda e: e.correct(2, 0.5)),
    "lose": (lambda: started("trace-gain"), lambda e: e.lose(1)),
    "withdraw": (lambda: started("trace-gain"), lambda e: e.withdraw(2)),
    "ask together, arms given": (
        lambda: started("trace-gain"),
        lambda e: e.ask_many(CONTEXTS[50:53], given_arms=["a", "b", "a"]),
    ),
    "correct together": (lambda: started("trace-gain"), lambda e: e.correct_many({1: 0.5, 2: 0.5, 5: 1.0})),
    "lose together": (lambda: started("trace-gain"), lambda e: e.lose_many([1, 6, 11])),
    "withdraw together": (lambda: started("trace-gain"), lambda e: e.withdraw_many([1, 2, 5])),
    "receive together": (
        lambda: started("trace-gain"),
        lambda e: e.received_many({1: "a", 2: "b", 3: "a", 4: "b"}),
    ),
    "redact together": (lambda: started("trace-gain"), lambda e: e.redact_many([2, 3])),
    "close": (lambda: started("trace-gain"), lambda e: e.close_arm("a")),
    "add": (lambda: started("trace-gain"), lambda e: e.add_arm("c", cost=0.7, floor=5)),
    "add, choosing features": (before_a_stage, lambda e: e.add_arm("c")),
    "estimates": (lambda: started("trace-gain"), lambda e: e.estimates()),
    "estimates, stages": (before_a_stage, lambda e: quiet(e.estimates)),
    "properties": (
        lambda: started("trace-gain"),
        lambda e: (e.asked, e.remaining, e.spent, e.closed_arms, e.pending, e.counts, e.support, e.data("a")),
    ),
    "text": (lambda: started("trace-gain"), repr),
    "pickle": (lambda: started("trace-gain"), lambda e: pickle.loads(pickle.dumps(e))),
}


@cache
def leaves_with(code):
    """Where a ``with`` block has ended and its lock is about to be given back.

    The interpreter looks for signals after calls and backward jumps, never there, so no interrupt can fall
    between. Tracing could.
    """
    steps = [step for step in dis.get_instructions(code) if step.opname not in ("CACHE", "PRECALL")]
    places = set()
    for k in range(len(steps) - 3):
        nothing = all(step.opname == "LOAD_CONST" and step.argval is None for step in steps[k : k + 3])
        if nothing and steps[k + 3].opname == "CALL":
            first = k
            while steps[first - 1].opname in ("NOP", "SWAP"):
                first -= 1
            places.update(range(steps[first].offset, steps[k + 3].offset + 1))
    return places


class Steps:
    """Counts the steps of the interpreter in this package, and interrupts one."""

    def __init__(self, interrupted=None):
        self.count, self.interrupted = 0, interrupted

    def __enter__(self):
        self.before = sys.gettrace()
        sys.settrace(self.enter)
        return self

    def __exit__(self, *_):
        sys.settrace(self.before)

    def enter(self, frame, event, argument):
        if "equipoise" not in frame.f_globals.get("__name__", ""):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return self.step

    def step(self, frame, event, argument):
        if event == "opcode" and frame.f_lasti not in leaves_with(frame.f_code):
            self.count += 1
            if self.count == self.interrupted:
                raise KeyboardInterrupt
        return self.step


def later(experiment):
    """What the experiment does from here on."""
    found = []
    for t in range(12):
        unit = experiment.ask(CONTEXTS[100 + t])
        found.append((unit.id, unit.arm, unit.score_values.tobytes()))
        experiment.tell(unit.id, float(t % 3))
    experiment.close_arm("a" if "a" in experiment.problem.arms else "arm-1")
    return found, fingerprint(experiment)


def interrupt_everywhere(name, most):
    start, call = CALLS[name]
    original = start()
    call(copy.deepcopy(original))  # compiles
    changed = copy.deepcopy(original)
    with Steps() as steps:
        call(changed)
    ends = [(fingerprint(one), later(copy.deepcopy(one))) for one in (original, changed)]
    assert steps.count > 15
    chosen = range(1, steps.count + 1)
    if steps.count > most:
        edge = most // 3
        spread = np.linspace(edge, steps.count - edge, most - 2 * edge).astype(int)
        chosen = sorted({*range(1, edge), *spread.tolist(), *range(steps.count - edge, steps.count + 1)})
    met = set()
    for k in chosen:
        experiment = copy.deepcopy(original)
        with pytest.raises(KeyboardInterrupt), Steps(k):
            call(experiment)
        state = fingerprint(experiment)
        which = [end[0] for end in ends].index(state)
        met.add(which)
        assert later(experiment) == ends[which][1]
    return met


def is_long(name):
    """Whether the call computes so much that only some of its steps are tried."""
    return "more rows" in name or "stage" in name or "choosing" in name


@pytest.mark.parametrize("name", CALLS)
def test_an_interrupt_at_any_step(name):
    assert 0 in interrupt_everywhere(name, 40 if is_long(name) else 80)


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
def test_an_interrupt_at_many_more_steps(name):
    assert 0 in interrupt_everywhere(name, 300 if is_long(name) else 2_000)


class Alarm:
    """Calls a handler a while from now, as Ctrl-C would; the collector, which drops what is raised, rests."""

    def __init__(self, handler):
        self.handler = handler

    def __enter__(self):
        self.before = signal.signal(signal.SIGALRM, self.handler)
        gc.disable()
        return self

    def after(self, seconds):
        signal.setitimer(signal.ITIMER_REAL, seconds)

    def __exit__(self, *_):
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self.before)
        gc.enable()


def interrupted(*_):
    raise KeyboardInterrupt


needs_signals = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no interval timers here")


@needs_signals
@pytest.mark.parametrize("spec", ["trace-ucb", "trace-gain"])
def test_real_signals_lose_no_unit_and_tear_nothing(spec):
    lots = random.Random(3)
    experiment = eq.Experiment(eq.Problem(["a", "b"], DIM, budget=200_000), spec, seed=1)
    # Machine code is loaded at the first call, and what the compiler does then is not our business.
    experiment.tell_many({unit.id: 1.0 for unit in experiment.ask_many(CONTEXTS[:4])})
    experiment.tell(experiment.ask(CONTEXTS[0]).id, 1.0)
    given, hits = {}, 0
    with Alarm(interrupted) as alarm:
        for _ in range(150):
            try:
                alarm.after(lots.uniform(2e-5, 1.5e-3))
                for t in range(100_000):
                    x = CONTEXTS[t % 400]
                    if t % 9 == 8:
                        for unit in experiment.ask_many(CONTEXTS[t % 390 : t % 390 + 4]):
                            given[unit.id] = unit.arm
                    unit = experiment.ask(x)
                    given[unit.id] = unit.arm
                    experiment.tell(unit.id, float(t % 5))
            except KeyboardInterrupt:
                hits += 1
    assert hits == 150
    # The same history again, without signals: known from the rows alone.
    rows, state = experiment._state.rows[: experiment.asked], experiment._state
    names = experiment.problem.arms
    assert all(names[rows["arm"][id - 1]] == arm for id, arm in given.items())
    assert state.arms["assigned"].sum() == experiment.asked
    assert len(experiment.pending) == state.arms["pending"].sum()
    assert state.arms["observed"].sum() == np.count_nonzero(rows["status"] == 1)
    assert fingerprint(pickle.loads(pickle.dumps(experiment))) == fingerprint(experiment)  # checks all counts
    later(experiment)


@needs_signals
def test_a_signal_handler_may_read_but_not_write():
    experiment = started("trace-gain", units=20, budget=2_000)
    seen, refused, taken = [], [], []

    def handler(*_):
        seen.append((experiment.asked, len(experiment.estimates()), experiment.remaining))
        try:
            experiment.tell(1, 0.5)
            taken.append(experiment.asked)
        except WriteInProgress as error:
            refused.append(str(error))

    with Alarm(handler) as alarm:
        deadline = time.monotonic() + 20
        while not refused and time.monotonic() < deadline:
            alarm.after(2e-4)
            asked = experiment.asked
            assert len(experiment.ask_many(CONTEXTS[:40])) == 40
            assert experiment.asked == asked + 40
            if experiment.remaining < 60:
                experiment = started("trace-gain", units=20, budget=2_000)
    assert refused
    assert "note what is to be told" in refused[0]
    assert all(asked + remaining == 2_000 and arms == 2 for asked, arms, remaining in seen)


class Handler(Steps):
    """Calls something at a step, as a signal handler would; what is refused is kept."""

    def __init__(self, handled, call):
        super().__init__(handled)
        self.call, self.refused = call, None

    def step(self, frame, event, argument):
        try:
            return super().step(frame, event, argument)
        except KeyboardInterrupt:
            sys.settrace(None)
            try:
                self.call()
            except WriteInProgress as error:
                self.refused = error
            return None


@pytest.mark.parametrize("name", ["ask", "ask together", "tell", "close", "add"])
def test_a_write_inside_any_write_is_refused_or_whole(name):
    """A handler that tells another unit, at every step: refused, or as if told before or after."""
    start, call = CALLS[name]
    original = start()
    alone, first, second = (copy.deepcopy(original) for _ in range(3))
    call(alone)
    first.tell(6, 0.25)
    call(first)
    call(second)
    second.tell(6, 0.25)
    whole = [fingerprint(one) for one in (first, second)]

    counted = copy.deepcopy(original)
    with Steps() as steps:
        call(counted)
    refused = told = 0
    for k in sorted({*np.linspace(1, steps.count, 120).astype(int).tolist()}):
        experiment = copy.deepcopy(original)
        with Handler(k, lambda experiment=experiment: experiment.tell(6, 0.25)) as handler:
            call(experiment)
        if handler.refused is None:
            told += 1
            assert fingerprint(experiment) in whole
        else:
            refused += 1
            assert fingerprint(experiment) == fingerprint(alone)
    assert refused
    assert told


@pytest.mark.parametrize("most", [40, pytest.param(10_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("start", [lambda: started("trace-gain"), lambda: full_room("uniform")])
def test_what_is_read_is_of_one_moment(start, most):
    """A handler that changes everything, at every step of a read: what is seen has been so at some time."""
    changes = [
        lambda one: one.correct(2, 5.0),
        lambda one: one.ask([1.0, 1.0, 2.0]),
        lambda one: one.close_arm(one.problem.arms[0]),
        lambda one: one.tell(one.asked, 3.0),
    ]
    original = start()
    history = [original]
    for change in changes:
        history.append(copy.deepcopy(history[-1]))
        change(history[-1])

    def handle(experiment):
        for change in changes:
            change(experiment)

    reads = {
        "data": lambda one: [array.tolist() for array in one.data(one.problem.arms[0])],
        "repr": repr,
        "counts": lambda one: one.counts,
        "remaining": lambda one: one.remaining,
        "getstate": lambda one: pickle.dumps(one.__getstate__()["arrays"]),
    }
    for read in reads.values():
        moments = [read(one) for one in history]
        with Steps() as steps:
            read(original)
        # All of them where copies are made, and a few of the rest.
        rest = range(45, steps.count + 1, max(25, steps.count // most))
        for k in sorted({*range(1, min(steps.count, 45)), *rest}):
            experiment = copy.deepcopy(original)
            with Handler(k, lambda experiment=experiment: handle(experiment)) as handler:
                found = read(experiment)
            assert handler.refused is None
            assert found in moments
