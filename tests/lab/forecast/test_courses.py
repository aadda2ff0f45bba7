"""A forecast runs the experiment's own code from where it stands."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from experiments.half_way import half_way

import equipoise as eq
from equipoise.core.arms.state import LOST, PENDING
from equipoise.core.policies.base.staged import StagedPolicy
from equipoise.lab.forecast.belief import contexts_to_come, error_root, settled
from equipoise.lab.forecast.losses import draw_fates
from equipoise.lab.forecast.seat import Seat, Setup
from equipoise.lab.forecast.start import record_of, starting_stage
from equipoise.lab.forecast.truths import draw_sparse_truths, draw_truths


def seat_of(experiment, policy=None, lag=0, losses=0.0):
    """A seat for trials of an experiment to its end, and room for their errors."""
    record = record_of(experiment)
    policy = record.policy if policy is None else eq.parse_policy(policy)
    pool, rates = contexts_to_come(record, None), np.array([losses] * len(record.problem.arms))
    if isinstance(policy, StagedPolicy) or not record.stage.whole:
        truths = draw_sparse_truths(record, np.zeros((len(rates), record.problem.dim)), trials=3, seed=4)
    else:
        truths = draw_truths(settled(record.stage), "unshrunk", trials=3, seed=4)
    setup = Setup(
        policy=policy,
        problem=record.problem,
        stage=starting_stage(record, policy, record.problem),
        seen=record.contexts[: record.step],
        truths=truths,
        fates=draw_fates(record, rates, lag, trials=3, seed=4),
        contexts=pool,
        error_root=error_root(record.problem, pool),
        looks=(record.step, record.step + 7, record.problem.units),
        coefs_now=np.zeros((len(record.problem.arms), record.problem.dim)),
        estimator="pooled",
        ridge=None,
    )
    return Seat(setup, 4), np.zeros((3, len(record.problem.arms)))


def as_the_experiment(seat):
    """Let a trial have the experiment's own lots."""
    own = seat._first.trial["seed"][0], seat._first.trial["number"][0]
    begin = seat.begin

    def begun(number):
        begin(number)
        seat.state.trial["seed"], seat.state.trial["number"] = own

    seat.begin = begun


# Designs are compiled for themselves.
DESIGN = pytest.param("efron", marks=pytest.mark.slow)


@pytest.mark.parametrize("policy", ["trace-gain", "trace-gain:chance=0.5", "trace-ucb", DESIGN])
@pytest.mark.parametrize(
    ("moment", "lag", "losses"),
    [(None, 0, 0.0), (np.diag([1.0, 2.0, 3.0]), 0, 0.3), (None, 3, 0.0), (None, 2, 0.2)],
)
def test_a_trial_decides_as_the_experiment_does(policy, moment, lag, losses):
    experiment, _ = half_way(policy=policy, awaited=4, moment=moment)
    compare_with_the_experiment(experiment, lag, losses)


@pytest.mark.parametrize(
    "policy",
    [
        "sparse-trace-ucb:screen=12:sparsity=2",
        "sparse-trace-ucb:screen=8:reuse=true:shared=true:refresh=1.3:look=true",
        "sparse-trace-ucb:support=0,2",
        "uniform-lasso",
        "static-lasso:noise=1,2,3",
    ],
)
@pytest.mark.filterwarnings("ignore::equipoise.errors.FitWarning")
@pytest.mark.filterwarnings("ignore::equipoise.errors.SupportWarning")
def test_a_policy_that_chooses_features_goes_on_in_the_middle_of_a_stage(policy):
    experiment, _ = half_way(policy=policy, awaited=4, dim=6, budget=64)
    compare_with_the_experiment(experiment, 2, 0.1)


