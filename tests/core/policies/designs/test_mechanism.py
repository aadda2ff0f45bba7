"""Drawing by weights: limits, told arms, memory, batches, copies, intervals; what is refused."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import equipoise as eq
from equipoise.core.experiment.asking import Arrival, ask_one
from equipoise.core.experiment.record import draft, first_record
from equipoise.core.policies.base.design import Design
from equipoise.errors import InvalidPolicy

SPECS = [
    "complete",
    "permuted-blocks:per_arm=1,2:columns=0,1",
    "efron",
    "wei-urn",
    "minimisation",
    "da-optimal",
    "balancing-walk",
    "neyman-balanced:gamma=2",
]
ARMS = ("a", "b", "c")


def start(spec, budget=120, seed=4, moment=None, **problem):
    return eq.Experiment(eq.Problem(ARMS, 3, budget=budget, moment=moment, **problem), spec, seed=seed)


def go(experiment, units, seed=1):
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(units):
        found.append(experiment.ask(rng.normal(size=3)))
        experiment.tell(found[-1].id, float(rng.normal()))
    return found


def test_every_design_is_here():
    kinds = {name for name, kind in eq.registered_policies().items() if issubclass(kind, Design)}
    assert {spec.partition(":")[0] for spec in SPECS} == {
        name for name in kinds if not name.startswith("test-")
    }


@pytest.mark.parametrize("spec", SPECS)
def test_probabilities_of_all_arms_are_logged(spec):
    experiment = start(spec)
    units = go(experiment, 100)
    for unit in units:
        assert sum(unit.propensities.values()) == pytest.approx(1.0, abs=1e-14)
        assert min(unit.propensities.values()) >= 0.0
        assert unit.propensity == unit.propensities[unit.arm] > 0.0
        assert unit.chance == 1.0
        assert unit.propensities[unit.top] == max(unit.propensities.values())
    kept = experiment._state.rows["propensity"][:100]
    assert kept.tolist() == [unit.propensity for unit in units]


@pytest.mark.parametrize("spec", SPECS)
def test_arms_that_may_not_be_chosen_have_no_probability(spec):
    experiment = start(spec, caps={"c": 20}, floors={"a": 30})
    go(experiment, 40)
    experiment.close_arm("b")
    for unit in go(experiment, 30):
        assert unit.propensities["b"] == 0.0
        assert unit.scores["b"] == -np.inf
        assert sum(unit.propensities.values()) == pytest.approx(1.0)
    experiment.reopen_arm("b")
    go(experiment, 50)
    counts = experiment.counts
    assert sum(counts.values()) == 120
    assert counts["c"] <= 20
    assert counts["a"] >= 30


@pytest.mark.parametrize("spec", SPECS)
def test_memory_is_a_fold_of_what_was_assigned(spec):
    """Copies, pickles and told arms have the same probabilities; lost and withdrawn units change none."""
    rng = np.random.default_rng(7)
    problem = eq.Problem(ARMS, 3, budget=120)
    first = eq.Experiment(problem, spec, seed=4)
    record = first_record(problem, eq.parse_policy(spec), 4)
    for t in range(60):
        x = rng.normal(size=3)
        unit = first.ask(x)
        record, told = ask_one(record, Arrival(x, told=ARMS.index(unit.arm)))
        if not spec.startswith("neyman"):
            assert told.propensities == unit.propensities
            if t % 7 == 0:
                first.lose(unit.id)
            elif t % 11 == 0:
                first.withdraw(unit.id)
    second, third = pickle.loads(pickle.dumps(first)), copy.deepcopy(first)
    for _ in range(30):
        x = rng.normal(size=3)
        units = [experiment.ask(x) for experiment in (first, second, third)]
        assert units[0].propensities == units[1].propensities == units[2].propensities
        assert units[0].arm == units[1].arm == units[2].arm
        record, told = ask_one(record, Arrival(x, told=ARMS.index(units[0].arm)))
        if not spec.startswith("neyman"):
            assert told.propensities == units[0].propensities


@pytest.mark.parametrize("spec", ["permuted-blocks", "efron", "minimisation", "da-optimal"])
def test_a_told_arm_counts_like_a_drawn_one(spec):
    record = first_record(eq.Problem(("a", "b"), 1, budget=40, moment=[[1.0]]), eq.parse_policy(spec), 1)
    for arm in (0, 0, 0):
        record, unit = ask_one(record, Arrival(np.ones(1), told=arm))
        assert unit.arm == "a"
    drawn = ask_one(draft(record, 1), Arrival(np.ones(1)))[1].propensities
    if spec == "permuted-blocks":
        assert drawn["b"] == pytest.approx(2 / 3)  # the third unit began a block
    else:
        assert drawn["b"] > 0.6


@pytest.mark.parametrize("spec", SPECS)
def test_an_arm_may_join(spec):
    experiment = start(spec, budget=400)
    go(experiment, 90)
    experiment.add_arm("d")
    units = go(experiment, 200)
    assert all(set(unit.propensities) == {*ARMS, "d"} for unit in units)
    # Complete randomisation gives it a quarter of 200; the others make up for what it lacked.
    assert experiment.counts["d"] >= 35
    again = pickle.loads(pickle.dumps(experiment))
    assert again.ask(np.ones(3)).propensities == experiment.ask(np.ones(3)).propensities


@pytest.mark.parametrize("spec", SPECS)
def test_batches_are_taken_as_they_come(spec):
    rng = np.random.default_rng(2)
    contexts = rng.normal(size=(40, 3))
    one_by_one, together = start(spec), start(spec)
    single = [one_by_one.ask(x) for x in contexts]
    many = together.ask_many(contexts)
    assert [unit.arm for unit in many] == [unit.arm for unit in single]
    assert [unit.propensities for unit in many] == [unit.propensities for unit in single]


def test_trials_of_the_lab_draw_different_lots():
    scenario = eq.GaussianScenario(noise=[1.0, 1.0], dim=1, budget=100)
    result = eq.simulate(scenario, ["complete"], trials=400, seed=1)
    pulls = result.policies["complete"].ledger.counts[:, 0]
    # A binomial with variance 25: its mean within five standard errors, its variance within six.
    assert abs(pulls.mean() - 50.0) < 5 * 5.0 / 20
    assert abs(pulls.var() / 25.0 - 1.0) < 6 * np.sqrt(2 / 400)


@pytest.mark.parametrize("spec", SPECS)
def test_intervals_of_designs_that_read_no_outcome_need_no_correction(spec):
    experiment = start(spec)
    go(experiment, 100)
    from equipoise.core.estimates.intervals import elasticities

    stage = experiment._stage
    found = elasticities(stage.state, stage.score, stage.settings)
    assert np.all(found > 0.0) if spec.startswith("neyman") else np.all(found == 0.0)


@eq.register("test-nonsense")
class Nonsense(Design):
    """Weights that are none."""

    @staticmethod
    def weigh(arms, trial, settings, context, memory, turns, weights):
        for i in range(weights.shape[0]):
            if weights[i] >= 0.0:
                weights[i] = np.nan if trial.step % 2 else 0.0


def test_weights_that_are_none_make_arms_alike():
    for unit in go(start("test-nonsense"), 10):
        assert list(unit.propensities.values()) == [1 / 3] * 3


def test_a_design_that_cannot_be_compiled():
    class Broken(Design):
        """Reads what is not there."""

        @staticmethod
        def weigh(arms, trial, settings, context, memory, turns, weights):
            weights[0] = arms[0].happiness

    with pytest.raises(InvalidPolicy, match="cannot be compiled"):
        eq.Experiment(eq.Problem(2, 1, budget=10), Broken())


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("efron:p=0", "p=0 is not a probability above 0"),
        ("efron:p=1.5", "not a probability"),
        ("wei-urn:alpha=-1", "alpha=-1 is not a number of balls"),
        ("permuted-blocks:per_arm=0", "per_arm=0 is not a whole number"),
        ("permuted-blocks:per_arm=,", "per_arm= is empty"),
        ("permuted-blocks:columns=x", "are not columns"),
        ("permuted-blocks:columns=1,1", "name a column twice"),
        ("permuted-blocks:columns=1:cuts=2,1", "ascending order"),
        ("permuted-blocks:columns=0,1:cuts=(0,),(1,),(2,)", "not one tuple for every column"),
        ("minimisation:measure=entropy", "neither 'range' nor 'variance'"),
        ("minimisation:columns=,", "without a column"),
        ("minimisation:cuts=(0,),(1,)", "not one tuple for every column"),
        ("balancing-walk:slack=0", "slack=0 is not a positive number"),
        ("neyman-balanced:gamma=-1", "gamma=-1 is not a number of at least 0"),
        ("neyman-balanced:caution=much", "caution='much' is not a number"),
    ],
)
def test_arguments_that_are_refused(spec, message):
    with pytest.raises(InvalidPolicy, match=message.replace("(", r"\(")):
        eq.parse_policy(spec)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("efron:p=0.2", "would favour an arm with p=0.2, less than 1/3"),
        ("permuted-blocks:columns=3", "names column 3, and there are 3"),
        ("minimisation:columns=5", "names column 5, and there are 3"),
        (f"permuted-blocks:columns=0,1:cuts={','.join(map(str, range(100)))}", "would have 10201 strata"),
    ],
)
def test_problems_that_are_refused(spec, message):
    with pytest.raises(InvalidPolicy, match=message):
        start(spec)
    with pytest.raises(InvalidPolicy, match=message):
        eq.simulate(eq.GaussianScenario(noise=[1.0] * 3, dim=3, budget=30), [spec], trials=2)
