"""Looking changes nothing: neither the state nor any later decision."""

from __future__ import annotations

import contextlib
import copy
import inspect
import pickle
import warnings

import numpy as np
import pytest
from built_in import OF_EACH_KIND
from inner_state import fingerprint

import equipoise as eq
from equipoise.errors import FitWarning, NoPropensities, NotReplayable, SupportWarning

ARMS, DIM = ["a", "b", "c"], 4
ARGUMENTS = {
    "oracle": ":noise=1,2,3",
    "best-allocation": ":noise=1,2,3",
    "sparse-trace-ucb": ":screen=8",
    "sparse-oracle": ":support=0,2:noise=1,2,3",
    "static-lasso": ":noise=1,2,3",
}
SPECS = [name + ARGUMENTS.get(name, "") for name in sorted(OF_EACH_KIND)] + ["trace-gain:chance=0.3"]
SPECS += ["sparse-trace-ucb:screen=8:reuse=true:refresh=1.3", "sparse-trace-ucb:screen=20"]


def tried(read, **options):
    """Call what refuses experiments without lots, or with a history that cannot be replayed."""
    with contextlib.suppress(NoPropensities, NotReplayable):
        read(**options)


READS = {
    **{
        name: lambda experiment, name=name: getattr(experiment, name)
        for name, kind in inspect.getmembers(eq.Experiment)
        if isinstance(kind, property) and not name.startswith("_")
    },
    "estimates": lambda experiment: experiment.estimates(),
    "estimates, ridge": lambda experiment: experiment.estimates(estimator="ridge"),
    "estimates, Stein": lambda experiment: experiment.estimates(estimator="empirical-bayes", confidence=0.8),
    "estimates, leaving one out": lambda experiment: experiment.estimates(estimator="leave-one-out"),
    "data": lambda experiment: experiment.data("b"),
    "units": lambda experiment: experiment.units(scores=True),
    "one unit": lambda experiment: experiment[1],
    "snapshot": lambda experiment: experiment.snapshot(),
    "in memory": lambda experiment: experiment.in_memory(),
    "created": lambda experiment: experiment.created_event(),
    "time trends": lambda experiment: experiment.time_trends(),
    "periods": lambda experiment: experiment.balance_by_period(),
    "balance": lambda experiment: experiment.balance(),
    "lack of fit": lambda experiment: experiment.lack_of_fit(),
    "predictability": lambda experiment: experiment.predictability(),
    "weighted": lambda experiment: tried(experiment.weighted_estimates),
    "randomisation": lambda experiment: tried(experiment.randomisation_test, draws=2),
    "repr": repr,
    "pickle": pickle.dumps,
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}


def read_everything(experiment):
    with warnings.catch_warnings():
        for kind in (SupportWarning, FitWarning):
            warnings.simplefilter("ignore", kind)
        for read in READS.values():
            read(experiment)


def live(experiment):
    """Every byte of every array, scratch and free rows included."""
    record = experiment._record
    return [array.tobytes() for array in record.state], record.contexts.tobytes(), id(record)


def history(spec, moment, seed, *, look_on):
    """Decisions with late, lost, corrected and withdrawn outcomes; ``look_on`` is called at every event."""
    rng = np.random.default_rng(seed)
    problem = eq.Problem(ARMS, DIM, budget=90, moment=moment)
    experiment = eq.Experiment(problem, spec, seed=seed)
    waiting, decisions = [], []
    for t in range(90):
        unit = experiment.ask(rng.normal(size=DIM) * [1, 1, 3, 0.5])
        decisions.append((unit.arm, unit.score_values.tobytes(), unit.chance))
        waiting.append(unit.id)
        look_on(experiment)
        while len(waiting) > 6 or (waiting and rng.random() < 0.3):
            id, event = waiting.pop(int(rng.integers(len(waiting)))), rng.random()
            if event < 0.2:
                experiment.lose(id)
            elif event < 0.27:
                experiment.withdraw(id)
            else:
                experiment.tell(id, float(rng.normal()))
                if event > 0.95:
                    look_on(experiment)
                    experiment.correct(id, float(rng.normal()))
            look_on(experiment)
        if t in (30, 50):
            (experiment.close_arm if t == 30 else experiment.reopen_arm)("b")
            look_on(experiment)
    return decisions, fingerprint(experiment)


@pytest.mark.parametrize("moment", [None, np.diag([1.0, 1.0, 9.0, 0.25])], ids=["learned", "given"])
@pytest.mark.parametrize("spec", SPECS)
def test_no_read_changes_a_byte_or_a_decision(spec, moment):
    events = 0

    def look(experiment):
        nonlocal events
        events += 1
        if events % 16 == 0:
            before = live(experiment)
            read_everything(experiment)
            assert live(experiment) == before
        elif events % 3:
            before = live(experiment)
            with warnings.catch_warnings():
                for kind in (SupportWarning, FitWarning):
                    warnings.simplefilter("ignore", kind)
                experiment.estimates()
            assert live(experiment) == before

    assert history(spec, moment, 3, look_on=look) == history(spec, moment, 3, look_on=lambda _: None)
    assert events > 150


def test_what_is_read_is_not_shared():
    experiment = eq.Experiment(eq.Problem(ARMS, DIM, budget=60, moment=np.eye(DIM)), "trace-ucb", seed=1)
    rng = np.random.default_rng(0)
    unit = None
    for _ in range(40):
        unit = experiment.ask(rng.normal(size=DIM))
        experiment.tell(unit.id, float(rng.normal()))
    before = live(experiment)
    contexts, outcomes = experiment.data("a")
    contexts[:], outcomes[:] = 7.0, 7.0
    unit.score_values[:] = 7.0
    estimate = experiment.estimates()[0]
    for array in (estimate.coef, estimate.gram, estimate.least_squares, estimate.inverse_root):
        array[:] = 7.0
    assert live(experiment) == before


def test_problem_policy_and_seed_cannot_be_replaced():
    experiment = eq.Experiment(eq.Problem(ARMS, DIM, budget=60, moment=np.eye(DIM)), "trace-ucb", seed=1)
    for name in ("problem", "policy", "seed"):
        with pytest.raises(AttributeError):
            setattr(experiment, name, None)