def compare_with_the_experiment(experiment, lag, losses):
    """Feed the experiment with what trials have drawn: it assigns the same arms and finds the same models."""
    seat, errors = seat_of(experiment, lag=lag, losses=losses)
    as_the_experiment(seat)
    for number in (0, 2):
        seat.run_one(number, errors)
        state, real = seat.state, copy.deepcopy(experiment)
        gone = seat.outlook.is_lost
        while real.remaining:
            tell_before(real, real.asked - lag, state, gone)
            if real.asked == 30 + 7:
                assert errors[1] == pytest.approx(errors_of(real, seat.outlook), rel=1e-9)
            row = real.asked
            unit = real.ask(seat.outlook.units[row])
            assert real.problem.index(unit.arm) == state.rows["arm"][row]
        tell_before(real, real.asked, state, gone)
        assert np.array_equal(state.rows["status"], real._record.state.rows["status"][: len(state.rows)])
        assert np.array_equal(state.coefs, real._record.state.coefs)
        assert errors[-1] == pytest.approx(errors_of(real, seat.outlook), rel=1e-9)


def errors_of(experiment, outlook):
    """Errors of an experiment's estimates against a trial's truth."""
    found = np.array([arm.coef for arm in experiment.estimates()])
    gaps = (found - outlook.coefs) @ outlook.error_root
    return (gaps * gaps).sum(axis=1)


def tell_before(experiment, end, state, gone):
    """Tell or lose the outcomes of a trial that are awaited, of the first rows."""
    for unit in experiment.pending:
        if unit - 1 < end and gone[unit - 1]:
            experiment.lose(unit)
        elif unit - 1 < end:
            experiment.tell(unit, float(state.outcomes[unit - 1]))


CHOOSES = "sparse-trace-ucb:screen=7:shared=true"


@pytest.mark.parametrize(
    ("policy", "own"),
    [("uniform", "trace-gain"), ("trace-ucb", "trace-gain"), (CHOOSES, "trace-gain"), ("uniform", CHOOSES)],
)
@pytest.mark.filterwarnings("ignore::equipoise.errors.FitWarning")
@pytest.mark.filterwarnings("ignore::equipoise.errors.SupportWarning")
def test_another_policy_goes_on_from_the_same_units(policy, own):
    experiment, _ = half_way(awaited=4, policy=own)
    experiment.lose(27)
    experiment.close_arm("a")
    record = record_of(experiment)
    seat, errors = seat_of(experiment, policy)
    as_the_experiment(seat)
    seat.run_one(1, errors)
    state, contexts = seat.state, seat.outlook.units
    # The same units under that policy from the start, their arms given.
    told = eq.Experiment(record.problem, policy=policy, seed=record.seed)
    for row in range(record.step):
        told.ask(contexts[row], arm=record.problem.arms[record.state.rows["arm"][row]])
        if record.state.rows["status"][row] not in (PENDING, LOST):
            told.tell(row + 1, float(state.outcomes[row]))
    told.lose(27)
    told.close_arm("a")
    for unit in told.pending:
        told.tell(unit, float(state.outcomes[unit - 1]))
    while told.remaining:
        row = told.asked
        unit = told.ask(contexts[row])
        assert record.problem.index(unit.arm) == state.rows["arm"][row]
        told.tell(unit.id, float(state.outcomes[row]))


def test_trials_depend_on_seed_and_number_alone():
    experiment, _ = half_way(awaited=2)
    few = eq.forecast(experiment, trials=30, seed=3, workers=1)
    many = eq.forecast(experiment, trials=70, seed=3, workers=2, policies=["uniform"], budgets=[80])
    assert np.array_equal(few.courses[0].errors, many.course("trace-gain", 60).errors[:30])
    assert np.array_equal(few.courses[0].counts, many.course("trace-gain", 60).counts[:30])
    other = eq.forecast(experiment, trials=30, seed=4)
    assert not np.array_equal(few.courses[0].errors, other.courses[0].errors)


def test_all_courses_start_alike_and_share_their_truths():
    experiment, _ = half_way(awaited=2)
    found = eq.forecast(experiment, trials=40, policies=["uniform", "oracle"], budgets=[45, 120])
    now = found.courses[0].errors[:, 0]
    assert len(found.courses) == 9
    for course in found.courses:
        assert np.array_equal(course.errors[:, 0], now)
        assert course.units[0] == 30
        assert course.units[-1] == course.budget
        assert np.all(course.counts.sum(axis=1) == course.budget - 30)


def test_the_experiment_is_not_changed():
    experiment, _ = half_way(awaited=2)
    before = copy.deepcopy(experiment)
    eq.forecast(experiment, trials=20, policies=["uniform"], target=0.5)
    x = np.array([1.0, 0.3, -0.2])
    assert experiment.pending == before.pending
    assert experiment.ask(x).arm == before.ask(x).arm
    assert np.array_equal(experiment._record.state.coefs, before._record.state.coefs)


def test_costs_floors_closed_arms_weights_and_norms():
    limits = {"costs": {"b": 2.5}, "floors": {"a": 12}, "weights": {"c": 3.0}, "objective": 2.0}
    experiment, _ = half_way(budget=150.0, asked=30, **limits)
    experiment.close_arm("c")
    found = eq.forecast(experiment, trials=40, budgets=[180.5])
    for course in found.courses:
        assert np.all(course.counts[:, 2] == 0)
        spent = experiment.spent + course.counts @ [1.0, 2.5, 1.0]
        assert np.all((spent <= course.budget) & (spent > course.budget - 2.5))
    course = found.courses[0]
    weighted = course.errors * [1.0, 1.0, 3.0]
    assert course.values == pytest.approx(np.sqrt((weighted**2).mean(axis=2)))


def test_contexts_to_come_may_be_given():
    experiment, _ = half_way()
    far = np.array([[1.0, 40.0, 0.0], [1.0, -40.0, 0.0], [1.0, 0.0, 50.0], [1.0, 0.0, -45.0]])
    seen, given = (eq.forecast(experiment, trials=60, contexts=each) for each in (None, far))
    # Far contexts tell more, and errors are measured by them.
    assert seen.origin.contexts, given.origin.contexts == ("seen", "given")
    assert given.courses[0].errors[:, 0].mean() > 20 * seen.courses[0].errors[:, 0].mean()


def test_progress_and_an_interrupted_forecast():
    experiment, _ = half_way()
    calls = []
    eq.forecast(experiment, trials=50, policies=["uniform"], progress=lambda *call: calls.append(call))
    assert calls[-1] == (100, 100)
    assert [done for done, _ in calls] == sorted(done for done, _ in calls)

    def stop(done, expected):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        eq.forecast(experiment, trials=2_000, progress=stop)


def test_redacted_units_are_still_known_of():
    experiment, _ = half_way(policy="trace-ucb", awaited=2)
    before = [starting_stage(record_of(experiment), *with_policy(experiment, "uniform"))]
    for unit in (3, 7, 11):
        experiment.redact(unit)
    record = record_of(experiment)
    before.append(starting_stage(record, *with_policy(experiment, "uniform")))
    one, other = (stage.state for stage in before)
    assert other.coefs == pytest.approx(one.coefs, rel=1e-9)
    assert other.arms["rss"] == pytest.approx(one.arms["rss"], rel=1e-9)
    assert len(contexts_to_come(record, None)) == 27
    found = eq.forecast(experiment, policies=["uniform"], trials=20)
    assert np.all(np.isfinite(found.course("uniform").errors))


def with_policy(experiment, policy):
    return eq.parse_policy(policy), experiment.problem


def test_an_experiment_in_a_store():
    experiment, _ = half_way(awaited=2)
    stored = eq.create_experiment(
        store="memory:", name="forecast", problem=experiment.problem, policy="trace-gain", seed=5
    )
    record = record_of(experiment)
    for row in range(record.step):
        unit = stored.ask(record.contexts[row], unit=f"P-{row}")
        assert record.problem.index(unit.arm) == record.state.rows["arm"][row]
        if record.state.rows["status"][row] != PENDING:
            stored.tell(f"P-{row}", float(record.state.outcomes[row]))
    one, other = (eq.forecast(each, trials=20) for each in (experiment, stored))
    assert one.record() == other.record()


def test_anything_that_has_an_experiment_in_memory():
    experiment, _ = half_way()

    class Stored:
        def in_memory(self):
            return experiment

    one, other = (eq.forecast(each, trials=20) for each in (experiment, Stored()))
    assert one.record() == other.record()
